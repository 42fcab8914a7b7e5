"""Sequence to sequence without attention: the whole context in one vector.

context ids → embedding → LSTM → pooling → (s₀, c₀);   s_t = LSTM(y_{t−1}, s_{t−1}) → dense → logits
"""

import keras
from keras import layers, ops

from keras_attention.layers import Pooling, TokenEmbedding
from keras_attention.models.encoder_decoder import annotate, check_sizes, inputs_like, join


def build_seq2seq(
    context_vocabulary_size: int = 5000,
    target_vocabulary_size: int = 5000,
    units: int = 256,
    pooling: str = "last",
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "seq2seq",
) -> keras.Model:
    """Build the baseline without attention: two LSTMs with a bottleneck between them.

    Args:
        context_vocabulary_size: number of context ids; 0 is padding.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: width of embeddings and LSTMs.
        pooling: how the encoder's outputs become the decoder's initial state: `"last"`, the hidden
            and cell state after the last word, as in Sutskever et al. (2014); `"max"` or `"mean"`
            over all words, with a cell state of zeros.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": ids (B, S), "target": ids (B, T)}` → logits
        (B, T, V), with the layers "encoder" and "decoder" like every model of the package. Its
        attention weights are the fractions of the words in the pooled vector, the same for every
        target word.

    Raises:
        ValueError: the pooling is unknown, or a number is not positive.

    References:
        Sutskever, Vinyals, Le (2014), Sequence to sequence learning with neural networks,
        arXiv:1409.3215.
    """
    check_sizes(
        context_vocabulary_size=context_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        units=units,
    )
    pool = Pooling(pooling, name="pooling", dtype=dtype)
    encoder = _build_encoder(context_vocabulary_size, units, pool, dtype)
    decoder = _build_decoder(target_vocabulary_size, units, encoder.output, dtype)
    return join(encoder, decoder, name)


def _build_encoder(vocabulary_size, units, pool, dtype):
    """Ids (B, S) → fractions of the words in the pooled vector, and the initial state."""
    rnn = layers.RNN(
        layers.LSTMCell(units, dtype=dtype),
        return_sequences=True,
        return_state=True,
        name="context_rnn",
        dtype=dtype,
    )
    context = keras.Input((None,), dtype="int32", name="context")
    mask, annotations, (_, cell) = annotate(context, vocabulary_size, units, rnn, dtype=dtype)
    hidden, shares = pool(
        ops.zeros_like(cell), annotations, attention_mask=mask, return_attention_scores=True
    )
    if pool.mode != "last":
        cell = ops.zeros_like(cell)
    memory = {"shares": ops.squeeze(shares, -1)}
    return keras.Model(context, {"memory": memory, "state": [hidden, cell]}, name="encoder")


def _build_decoder(vocabulary_size, units, encoded, dtype):
    """Ids (B, T) and states → logits (B, T, V), the fractions, the next states."""
    # Layers
    embedding = TokenEmbedding(vocabulary_size, units, name="target_embedding", dtype=dtype)
    rnn = layers.RNN(
        layers.LSTMCell(units, dtype=dtype),
        return_sequences=True,
        return_state=True,
        name="target_rnn",
        dtype=dtype,
    )
    to_logits = layers.Dense(vocabulary_size, name="logits", dtype=dtype)

    # Model
    target = keras.Input((None,), dtype="int32", name="target")
    (shares,) = inputs_like([encoded["memory"]["shares"]])
    state = inputs_like(encoded["state"])
    x, *next_state = rnn(embedding(target), initial_state=state)
    for_every_word = ops.ones_like(target, dtype="float32")[:, :, None] * shares[:, None, :]
    return keras.Model(
        {"memory": {"shares": shares}, "state": state, "target": target},
        {
            "logits": to_logits(x),
            "state": next_state,
            "weights": {"cross_attention": [for_every_word]},
        },
        name="decoder",
    )
