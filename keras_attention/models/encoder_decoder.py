"""What encoder-decoders share: reading the context, a decoder that attends, joining the halves."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import layers, ops, tree

from keras_attention.layers import AttentionRNN, TokenEmbedding
from keras_attention.models.divided import DividedModel
from keras_attention.ops import padding_mask
from keras_attention.types import Array


def check_sizes(**sizes: int) -> None:
    """Check that sizes are positive.

    Raises:
        ValueError: a size is not positive.
    """
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be positive, got {size}")


def annotate(
    context: Array,
    vocabulary_size: int,
    width: int,
    rnn: keras.layers.Layer,
    dtype: str | keras.DTypePolicy | None = None,
) -> tuple[Array, Array, list[Array]]:
    """Read a context: ids (B, S) → mask (B, S), annotations (B, S, D), and the RNN's states.

    Args:
        context: symbolic ids; 0 is padding.
        vocabulary_size: number of ids.
        width: width of the embedding.
        rnn: layer that returns the sequence of its outputs, and optionally its states.
        dtype: dtype or dtype policy of the embedding.

    Returns:
        The mask; annotations, 0 at padding; a list of states, possibly empty.
    """
    embedding = TokenEmbedding(vocabulary_size, width, name="context_embedding", dtype=dtype)
    mask = padding_mask(context)
    outputs = rnn(embedding(context), mask=mask)
    annotations, *states = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    # Padding has no annotation. The operation also removes the implicit mask of the RNN's output,
    # which Keras would pass on beside the explicit one.
    return mask, ops.where(ops.expand_dims(mask, -1), annotations, 0.0), states


def inputs_like(tensors: Any) -> Any:
    """Return a structure of symbolic inputs with the shapes and dtypes of tensors (B, …)."""
    return tree.map_structure(lambda each: keras.Input(each.shape[1:], dtype=each.dtype), tensors)


def build_attending_decoder(
    vocabulary_size: int,
    width: int,
    cell: keras.layers.Layer,
    encoded: Mapping[str, Any],
    dtype: str | keras.DTypePolicy | None = None,
) -> keras.Model:
    """Build a decoder whose cell attends to a memory before every word.

    Args:
        vocabulary_size: number of target ids, V.
        width: width of the target embedding.
        cell: cell of the `AttentionRNN`.
        encoded: symbolic `{"memory": {"mask": (B, S), "values": (B, S, D)}, "state": [...]}`.
        dtype: dtype or dtype policy of the layers.

    Returns:
        A functional model: ids (B, T), memory and states → logits (B, T, V), attention weights,
        the next states.
    """
    # Layers
    embedding = TokenEmbedding(vocabulary_size, width, name="target_embedding", dtype=dtype)
    rnn = AttentionRNN(cell, name="target_rnn", dtype=dtype)
    to_logits = layers.Dense(vocabulary_size, name="logits", dtype=dtype)

    # Model
    target = keras.Input((None,), dtype="int32", name="target")
    mask, values = inputs_like([encoded["memory"]["mask"], encoded["memory"]["values"]])
    state = inputs_like(encoded["state"])
    x, weights, next_state = rnn(
        embedding(target),
        values,
        attention_mask=mask,
        initial_states=state,
        return_attention_scores=True,
        return_state=True,
    )
    return keras.Model(
        {"memory": {"mask": mask, "values": values}, "state": state, "target": target},
        {"logits": to_logits(x), "state": next_state, "weights": {"cross_attention": [weights]}},
        name="decoder",
    )


def join(encoder: keras.Model, decoder: keras.Model, name: str) -> keras.Model:
    """Join two halves: the decoder receives the right answer, shifted by one (teacher forcing).

    Args:
        encoder: ids (B, S) → `{"memory": ..., "state": ..., ...}`.
        decoder: `{"memory": ..., "state": ..., "target": ids (B, T)}` → `{"logits", ...}`.
        name: name of the model.

    Returns:
        A functional model `{"context", "target"}` → logits (B, T, V).
    """
    inputs = {
        "context": keras.Input((None,), dtype="int32", name="context"),
        "target": keras.Input((None,), dtype="int32", name="target"),
    }
    encoded = encoder(inputs["context"])
    outputs = decoder(
        {"memory": encoded["memory"], "state": encoded["state"], "target": inputs["target"]}
    )
    return DividedModel(inputs, outputs["logits"], name=name)
