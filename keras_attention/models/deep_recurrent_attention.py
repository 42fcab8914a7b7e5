"""The deep recurrent attention model: a row of labels, several glimpses for each.

a coarse picture → s₀,   l_t ← s_{t−1},   h_t = LSTM₁(g_t, h_{t−1}),   s_t = LSTM₂(h_t, s_{t−1}),
logits of label n ← h after its last glimpse
"""

from collections.abc import Sequence

import keras
from keras import layers, ops

from keras_attention.layers import GlimpseNetwork, GlimpseRNN
from keras_attention.models.encoder_decoder import check_sizes
from keras_attention.models.reinforced import Reinforced


def build_deep_recurrent_attention(
    shape: Sequence[int],
    labels: int = 10,
    length: int = 2,
    num_glimpses: int = 3,
    size: int = 8,
    scales: int = 2,
    units: int = 128,
    coarse: int = 4,
    deviation: float = 0.2,
    policy: str = "learned",
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "deep_recurrent_attention",
) -> Reinforced:
    """Build the model of Ba et al. (2015) for rows of labels, all of the same length.

    The context network sees the whole picture, reduced to the mean of each square of `coarse` ×
    `coarse` pixels. It starts only the upper network, which chooses the locations. The labels come
    from the lower network, and thus from glimpses alone.

    Args:
        shape: height, width and channels of the pictures; the sides are multiples of `coarse`.
        labels: number of labels, V.
        length: N, labels per picture.
        num_glimpses: G, glimpses per label.
        size: cells of a patch along each side.
        scales: patches per glimpse, each twice as wide as the one before.
        units: width of the glimpse network and of both recurrent networks.
        coarse: side of the squares that the context network sees as one pixel.
        deviation: standard deviation σ of the locations; the picture counts as 2 wide.
        policy: `"learned"`; or, for comparison, `"centre"` or `"random"`, as for `GlimpseRNN`.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A `Reinforced` model, to be compiled without a loss: pictures (B, H, W, C) → a dict with
        "logits" (B, N, V); "locations" (B, N·G, 2), "log_probabilities" and "baseline"
        (B, N·G), as for `build_recurrent_attention`; the baseline is the expected number of
        errors.

    Raises:
        ValueError: a number is not positive, the policy is unknown, a glimpse is larger than the
            picture, or the sides of the picture are not multiples of `coarse`.

    References:
        Ba, Mnih, Kavukcuoglu (2015), Multiple object recognition with visual attention,
        arXiv:1412.7755.
    """
    check_sizes(labels=labels, length=length, num_glimpses=num_glimpses, units=units, coarse=coarse)
    if len(shape) != 3 or not all(isinstance(size, int) for size in shape):
        raise ValueError(f"shape must be (height, width, channels) of pictures, got {shape}")
    if shape[0] % coarse or shape[1] % coarse:
        raise ValueError(
            f"the sides of the pictures must be multiples of coarse = {coarse}, "
            f"got {shape[0]} × {shape[1]}"
        )
    # Layers
    learns = policy == "learned"  # without choices, these layers get no gradient
    shrink = layers.AveragePooling2D(coarse, name="coarse", dtype=dtype)
    to_context = layers.Dense(units, "tanh", trainable=learns, name="context", dtype=dtype)
    core = GlimpseRNN(
        GlimpseNetwork(units, size, scales, merge="multiply", name="glimpse", dtype=dtype),
        layers.LSTMCell(units, name="core", dtype=dtype),
        length * num_glimpses,
        locator=layers.LSTMCell(units, trainable=learns, name="locator", dtype=dtype),
        policy=policy,
        deviation=deviation,
        name="glimpses",
        dtype=dtype,
    )
    to_logits = layers.Dense(labels, name="logits", dtype=dtype)
    to_baseline = layers.Dense(1, name="baseline", dtype=dtype)

    # Model
    pictures = keras.Input(shape, name="pictures")
    context = to_context(layers.Flatten(name="flat", dtype=dtype)(shrink(pictures)))
    seen = core(pictures, context)
    baseline = to_baseline(ops.stop_gradient(seen.states))
    outputs = {
        "baseline": ops.squeeze(baseline, -1),
        "locations": seen.locations,
        "log_probabilities": seen.log_probabilities,
        "logits": to_logits(seen.outputs[:, num_glimpses - 1 :: num_glimpses]),
    }
    return Reinforced(pictures, outputs, baseline="learned", cost="errors", name=name)
