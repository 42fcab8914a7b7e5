"""The recurrent attention model: a label from a few glimpses of a picture.

picture → T glimpses, each at a location chosen by the state before it → last state → logits
"""

from collections.abc import Sequence

import keras
from keras import layers, ops

from keras_attention.layers import GlimpseNetwork, GlimpseRNN
from keras_attention.models.encoder_decoder import check_sizes
from keras_attention.models.reinforced import Reinforced


def build_recurrent_attention(
    shape: Sequence[int],
    labels: int = 10,
    num_glimpses: int = 4,
    size: int = 8,
    scales: int = 3,
    units: int = 128,
    deviation: float = 0.2,
    policy: str = "learned",
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "recurrent_attention",
) -> Reinforced:
    """Build the model of Mnih et al. (2014).

    Args:
        shape: height, width and channels of the pictures.
        labels: number of labels, V.
        num_glimpses: T, glimpses per picture.
        size: cells of a patch along each side.
        scales: patches per glimpse, each twice as wide as the one before.
        units: width of the glimpse network and of the core.
        deviation: standard deviation σ of the locations; the picture counts as 2 wide.
        policy: `"learned"`; or, for comparison, `"centre"` or `"random"`, as for `GlimpseRNN`.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A `Reinforced` model, to be compiled without a loss: pictures (B, H, W, C) → a dict with
        "logits" (B, V), from the last state; "locations" (B, T, 2) of the glimpses;
        "log_probabilities" (B, T) of the locations; and "baseline" (B, T), the probability of an
        error as estimated before each glimpse.

    Raises:
        ValueError: a number is not positive, the policy is unknown, or a glimpse is larger than the
            picture.

    The core is the paper's for classification, h_t = ReLU(W h_{t−1} + V g_t). The location network
    is also recurrent, as in Ba et al. (2015). REINFORCE alone teaches it what to keep of a glimpse
    for choosing the next; the core learns from the labels and need not keep this.

    References:
        Mnih, Heess, Graves, Kavukcuoglu (2014), Recurrent models of visual attention,
        arXiv:1406.6247; Ba, Mnih, Kavukcuoglu (2015), arXiv:1412.7755.
    """
    check_sizes(labels=labels, units=units)
    # Layers
    learns = policy == "learned"  # without choices, these layers get no gradient
    locator = layers.SimpleRNNCell(
        -(-units // 2), activation="relu", trainable=learns, name="locator", dtype=dtype
    )
    core = GlimpseRNN(
        GlimpseNetwork(units, size, scales, name="glimpse", dtype=dtype),
        layers.SimpleRNNCell(units, activation="relu", name="core", dtype=dtype),
        num_glimpses,
        locator=locator,
        policy=policy,
        deviation=deviation,
        name="glimpses",
        dtype=dtype,
    )
    to_logits = layers.Dense(labels, name="logits", dtype=dtype)
    to_baseline = layers.Dense(1, name="baseline", dtype=dtype)

    # Model
    pictures = keras.Input(shape, name="pictures")
    seen = core(pictures)
    baseline = to_baseline(ops.stop_gradient(seen.states))
    outputs = {
        "baseline": ops.squeeze(baseline, -1),
        "locations": seen.locations,
        "log_probabilities": seen.log_probabilities,
        "logits": to_logits(seen.outputs[:, -1]),
    }
    return Reinforced(pictures, outputs, baseline="learned", cost="errors", name=name)
