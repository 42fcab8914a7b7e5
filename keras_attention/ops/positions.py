"""Where a token stands, as a vector: the sinusoids of the Transformer, in both layouts in use.

angle_{p,i} = p / 10000^{2i/D},   i = 0 … D/2 − 1;   sin and cos of each
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
