"""Views: other ways to call the same layers; no forward pass is written twice.

Every model of the package has two layers by these names:

    encoder(context)                       → {"memory", "state"}, and "weights" if it attends
    decoder({"memory", "state", "target"}) → {"logits", "state", "weights"}

`memory` is what the decoder attends to, `state` what it carries from token to token; both are
structures of tensors whose first axis is the batch. A Transformer's state is a list of `KVCache`,
one a layer; an empty list before the first token of a target that comes as a whole.

`weights` maps each kind of attention to the weights of its layers, the first layer first:

    cross_attention         (B, H, T, S)    the target attends to the context
    encoder_self_attention  (B, H, S, S)    the context to itself
    decoder_self_attention  (B, H, T, T)    the target to itself

without the axis H where there are no heads. Dictionaries are written in the order of their keys:
backends differ in whether they sort them, and all are to load a model that one of them saved.
"""

import keras
from keras import ops, tree

from keras_attention.layers import PositionalEmbedding
from keras_attention.models.caches import cached_layers, slots_of, with_slots
from keras_attention.models.transformer import decoder_with_caches


def encode(model, slots=64):
    """Return the view ids (B, S) → `{"memory": ..., "state": ...}` of a model of this package.

    Args:
        model: a model of this package.
        slots: of a Transformer's caches, at least as many as tokens will be decoded step by step. A
            recurrent model has no cache.

    Raises:
        ValueError: `slots` is not positive, or above the number of positions of the model.
    """
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    most = most_tokens(model)[1]
    if slots < 1:
        raise ValueError(f"slots must be at least 1, got {slots}")
    if most is not None and slots > most:
        raise ValueError(
            f"the model has {most} positions for the tokens of a target, got {slots} slots"
        )
    if not cached_layers(decoder):
        return encoder
    context = keras.Input((None,), dtype="int32", name="context")
    memory = encoder(context)["memory"]
    state = [layer.empty_cache(context, slots) for layer in cached_layers(decoder)]
    return keras.Model(context, {"memory": memory, "state": state}, name="encode")


def most_tokens(model):
    """Return how many tokens a context, and a target, may have: None where there is no limit."""
    limits = []
    for part in ("encoder", "decoder"):
        layers = model.get_layer(part).layers
        embeddings = [layer for layer in layers if isinstance(layer, PositionalEmbedding)]
        learned = [each.max_positions for each in embeddings if each.positions == "learned"]
        limits.append(min(learned, default=None))
    return tuple(limits)


def step(model):
    """Return the view that decodes one token, a `Step`, of a model of this package."""
    decoder = model.get_layer("decoder")
    return Step(decoder_with_caches(decoder) if cached_layers(decoder) else decoder)


def attention(model):
    """Return the view that shows every attention weight of a model of this package.

    Returns:
        A functional `keras.Model` with the inputs of the model, and as outputs
        `{"logits": (B, T, V), kind: [weights, ...], ...}`, a list for each kind of attention.
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
        decoder: the layer "decoder" of a model, a Transformer's with caches.

    Call arguments:
        tokens: ids (B,), the tokens before those that are wanted.
        memory: from the encoder.
        state: from the view `encode` for the first token, then from the step before.

    Returns:
        Logits (B, V) for the next tokens; a dictionary of lists of attention weights, each
        (B, H, S) or (B, S), and (B, H, P), a column a slot, where a decoder attends to itself; and
        the next state.
    """

    slots_of, with_slots = staticmethod(slots_of), staticmethod(with_slots)

    def __init__(self, decoder, **kwargs):
        super().__init__(**kwargs)
        self.decoder = decoder
        self.built = True

    def call(self, tokens, memory, state):
        target = ops.expand_dims(tokens, 1)
        outputs = self.decoder({"memory": memory, "state": state, "target": target})
        weights = tree.map_structure(lambda each: each[..., 0, :], outputs["weights"])
        return outputs["logits"][:, 0], weights, outputs["state"]
