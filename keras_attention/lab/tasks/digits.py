"""Handwritten digits somewhere on a larger picture, among pieces of other digits.

The 1,797 digits of 8 × 8 pixels come with the package, so nothing is downloaded. Their source is
Alpaydin and Kaynak (1998), Optical recognition of handwritten digits, UCI machine learning
repository.
"""

from typing import NamedTuple

import numpy as np

from keras_attention.storage import bundled

SIDE = 8  # of a digit, in pixels
_TEST_EVERY = 4  # every fourth digit is for tests
_PIECE = 4  # side of a piece of clutter


class Digits(NamedTuple):
    """Pictures (N, 8, 8), float32 in [0, 1], and labels (N,), int32."""

    pictures: np.ndarray
    labels: np.ndarray


class Scenes(NamedTuple):
    """Pictures of one or several digits with clutter around them.

    `pictures` (B, H, W, 1), float32 in [0, 1]; `labels` (B, N), int32, left to right; `places`
    (B, N, 2), row and column of the centre of each digit, in pixels.
    """

    pictures: np.ndarray
    labels: np.ndarray
    places: np.ndarray


def load_digits() -> tuple[Digits, Digits]:
    """Read the digits for training and those for tests; no digit is in both.

    Returns:
        A pair of `Digits`, 1,347 and 450.
    """
    path = bundled("digits", "digits.npz")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        pictures = (arrays["pictures"] / 16).astype("float32")
        labels = arrays["labels"].astype("int32")
    test = np.arange(len(labels)) % _TEST_EVERY == 0
    return Digits(pictures[~test], labels[~test]), Digits(pictures[test], labels[test])


def scatter_digits(
    digits: Digits,
    rng: np.random.Generator,
    count: int,
    shape: tuple[int, int] = (32, 32),
    number: int = 1,
    clutter: int = 6,
) -> Scenes:
    """Draw pictures with digits at random places, side by side, and pieces of others around them.

    Each digit lies in its own strip of the picture, so no two overlap. A piece of clutter is a
    quarter of a digit of the same set, 4 × 4 pixels. Where two overlap, the brighter counts.

    Args:
        digits: `Digits` to draw from.
        rng: a `numpy.random.Generator`.
        count: number of pictures, B.
        shape: height and width of the pictures.
        number: digits per picture, N.
        clutter: pieces of clutter per picture.

    Returns:
        `Scenes`.

    Raises:
        ValueError: there is no digit, a number is too small, or a digit does not fit its strip.
    """
    height, width = shape
    strip = width // number if number > 0 else 0
    if count < 1 or number < 1 or clutter < 0 or not len(digits.labels):
        raise ValueError(
            "count and number must be positive, clutter must not be negative, and there must be "
            f"digits, got {count}, {number}, {clutter} and {len(digits.labels)}"
        )
    if height < SIDE or strip < SIDE:
        raise ValueError(
            f"each of {number} digits needs {SIDE} × {SIDE} pixels of its own, "
            f"got pictures of {height} × {width}"
        )
    pictures = np.zeros((count, height, width), "float32")
    for _ in range(clutter):
        chosen = digits.pictures[rng.integers(len(digits.labels), size=count)]
        corners = rng.integers(SIDE - _PIECE + 1, size=(count, 2))
        piece = _windows(chosen, corners, _PIECE)
        _paste(
            pictures,
            piece,
            rng.integers([height - _PIECE + 1, width - _PIECE + 1], size=(count, 2)),
        )
    chosen = rng.integers(len(digits.labels), size=(count, number))
    corners = rng.integers([height - SIDE + 1, strip - SIDE + 1], size=(count, number, 2))
    corners[..., 1] += strip * np.arange(number)
    for place in range(number):
        _paste(pictures, digits.pictures[chosen[:, place]], corners[:, place])
    return Scenes(pictures[..., None], digits.labels[chosen], corners + SIDE / 2)


def _indices(corners, side):
    """Return indices of a window in each picture: picture, row and column, to be broadcast."""
    rows = corners[:, 0, None, None] + np.arange(side)[:, None]
    columns = corners[:, 1, None, None] + np.arange(side)
    return np.arange(len(corners))[:, None, None], rows, columns


def _windows(pictures, corners, side):
    return pictures[_indices(corners, side)]


def _paste(pictures, pieces, corners):
    """Paste a piece onto each picture, in place; the brighter pixel counts."""
    where = _indices(corners, pieces.shape[-1])
    pictures[where] = np.maximum(pictures[where], pieces)
