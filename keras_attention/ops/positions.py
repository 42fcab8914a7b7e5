"""Positions of tokens: the sinusoids of the Transformer, and the encoding of words in a sentence.

angle_{p,i} = p / 10000^{2i/D},   i = 0 … D/2 − 1;   sin and cos of each
m = Σ_j l_j ⊙ x_j,   l_kj = (1 − j/J) − (k/d)(1 − 2j/J)
"""

import numpy as np
from keras import ops

from keras_attention.ops.precision import at_least, precise_dtype
from keras_attention.types import Array

LAYOUTS = ("interleaved", "concatenated")


def sinusoids(positions: Array, width: int, layout: str = "interleaved") -> Array:
    """Return the positional encodings of section 3.5 of Vaswani et al. (2017).

    The encodings of two positions k apart differ by a rotation that depends only on k, so a linear
    map can shift attention by k. Computed in float32, or in float64 for positions of float64,
    without a table that limits the positions.

    Args:
        positions: numbers of any shape, counted from 0.
        width: D, even.
        layout: `"interleaved"`: sin, cos, sin, cos, …, as in the paper; `"concatenated"`: all
            sines, then all cosines, as in the TensorFlow tutorial. The numbers are the same.

    Returns:
        Encodings, in the shape of the positions with a new last axis D.

    Raises:
        ValueError: if the width is odd or not positive, or the layout is unknown.

    Example:
    >>> [round(float(number), 3) for number in sinusoids(np.array(1), 4)]
    [0.841, 0.54, 0.01, 1.0]
    """
    if width < 2 or width % 2:
        raise ValueError(f"width must be even and positive for pairs of sin and cos, got {width}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    dtype = precise_dtype(positions)
    rates = ops.convert_to_tensor(10000.0 ** (-np.arange(0, width, 2) / width), dtype)
    angles = ops.expand_dims(ops.cast(positions, dtype), -1) * rates
    if layout == "concatenated":
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(pairs, (*ops.shape(angles)[:-1], width))


def position_encoding(mask: Array, width: int, dtype: str = "float32") -> Array:
    """Return factors for the features of each word, so that a sum of words keeps their order.

    Section 4.1 of Sukhbaatar et al. (2015): l_kj = (1 − j/J) − (k/d)(1 − 2j/J), for words
    j = 1 … J and features k = 1 … d. J does not count padding, so more padding changes nothing.

    Args:
        mask: booleans (…, J), True for words; padding comes last.
        width: d, the number of features of a word.
        dtype: float32 or float64.

    Returns:
        l, (…, J, d), 0 at padding.

    Example:
    >>> import numpy as np
    >>> ops.convert_to_numpy(position_encoding(np.array([True, True, False]), 2)).tolist()
    [[0.5, 0.5], [0.5, 1.0], [0.0, 0.0]]
    """
    present = ops.cast(mask, dtype)
    length = at_least(ops.sum(present, axis=-1, keepdims=True), 1.0)
    share = ops.cast(ops.cumsum(present, axis=-1), dtype) / length  # j/J
    number = ops.cast(ops.arange(1, width + 1), dtype) / width  # k/d
    falling, turning = (present * (1 - share))[..., None], (present * (1 - 2 * share))[..., None]
    return falling - turning * number
