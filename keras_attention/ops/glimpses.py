"""Glimpses: a small picture of what is around a place, sharp in the middle and coarse further out.

ρ(x, l)_k = the g·2^k × g·2^k pixels around l, as g × g means,   k = 0 … K−1
l ~ N(m, σ² I),   log p(l) = −‖l − m‖² / 2σ² − ln 2πσ²
"""

import math

import keras
from keras import ops


def glimpse(pictures, locations, size, scales=1):
    """Cut K patches around a place out of each picture; the next is twice as wide as the last.

    A cell of patch k is the mean of the picture over a square of 2^k × 2^k pixels, by the share of
    each pixel that lies in it; beyond the border there is 0. So the patch is a crop where its edges
    fall between pixels, and is as smooth in the place as it can be elsewhere. It has a gradient
    with respect to the pictures, and one, of little use, with respect to the places.

    Two products with matrices of shares do it, rows and then columns: shapes are static.

    Args:
        pictures: (B, H, W, C).
        locations: (B, 2): row and column of the middle, (−1, −1) the upper left corner of the
            picture, (1, 1) the lower right one.
        size: g, cells of a patch along each side.
        scales: K.

    Returns:
        (B, K, g, g, C), of the dtype of the pictures, or float32 where these are integers.

    Raises:
        ValueError: a number is not positive, or the widest patch is larger than the picture.

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


def check_glimpse(height, width, size, scales):
    """Check that glimpses fit into pictures.

    Raises:
        ValueError: a number is not positive, or the widest patch is larger than the picture.
    """
    if size < 1 or scales < 1:
        raise ValueError(f"size and scales must be positive, got {size} and {scales}")
    widest = size * 2 ** (scales - 1)
    if widest > min(height, width):
        raise ValueError(
            f"a glimpse must not be larger than the picture: {scales} patches of {size} × {size} "
            f"cells reach over {widest} × {widest} pixels, got pictures of {height} × {width}"
        )


def _shares(places, length, size, scales):
    """Return the share (B, K, g, S) that each of S pixels of a line has in each cell.

    The cell is the interval [m + (r − g/2) 2^k, m + (r + 1 − g/2) 2^k], the pixel [s, s + 1]; the
    share is the length of what they have in common, over that of the cell.
    """
    middle = (places + 1) / 2 * length
    width = ops.cast(2 ** ops.arange(scales), "float32")[:, None]
    first = (ops.arange(size, dtype="float32") - size / 2) * width  # (K, g)
    start = (middle[:, None, None] + first)[..., None]
    width, pixels = width[..., None], ops.arange(length, dtype="float32")
    common = ops.minimum(start + width, pixels + 1) - ops.maximum(start, pixels)
    return ops.maximum(common, 0.0) / width


def normal_log_probability(sample, mean, deviation):
    """Return ln N(l; m, σ² I) of samples and means (…, N): (…), float32.

    Args:
        sample: l, as it was drawn: one that was clipped has another density.
        mean: m, of the same shape.
        deviation: σ, a positive number.
    """
    distance = (ops.cast(sample, "float32") - ops.cast(mean, "float32")) / deviation
    constant = sample.shape[-1] * math.log(deviation * math.sqrt(2 * math.pi))
    return -ops.sum(ops.square(distance), axis=-1) / 2 - constant
