"""Glimpses: small patches around a location, sharp in the middle and coarse further out.

ρ(x, l)_k = the g·2^k × g·2^k pixels around l, as g × g means,   k = 0 … K−1
l ~ N(m, σ² I),   log p(l) = −‖l − m‖² / 2σ² − ln 2πσ²
"""

import math

import keras
from keras import ops

from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array


def glimpse(pictures: Array, locations: Array, size: int, scales: int = 1) -> Array:
    """Cut K patches around a location out of each picture, each twice as wide as the last.

    A cell of patch k is the mean over a square of 2^k × 2^k pixels. Pixels count by the fraction
    that lies in the square; beyond the border they are 0. If the edges of a patch fall between
    pixels, its cells are means of whole pixels; otherwise they vary continuously with the location.
    There is a gradient with respect to the pictures; that for the locations is of little use.

    Two matrix products, over rows and then columns, keep all shapes static.

    Args:
        pictures: (B, H, W, C).
        locations: (B, 2), row and column of the centre, from (−1, −1), the upper left corner of
            the picture, to (1, 1), the lower right one.
        size: g, the number of cells along each side of a patch.
        scales: K, the number of patches.

    Returns:
        (B, K, g, g, C), in the dtype of the pictures, or float32 if they are integers.

    Raises:
        ValueError: if a number is not positive, or the widest patch is larger than the picture.

    References:
        Mnih, Heess, Graves, Kavukcuoglu (2014), Recurrent models of visual attention,
        arXiv:1406.6247, section 3.1.
    """
    height, width = pictures.shape[1:3]
    check_glimpse(height, width, size, scales)
    if not keras.backend.is_float_dtype(pictures.dtype):
        pictures = ops.cast(pictures, "float32")
    locations = ops.cast(locations, "float32")
    rows = ops.cast(_shares(locations[:, 0], height, size, scales), pictures.dtype)
    columns = ops.cast(_shares(locations[:, 1], width, size, scales), pictures.dtype)
    strips = ops.einsum("bkrh,bhwc->bkrwc", rows, pictures)
    return ops.einsum("bkrwc,bksw->bkrsc", strips, columns)


def check_glimpse(height: int, width: int, size: int, scales: int) -> None:
    """Check that glimpses fit into pictures.

    Raises:
        ValueError: if a number is not positive, or the widest patch is larger than the picture.
    """
    if size < 1 or scales < 1:
        raise ValueError(f"size and scales must be positive, got {size} and {scales}")
    widest = size * 2 ** (scales - 1)
    if widest > min(height, width):
        raise ValueError(
            f"a glimpse must not be larger than the picture: {scales} patches of {size} × {size} "
            f"cells cover {widest} × {widest} pixels, got pictures of {height} × {width}"
        )


def _shares(places, length, size, scales):
    """Return the fraction (B, K, g, S) of each cell that each of the S pixels of a line covers.

    The cell is the interval [m + (r − g/2) 2^k, m + (r + 1 − g/2) 2^k], the pixel [s, s + 1]. The
    fraction is the length of their overlap divided by that of the cell.
    """
    middle = (places + 1) / 2 * length
    width = ops.cast(2 ** ops.arange(scales), "float32")[:, None]
    first = (ops.arange(size, dtype="float32") - size / 2) * width  # (K, g)
    start = (middle[:, None, None] + first)[..., None]
    width, pixels = width[..., None], ops.arange(length, dtype="float32")
    common = ops.minimum(start + width, pixels + 1) - ops.maximum(start, pixels)
    return ops.maximum(common, 0.0) / width


def normal_log_probability(sample: Array, mean: Array, deviation: float) -> Array:
    """Return ln N(l; m, σ² I) of samples and means (…, N): (…), at least float32.

    Args:
        sample: l, as drawn; clipping would change its density.
        mean: m, of the same shape.
        deviation: σ, a positive number.
    """
    dtype = precise_dtype(sample, mean)
    distance = (ops.cast(sample, dtype) - ops.cast(mean, dtype)) / deviation
    constant = sample.shape[-1] * math.log(deviation * math.sqrt(2 * math.pi))
    return -ops.sum(ops.square(distance), axis=-1) / 2 - constant
