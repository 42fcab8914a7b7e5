"""Where a token stands: the sinusoids of the Transformer, and the weights of words in a sentence.

angle_{p,i} = p / 10000^{2i/D},   i = 0 … D/2 − 1;   sin and cos of each
m = Σ_j l_j ⊙ x_j,   l_kj = (1 − j/J) − (k/d)(1 − 2j/J)
"""

import numpy as np
from keras import ops

LAYOUTS = ("interleaved", "concatenated")


def sinusoids(positions, width, layout="interleaved"):
    """Return the positional encodings of section 3.5 of Vaswani et al. (2017).

    Two positions that lie k apart differ by a rotation that hangs on k alone, so that a linear map
    can shift attention by k. Computed in float32, for any position: there is no table to outgrow.

    Args:
        positions: numbers of any shape, counted from 0.
        width: D, even.
        layout: `"interleaved"`: sin, cos, sin, cos, …, as in the paper; `"concatenated"`: all
            sines, then all cosines, as in the TensorFlow tutorial. The same numbers, permuted.

    Returns:
        Encodings, float32, of the shape of the positions with one more axis D.

    Raises:
        ValueError: the width is odd or not positive, or there is no such layout.

    Example:
    >>> [round(float(number), 3) for number in sinusoids(np.array(1), 4)]
    [0.841, 0.54, 0.01, 1.0]
    """
    if width < 2 or width % 2:
        raise ValueError(f"width must be even and positive for pairs of sin and cos, got {width}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    rates = ops.convert_to_tensor(10000.0 ** (-np.arange(0, width, 2) / width), "float32")
    angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * rates
    if layout == "concatenated":
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(pairs, (*ops.shape(angles)[:-1], width))


def position_encoding(mask, width):
    """Say how much each number of each word counts in a sentence, so that the order is kept.

    Section 4.1 of Sukhbaatar et al. (2015): l_kj = (1 − j/J) − (k/d)(1 − 2j/J), words j = 1 … J,
    numbers k = 1 … d. J is the number of words of the sentence itself, without padding, so that
    more padding changes nothing.

    Args:
        mask: booleans (…, J), True for words; padding comes last.
        width: d, the numbers of a word.

    Returns:
        l, (…, J, d), float32, 0 at padding.

    Example:
    >>> import numpy as np
    >>> ops.convert_to_numpy(position_encoding(np.array([True, True, False]), 2)).tolist()
    [[0.5, 0.5], [0.5, 1.0], [0.0, 0.0]]
    """
    present = ops.cast(mask, "float32")
    length = ops.maximum(ops.sum(present, axis=-1, keepdims=True), 1.0)
    share = ops.cumsum(present, axis=-1) / length  # j/J
    number = ops.cast(ops.arange(1, width + 1), "float32") / width  # k/d
    falling, turning = (present * (1 - share))[..., None], (present * (1 - 2 * share))[..., None]
    return falling - turning * number
