"""The lecture's model: a bidirectional LSTM, and an LSTM that attends before every word.

context ids → embedding → bidirectional LSTM → h                          (B, S, 2 M₁)
α_t = softmax over time of NeuralNet([s_{t−1}; h]),  c_t = Σ_t′ α_tt′ h_t′   (B, S, 1), (B, 2 M₁)
s_t = LSTM([c_t; y_{t−1}], s_{t−1}) → dense → logits                      (B, M₂), (B, V)
"""

import keras
from keras import layers

from keras_attention.layers import AttendThenRecur
from keras_attention.models.attention_factory import make_attention
from keras_attention.models.encoder_decoder import (
    annotate,
    build_attending_decoder,
    check_sizes,
    join,
)

ATTENTIONS = (
    *("global", "local_m", "local_p", "hard"),
    *("coverage", "neural_coverage", "location_aware", "recurrent_location"),
    *("last", "max", "mean"),
)


def build_bilstm_attention(
    context_vocabulary_size: int = 5000,
    target_vocabulary_size: int = 5000,
    units: int = 256,
    encoder_units: int | None = None,
    attention: str = "global",
    score: str | keras.layers.Layer | None = None,
    half_width: int | None = None,
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "bilstm_attention",
) -> keras.Model:
    """Build the translator of the lecture notes, with the attention inside the decoder's loop.

    The decoder's previous state, s_{t−1}, is the query. What it reads enters the LSTM together with
    the previous word (teacher forcing). The decoder starts from zeros, as in the notes: it knows
    only what it has read of the context.

    Args:
        context_vocabulary_size: number of context ids; 0 is padding.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: M₂, width of the decoder's LSTM and of the embeddings.
        encoder_units: M₁, width of the encoder's LSTM in each direction; None: half the units,
            so that queries and keys are equally wide and every score applies (for even units).
        attention: `"global"` as in the notes, or another of
            `keras_attention.models.attention_factory`: `"local_m"`, `"local_p"`, `"hard"`; with a
            state: `"coverage"`, `"neural_coverage"`, `"location_aware"`, `"recurrent_location"`; or
            a summary that ignores the query: `"last"`, `"max"`, `"mean"`.
        score: score of global, local and hard attention; None: the notes' two-layer network,
            `"two_layer"`, with the width of the query. `TwoLayerScore(10)` of
            `keras_attention.layers.scores` has the width of the notes.
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
        Bahdanau, Cho, Bengio (2015), arXiv:1409.0473, whose RNNs are GRUs.
    """
    encoder_units = max(units // 2, 1) if encoder_units is None else encoder_units
    check_sizes(
        context_vocabulary_size=context_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        units=units,
        encoder_units=encoder_units,
    )
    attend = make_attention(
        attention,
        units,
        score,
        half_width,
        among=ATTENTIONS,
        default_score="two_layer",
        dtype=dtype,
    )
    cell = AttendThenRecur(
        layers.LSTMCell(units, name="lstm", dtype=dtype),
        attend,
        name="attend_then_recur",
        dtype=dtype,
    )
    encoder = _build_encoder(
        context_vocabulary_size, units, encoder_units, cell.initial_states, dtype
    )
    decoder = build_attending_decoder(
        target_vocabulary_size, units, cell, encoder.output, dtype=dtype
    )
    return join(encoder, decoder, name)


def _build_encoder(vocabulary_size, width, units, initial_states, dtype):
    """Ids (B, S) → the memory and the initial states of the decoder."""
    rnn = layers.Bidirectional(
        layers.RNN(layers.LSTMCell(units, dtype=dtype), return_sequences=True, dtype=dtype),
        name="context_rnn",
        dtype=dtype,
    )
    context = keras.Input((None,), dtype="int32", name="context")
    mask, values, _ = annotate(context, vocabulary_size, width, rnn, dtype=dtype)
    memory = {"mask": mask, "values": values}
    return keras.Model(context, {"memory": memory, "state": initial_states(mask)}, name="encoder")
