"""Frames to words: a decoder that chooses, before every word, which frames of a clip to look at.

frames → CNN, the same for each → bidirectional LSTM over time → v             (B, S, 2 M₁)
α_t = softmax over frames of w · tanh(W s_{t−1} + U v),  φ_t = Σ_i α_ti v_i    (B, S), (B, 2 M₁)
s_t = LSTM([φ_t; y_{t−1}], s_{t−1}) → dense → logits                           (B, M₂), (B, V)
"""

import keras
from keras import layers, ops

from keras_attention.layers import AttendThenRecur, OverFrames
from keras_attention.models.attention_factory import make_attention
from keras_attention.models.encoder_decoder import build_attending_decoder, check_sizes

ATTENTIONS = ("global", "hard", "last", "max", "mean")


def build_captioner(
    frame_shape=(12, 12, 3),
    target_vocabulary_size=5000,
    units=64,
    encoder_units=None,
    filters=(16, 32),
    attention="global",
    score=None,
    dtype=None,
    name="captioner",
):
    """Build a network that describes a clip in words, with soft attention over time.

    Every frame goes through the same small CNN; a bidirectional LSTM sees what changes from frame
    to frame; a decoder that starts from zeros looks at the frames before every word. A frame whose
    numbers are all 0 is padding, as id 0 is in a sentence, and is never looked at.

    Our names / the paper's: annotations v / temporal feature vectors v_i; the read / φ_t(V); the
    state s / h. The paper's features are those of a CNN trained on photographs and of a 3-D CNN
    (here one small CNN, trained along, and an LSTM over time), and its words are predicted from
    h_t, φ_t and y_{t−1} through one more layer (here from s_t, which has read both).

    Args:
        frame_shape: (height, width, channels) of pictures; or (F,) of features that stand for a
            frame already, in place of the CNN.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: M₂, width of the decoder's LSTM, of its word embeddings and of a frame's features.
        encoder_units: M₁, width of the encoder's LSTM in each direction; None: half the units.
        filters: of the convolutions over a picture, 3×3 in steps of 2, one a number.
        attention: `"global"`, the paper's; `"hard"`, one frame; or a summary that ignores what is
            asked, the paper's baseline: `"mean"`, or `"last"` or `"max"`.
        score: of global and hard attention; by default the paper's, `"additive"`.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: Keras' own.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": frames (B, S, *frame_shape), "target": ids
        (B, T)}` → logits (B, T, V), with the layers "encoder" and "decoder" like every model of
        the package, and so with the views `encode`, `step` and `attention`.

    Raises:
        ValueError: `frame_shape` is of neither kind, there is no such attention or score, or a
            number is not positive.

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
    """Frames (B, S, …) → the memory, and the states from which the decoder starts."""
    # Layers
    features = [layers.Dense(width, activation="relu", name="features", dtype=dtype)]
    if len(frame_shape) == 3:
        convolution = {"strides": 2, "padding": "same", "activation": "relu"}
        convolutions = [
            layers.Conv2D(size, 3, **convolution, name=f"convolution_{number}", dtype=dtype)
            for number, size in enumerate(filters, start=1)
        ]
        # Without it what is small and dark hardly moves the features, and is learned late.
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
    # Padding has no annotation, and no implicit mask goes on beside the explicit one.
    values = ops.where(ops.expand_dims(mask, -1), annotations, 0.0)
    memory = {"mask": mask, "values": values}
    return keras.Model(context, {"memory": memory, "state": initial_states(mask)}, name="encoder")
