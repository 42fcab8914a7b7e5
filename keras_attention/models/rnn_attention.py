"""The RNN with attention of the TensorFlow tutorial "Neural machine translation with attention".

context ids → embedding → bidirectional GRU ─────────┐ annotations
target ids  → embedding → GRU → cross-attention ◄────┘ → dense → logits
"""

import keras
from keras import layers, ops

from keras_attention.layers import AdditiveAttention, CrossAttention, MultiHeadAttention
from keras_attention.ops import padding_mask

ATTENTIONS = ("multi_head", "additive")


def build_rnn_attention(
    context_vocabulary=5000,
    target_vocabulary=5000,
    units=256,
    attention="multi_head",
    name="rnn_attention",
):
    """Build the tutorial's Spanish→English translator: two GRUs and the attention between them.

    The defaults are the tutorial's: 5,292,936 parameters. The recurrent layers are
    `keras.layers.RNN` over a `GRUCell`: `keras.layers.GRU` has the same weights, but picks a cuDNN
    kernel that XLA cannot compile and that fails on a sentence without a token.

    Args:
        context_vocabulary: number of context ids; 0 is padding.
        target_vocabulary: number of target ids, V; 0 is padding.
        units: width of embeddings, GRUs and attention, D.
        attention: `"multi_head"`, one head of Keras' multi-head attention as in the tutorial; or
            `"additive"`, that of Bahdanau et al. (2015).
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": ids (B, S), "target": ids (B, T)}` → logits
        (B, T, V). Its layers "encoder" and "decoder" are functional models themselves; the views
        `encode`, `step` and `attention` of this package are made of them.

    Raises:
        ValueError: `attention` is not one of the names, or a number is not positive.

    References:
        https://www.tensorflow.org/text/tutorials/nmt_with_attention;
        Bahdanau, Cho, Bengio (2015), arXiv:1409.0473; Luong, Pham, Manning (2015),
        arXiv:1508.04025.
    """
    if min(context_vocabulary, target_vocabulary, units) < 1:
        raise ValueError(
            "context_vocabulary, target_vocabulary and units must be positive, "
            f"got {context_vocabulary}, {target_vocabulary} and {units}"
        )
    if attention not in ATTENTIONS:
        raise ValueError(f"attention must be one of {', '.join(ATTENTIONS)}, got {attention!r}")

    # Layers
    encoder = _build_encoder(context_vocabulary, units)
    decoder = _build_decoder(target_vocabulary, units, attention)

    # Model: the decoder is fed the right answer, shifted by one (teacher forcing)
    inputs = {
        "context": keras.Input((None,), dtype="int32", name="context"),
        "target": keras.Input((None,), dtype="int32", name="target"),
    }
    outputs = decoder({**encoder(inputs["context"]), "target": inputs["target"]})
    return keras.Model(inputs, outputs["logits"], name=name)


def _build_encoder(vocabulary, units):
    """Ids (B, S) → the memory, and the state from which the decoder starts."""
    # Layers
    embedding = layers.Embedding(vocabulary, units, name="context_embedding")
    rnn = layers.Bidirectional(
        layers.RNN(layers.GRUCell(units), return_sequences=True),
        merge_mode="sum",
        name="context_rnn",
    )

    # Model
    context = keras.Input((None,), dtype="int32", name="context")
    mask = padding_mask(context)
    annotations = rnn(embedding(context), mask=mask)
    # Padding has no annotation. The operation also takes off the implicit mask of the RNN's output,
    # which Keras would carry along beside the explicit one.
    values = ops.where(ops.expand_dims(mask, -1), annotations, 0.0)
    memory = {"mask": mask, "values": values}
    state = ops.zeros_like(values[:, 0])
    return keras.Model(context, {"memory": memory, "state": state}, name="encoder")


def _build_decoder(vocabulary, units, attention):
    """Ids (B, T), memory and state → logits (B, T, V), attention weights, the next state."""
    # Layers
    embedding = layers.Embedding(vocabulary, units, name="target_embedding")
    rnn = layers.RNN(
        layers.GRUCell(units), return_sequences=True, return_state=True, name="target_rnn"
    )
    if attention == "multi_head":
        attend = MultiHeadAttention(num_heads=1, key_dim=units, name="multi_head_attention")
    else:
        attend = AdditiveAttention(units, name="additive_attention")
    cross_attention = CrossAttention(attend, name="cross_attention")
    to_logits = layers.Dense(vocabulary, name="logits")

    # Model
    target = keras.Input((None,), dtype="int32", name="target")
    values = keras.Input((None, units), name="values")
    mask = keras.Input((None,), dtype="bool", name="mask")
    state = keras.Input((units,), name="state")
    x, next_state = rnn(embedding(target), initial_state=state)
    x, weights = cross_attention(x, values, attention_mask=mask, return_attention_scores=True)
    return keras.Model(
        {"memory": {"mask": mask, "values": values}, "state": state, "target": target},
        {
            "logits": to_logits(x),
            "state": next_state,
            "weights": {"cross_attention": weights},
        },
        name="decoder",
    )
