"""Frames to words: before every word, a decoder chooses the frames of a clip to attend to.

frames → CNN, the same for each → bidirectional LSTM over time → v             (B, S, 2 M₁)
α_t = softmax over frames of w · tanh(W s_{t−1} + U v),  φ_t = Σ_i α_ti v_i    (B, S), (B, 2 M₁)
s_t = LSTM([φ_t; y_{t−1}], s_{t−1}) → dense → logits                           (B, M₂), (B, V)
"""

from collections.abc import Sequence

import keras
from keras import layers, ops

from keras_attention.layers import AttendThenRecur, OverFrames
from keras_attention.models.attention_factory import make_attention
from keras_attention.models.encoder_decoder import build_attending_decoder, check_sizes

ATTENTIONS = ("global", "hard", "last", "max", "mean")


def build_captioner(
    frame_shape: Sequence[int] = (12, 12, 3),
    target_vocabulary_size: int = 5000,
    units: int = 64,
    encoder_units: int | None = None,
    filters: Sequence[int] = (16, 32),
    attention: str = "global",
    score: str | keras.layers.Layer | None = None,
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "captioner",
) -> keras.Model:
    """Build a network that describes a clip in words, with soft attention over time.

    One small CNN encodes every frame, and a bidirectional LSTM follows the changes from frame to
    frame. A decoder that starts from zeros attends to the frames before every word. A frame of
    zeros is padding, like id 0 in a sentence, and is never attended to.

    Our names / the paper's: annotations v / temporal feature vectors v_i; the read / φ_t(V); the
    state s / h. The paper takes its features from a CNN trained on photographs and from a 3-D CNN;
    here a small CNN is trained with the model, and an LSTM runs over time. The paper predicts words
    from h_t, φ_t and y_{t−1} through one more layer; here s_t, which has read both, is enough.

    Args:
        frame_shape: (height, width, channels) of pictures; or (F,) of features that replace the
            output of the CNN.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: M₂, width of the decoder's LSTM, its word embeddings and the features of a frame.
        encoder_units: M₁, width of the encoder's LSTM in each direction; None: half the units.
        filters: filters of each convolution over a picture, 3×3 with stride 2.
        attention: `"global"`, the paper's; `"hard"`, one frame; or a summary that ignores the
            query: `"mean"`, the paper's baseline, `"last"` or `"max"`.
        score: score of global and hard attention; None: the paper's, `"additive"`.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": frames (B, S, *frame_shape), "target": ids
        (B, T)}` → logits (B, T, V). It has the layers "encoder" and "decoder" like every model of
        the package, and so the views `encode`, `step` and `attention`.

    Raises:
        ValueError: `frame_shape` has neither form, the attention or score is unknown, or a number
            is not positive.

    References:
        Yao et al. (2015), Describing videos by exploiting temporal structure, arXiv:1502.08029,
        section 3.2, equations (5) to (7).
    """
    frame_shape, filters = tuple(frame_shape), tuple(filters)
    if len(frame_shape) not in (1, 3) or min(frame_shape) < 1:
        raise ValueError(
            "frame_shape must be (height, width, channels) of pictures or (F,) of features, all "
            f"positive, got {frame_shape}"
        )
    encoder_units = max(units // 2, 1) if encoder_units is None else encoder_units
    sizes = {
        "target_vocabulary_size": target_vocabulary_size,
        "units": units,
        "encoder_units": encoder_units,
    }
    check_sizes(**sizes, **{f"filters[{place}]": size for place, size in enumerate(filters)})
    attend = make_attention(attention, units, score, among=ATTENTIONS, dtype=dtype)
    cell = AttendThenRecur(
        layers.LSTMCell(units, name="lstm", dtype=dtype),
        attend,
        name="attend_then_recur",
        dtype=dtype,
    )
    encoder = _build_encoder(frame_shape, filters, units, encoder_units, cell.initial_states, dtype)
    decoder = build_attending_decoder(
        target_vocabulary_size, units, cell, encoder.output, dtype=dtype
    )

    inputs = {
        "context": keras.Input((None, *frame_shape), name="context"),
        "target": keras.Input((None,), dtype="int32", name="target"),
    }
    encoded = encoder(inputs["context"])
    outputs = decoder({**encoded, "target": inputs["target"]})
    return keras.Model(inputs, outputs["logits"], name=name)


def _build_encoder(frame_shape, filters, width, units, initial_states, dtype):
    """Frames (B, S, …) → the memory and the initial states of the decoder."""
    # Layers
    features = [layers.Dense(width, activation="relu", name="features", dtype=dtype)]
    if len(frame_shape) == 3:
        convolution = {"strides": 2, "padding": "same", "activation": "relu"}
        convolutions = [
            layers.Conv2D(size, 3, **convolution, name=f"convolution_{number}", dtype=dtype)
            for number, size in enumerate(filters, start=1)
        ]
        # Without it, small dark objects hardly change the features and are learned late.
        rescale = layers.LayerNormalization(name="normalization", dtype=dtype)
        features = [*convolutions, layers.Flatten(name="flatten", dtype=dtype), rescale, *features]
    see = OverFrames(
        keras.Sequential([keras.Input(frame_shape), *features], name="see"), dtype=dtype
    )
    rnn = layers.Bidirectional(
        layers.RNN(layers.LSTMCell(units, dtype=dtype), return_sequences=True, dtype=dtype),
        name="context_rnn",
        dtype=dtype,
    )

    # Model
    context = keras.Input((None, *frame_shape), name="context")
    mask = ops.any(ops.not_equal(context, 0.0), axis=tuple(range(2, 2 + len(frame_shape))))
    annotations = rnn(see(context), mask=mask)
    # Padding has no annotation. The operation also removes the RNN's implicit mask.
    values = ops.where(ops.expand_dims(mask, -1), annotations, 0.0)
    memory = {"mask": mask, "values": values}
    return keras.Model(context, {"memory": memory, "state": initial_states(mask)}, name="encoder")
