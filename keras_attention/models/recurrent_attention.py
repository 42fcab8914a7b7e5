"""The recurrent attention model: a label from a few glimpses of a picture.

picture → T glimpses, each where the last state sends the eye → the last state → logits
"""

import keras
from keras import layers, ops

from keras_attention.layers import GlimpseNetwork, GlimpseRNN
from keras_attention.models.encoder_decoder import check_sizes
from keras_attention.models.reinforced import Reinforced


def build_recurrent_attention(
    shape,
    labels=10,
    num_glimpses=4,
    size=8,
    scales=3,
    units=128,
    deviation=0.2,
    policy="learned",
    dtype=None,
    name="recurrent_attention",
):
    """Build the model of Mnih et al. (2014).

    Args:
        shape: height, width and channels of the pictures.
        labels: number of labels, V.
        num_glimpses: T, glimpses a picture.
        size: cells of a patch along each side.
        scales: patches a glimpse, each twice as wide as the one before.
        units: width of the glimpse network and of the core.
        deviation: σ of the places around their means, of a picture that is 2 wide.
        policy: `"learned"`; or, to compare with, `"centre"` or `"random"`, as for `GlimpseRNN`.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: Keras' own.
        name: name of the model.

    Returns:
        A `Reinforced` model, to be compiled without a loss: pictures (B, H, W, C) → a dict with
        "logits" (B, V), of the last state; "locations" (B, T, 2), where it looked;
        "log_probabilities" (B, T) of these; and "baseline" (B, T), the chance of an error as it
        was seen before each look.

    Raises:
        ValueError: a number is not positive, there is no such policy, or a glimpse is larger than
            the picture.

    The core is the paper's for classification, h_t = ReLU(W h_{t−1} + V g_t). The location network
    is recurrent as well, as in Ba et al. (2015): it learns by REINFORCE alone what of a glimpse is
    worth knowing for the next one, which the core, that learns by the labels, need not keep.

    References:
        Mnih, Heess, Graves, Kavukcuoglu (2014), Recurrent models of visual attention,
        arXiv:1406.6247; Ba, Mnih, Kavukcuoglu (2015), arXiv:1412.7755.
    """
    check_sizes(labels=labels, units=units)
    # Layers
    learns = policy == "learned"  # where nothing is chosen, nothing teaches who would choose
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
