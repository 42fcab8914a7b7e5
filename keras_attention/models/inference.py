"""Views: other ways to call the same layers; no forward pass is written twice.

Every model of the package has two layers with these names:

    encoder(context)                       → {"memory", "state"}, and "weights" if it attends
    decoder({"memory", "state", "target"}) → {"logits", "state", "weights"}

The decoder attends to `memory`, and carries `state` from token to token. Both are structures of
tensors whose first axis is the batch. A Transformer's state is a list of `KVCache`, one per layer;
the list is empty if the target comes as a whole.

`weights` maps each kind of attention to the weights of its layers, the first layer first:

    cross_attention         (B, H, T, S)    the target attends to the context
    encoder_self_attention  (B, H, S, S)    the context attends to itself
    decoder_self_attention  (B, H, T, T)    the target attends to itself

without the axis H where there are no heads. Dictionaries are written in the order of their keys:
some backends sort them and others do not, and each must load a model that another saved.
"""

from typing import Any

import keras
from keras import ops, tree

from keras_attention.layers import PositionalEmbedding
from keras_attention.models.caches import branch, cached_layers, follow, slots_of, with_slots
from keras_attention.models.transformer import ProjectedMemory, decoder_with_caches
from keras_attention.types import Array


def encode(model: keras.Model, slots: int = 64) -> keras.Model:
    """Return the view of a model that encodes: ids (B, S) → `{"memory": ..., "state": ...}`.

    Args:
        model: a model of this package.
        slots: slots of a Transformer's caches, at least the number of tokens to decode step by
            step. A recurrent model has no cache.

    Raises:
        ValueError: `slots` is not positive, or exceeds the number of positions of the model.
    """
    check_slots(model, slots)
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    if not cached_layers(decoder):
        return encoder
    context = keras.Input((None,), dtype="int32", name="context")
    memory = ProjectedMemory(decoder)(encoder(context)["memory"])
    state = [layer.empty_cache(context, slots) for layer in cached_layers(decoder)]
    return keras.Model(context, {"memory": memory, "state": state}, name="encode")


def check_slots(model: keras.Model, slots: int) -> None:
    """Check that a model has positions for as many tokens of a target as there are slots.

    Raises:
        ValueError: as for `encode`.
    """
    most = most_tokens(model)[1]
    if slots < 1:
        raise ValueError(f"slots must be at least 1, got {slots}")
    if most is not None and slots > most:
        raise ValueError(
            f"slots must be at most the model's {most} positions for the tokens of a target, "
            f"got {slots} slots"
        )


def most_tokens(model: keras.Model) -> tuple[int | None, int | None]:
    """Return the most tokens that a context and a target may have; None: there is no limit."""
    limits: list[int | None] = []
    for part in ("encoder", "decoder"):
        layers = model.get_layer(part).layers
        embeddings = [layer for layer in layers if isinstance(layer, PositionalEmbedding)]
        learned: list[Any]  # never None: learned positions need `max_positions`
        learned = [each.max_positions for each in embeddings if each.positions == "learned"]
        limits.append(min(learned, default=None))
    return limits[0], limits[1]


def step(model: keras.Model) -> "Step":
    """Return the view of a model of this package that decodes one token, a `Step`."""
    decoder = model.get_layer("decoder")
    if cached_layers(decoder):
        return Step(decoder_with_caches(decoder), shares_rows=True)
    return Step(decoder)


def attention(model: keras.Model) -> keras.Model:
    """Return the view of a model of this package that shows every attention weight.

    Returns:
        A functional `keras.Model` with the inputs of the model and the outputs
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
        decoder: the layer "decoder" of a model; for a Transformer, its view with caches.
        shares_rows: whether W tokens that follow each other may share a row of the memory and of
            the state, as the hypotheses of a beam do; there are then B·W tokens for B rows. Such a
            state comes from `branch(state, W)`, and `follow(state, parents)` reorders its
            hypotheses.

    Call arguments:
        tokens: ids (B,), the previous tokens.
        memory: from the encoder.
        state: from the view `encode` for the first token, then from the previous step.

    Returns:
        Logits (B, V) for the next tokens; a dictionary of lists of attention weights, each
        (B, H, S) or (B, S), or (B, H, P) with one column per slot where a decoder attends to
        itself; and the next state.
    """

    slots_of, with_slots = staticmethod(slots_of), staticmethod(with_slots)
    branch, follow = staticmethod(branch), staticmethod(follow)

    def __init__(self, decoder: keras.Model, shares_rows: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.decoder, self.shares_rows = decoder, shares_rows
        self.built = True

    def call(
        self, tokens: Array, memory: Any, state: Any
    ) -> tuple[Array, dict[str, list[Array]], Any]:
        target = ops.expand_dims(tokens, 1)
        outputs = self.decoder({"memory": memory, "state": state, "target": target})
        weights = tree.map_structure(lambda each: each[..., 0, :], outputs["weights"])
        return outputs["logits"][:, 0], weights, outputs["state"]
