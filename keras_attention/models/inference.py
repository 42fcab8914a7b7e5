"""Views: other ways to call the same layers; no forward pass is written twice.

Every model of the package has two layers by these names:

    encoder(context)                       → {"memory", "state"}, and "weights" if it attends
    decoder({"memory", "state", "target"}) → {"logits", "state", "weights"}

`memory` is what the decoder attends to, `state` what it carries from token to token; both are
structures of tensors whose first axis is the batch. A state that is a dictionary with a `past` is a
cache: its `keys` (B, H, K, P) and `values` (B, H, P, K) are rings, with what was computed for token
number i at place i mod P, and all sentences have `seen` equally many tokens. The encoder leaves it
without a place, P = 0, since a whole target needs none. `weights` maps names to attention weights.
Dictionaries are written in the order of their keys: backends differ in whether they sort them, and
a model that one of them saved is to be loaded by all.
"""

import keras
from keras import ops

from keras_attention.layers import LearnedPositions


def encode(model, room=64):
    """Return the view ids (B, S) → `{"memory": ..., "state": ...}` of a model of this package.

    Args:
        model: a model of this package.
        room: places of a cache, at least as many as tokens will be decoded step by step; what is
            older is forgotten. A recurrent model has no cache.

    Raises:
        ValueError: `room` is not positive, or above the number of positions of the model.
    """
    encoder, (_, most) = model.get_layer("encoder"), most_tokens(model)
    if room < 1:
        raise ValueError(f"room must be at least 1, got {room}")
    if most is not None and room > most:
        raise ValueError(
            f"the model has {most} positions for the tokens of a target, got room for {room}"
        )
    if not _has_past(encoder.output["state"]):
        return encoder
    context = keras.Input((None,), dtype="int32", name="context")
    encoded = encoder(context)
    state = with_room(encoded["state"], room)
    return keras.Model(context, {"memory": encoded["memory"], "state": state}, name="encode")


def room_of(state):
    """Return how many places the cache in a state has; None for a state without a cache."""
    return state["past"][0]["values"].shape[2] if _has_past(state) else None


def with_room(state, room):
    """Return a state with a cache of `room` places, with which it would be the same so far.

    Right as long as all tokens so far fit in both: then token number i stands at place i, and
    places come, and go, at the end.
    """
    had = room_of(state)

    def fit(tensor, axis):
        if room < had:
            return tensor[(*axis * (slice(None),), slice(room))]
        return ops.pad(tensor, [(0, room - had if each == axis else 0) for each in range(4)])

    past = [{"keys": fit(one["keys"], 3), "values": fit(one["values"], 2)} for one in state["past"]]
    return {**state, "past": past}


def most_tokens(model):
    """Return how many tokens a context, and a target, may have: None where there is no limit."""
    limits = []
    for part in ("encoder", "decoder"):
        layers = model.get_layer(part).layers
        learned = [layer.length for layer in layers if isinstance(layer, LearnedPositions)]
        limits.append(min(learned, default=None))
    return tuple(limits)


def _has_past(state):
    return isinstance(state, dict) and "past" in state


def step(model):
    """Return the view that decodes one token, a `Step`, of a model of this package."""
    return Step(model.get_layer("decoder"))


def attention(model):
    """Return the view that shows every attention weight of a model of this package.

    Returns:
        A functional `keras.Model` with the inputs of the model, and as outputs
        `{"logits": (B, T, V), name: weights, ...}`. Weights are (B, H, T, S), or (B, T, S) without
        heads; those whose name says `encoder_self_attention` (B, H, S, S), and those that say
        `decoder_self_attention` (B, H, T, T).
    """
    inputs = {tensor.name: tensor for tensor in model.inputs}
    encoded = model.get_layer("encoder")(inputs["context"])
    outputs = model.get_layer("decoder")(
        {"memory": encoded["memory"], "state": encoded["state"], "target": inputs["target"]}
    )
    weights = {**encoded.get("weights", {}), **outputs["weights"]}
    return keras.Model(
        inputs,
        {"logits": outputs["logits"], **weights},
        name=f"{model.name}_attention",
    )


class Step(keras.layers.Layer):
    """Decode one token: `step(tokens, memory, state) → logits, weights, state`.

    Args:
        decoder: the layer "decoder" of a model.

    Call arguments:
        tokens: ids (B,), the tokens before those that are wanted.
        memory: from the encoder.
        state: from the encoder for the first token, then from the step before.

    Returns:
        Logits (B, V) for the next tokens; a dictionary of attention weights by name, each (B, H, S)
        or (B, S), and (B, H, P), by place, where a decoder attends to itself; and the next state.

    Raises:
        ValueError: the state has a cache without a place: it did not come from `encode`.
    """

    room_of, with_room = staticmethod(room_of), staticmethod(with_room)

    def __init__(self, decoder, **kwargs):
        super().__init__(**kwargs)
        self.decoder = decoder
        self.built = True

    def call(self, tokens, memory, state):
        if room_of(state) == 0:
            raise ValueError("the past in state has room for no token: take it from encode(model)")
        target = ops.expand_dims(tokens, 1)
        outputs = self.decoder({"memory": memory, "state": state, "target": target})
        weights = {name: weights[..., 0, :] for name, weights in outputs["weights"].items()}
        return outputs["logits"][:, 0], weights, outputs["state"]
