"""The RNN with attention of the TensorFlow tutorial "Neural machine translation with attention".

context ids → embedding → bidirectional GRU ─────────┐ annotations
target ids  → embedding → GRU → cross-attention ◄────┘ → dense → logits
"""

import keras
from keras import layers, ops

from keras_attention.layers import GRU, CrossAttention, TokenEmbedding
from keras_attention.models.attention_factory import make_attention
from keras_attention.models.encoder_decoder import annotate, check_sizes, join

ATTENTIONS = ("multi_head", "global", "local_p", "hard", "last", "max", "mean")


def build_rnn_attention(
    context_vocabulary_size: int = 5000,
    target_vocabulary_size: int = 5000,
    units: int = 256,
    attention: str = "multi_head",
    score: str | keras.layers.Layer | None = None,
    half_width: int | None = None,
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "rnn_attention",
) -> keras.Model:
    """Build the tutorial's Spanish→English translator: two GRUs with attention between them.

    The defaults are the tutorial's: 5,292,936 parameters. The recurrent layers are the `GRU` of
    this package: `keras.layers.GRU` has the same weights, but uses a cuDNN kernel that XLA cannot
    compile and that fails on a sentence without tokens.

    Args:
        context_vocabulary_size: number of context ids; 0 is padding.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: width of embeddings, GRUs and attention, D.
        attention: `"multi_head"`, multi-head attention with one head, as in the tutorial; or
            `"global"`, `"local_p"`, `"hard"`, `"last"`, `"max"` or `"mean"`, see
            `keras_attention.models.attention_factory`. All queries are computed at once, so
            attention with a state needs `build_bilstm_attention`.
        score: score of global, local and hard attention; None: `"additive"`.
        half_width: half width of the window of local attention.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": ids (B, S), "target": ids (B, T)}` → logits
        (B, T, V). Its layers "encoder" and "decoder" are functional models themselves; the views
        `encode`, `step` and `attention` of this package build on them.

    Raises:
        ValueError: the attention or score is unknown or conflicts with another argument, or a
            number is not positive.

    References:
        https://www.tensorflow.org/text/tutorials/nmt_with_attention;
        Bahdanau, Cho, Bengio (2015), arXiv:1409.0473; Luong, Pham, Manning (2015),
        arXiv:1508.04025.
    """
    check_sizes(
        context_vocabulary_size=context_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        units=units,
    )
    attend = make_attention(attention, units, score, half_width, among=ATTENTIONS, dtype=dtype)
    encoder = _build_encoder(context_vocabulary_size, units, dtype)
    decoder = _build_decoder(target_vocabulary_size, units, attend, dtype)
    return join(encoder, decoder, name)


def _build_encoder(vocabulary_size, units, dtype):
    """Ids (B, S) → the memory and the initial state of the decoder."""
    rnn = layers.Bidirectional(
        GRU(units, return_sequences=True, dtype=dtype),
        merge_mode="sum",
        name="context_rnn",
        dtype=dtype,
    )
    context = keras.Input((None,), dtype="int32", name="context")
    mask, values, _ = annotate(context, vocabulary_size, units, rnn, dtype=dtype)
    memory = {"mask": mask, "values": values}
    state = ops.zeros_like(values[:, 0])
    return keras.Model(context, {"memory": memory, "state": state}, name="encoder")


def _build_decoder(vocabulary_size, units, attend, dtype):
    """Ids (B, T), memory and state → logits (B, T, V), attention weights, the next state."""
    # Layers
    embedding = TokenEmbedding(vocabulary_size, units, name="target_embedding", dtype=dtype)
    rnn = GRU(units, return_sequences=True, return_state=True, name="target_rnn", dtype=dtype)
    cross_attention = CrossAttention(attend, name="cross_attention", dtype=dtype)
    to_logits = layers.Dense(vocabulary_size, name="logits", dtype=dtype)

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
            "weights": {"cross_attention": [weights]},
        },
        name="decoder",
    )
