"""Bags of words: the position encoding against plain loops in float64."""

import numpy as np
import pytest
from keras import ops

from keras_attention.ops import position_encoding
from tests.numerics import as_numpy, assert_close


def oracle(mask, width):
    """The equation of section 4.1, a sentence at a time."""
    encoding = np.zeros((*mask.shape, width))
    for place in np.ndindex(mask.shape[:-1]):
        length = int(mask[place].sum())
        for j in range(1, length + 1):
            for k in range(1, width + 1):
                encoding[(*place, j - 1, k - 1)] = (1 - j / length) - (k / width) * (
                    1 - 2 * j / length
                )
    return encoding


def encode(mask, width):
    return as_numpy(position_encoding(ops.convert_to_tensor(mask), width))


def test_is_the_equation_of_the_paper():
    lengths = np.random.default_rng(0).integers(0, 8, size=(3, 5))
    mask = np.arange(7) < lengths[..., None]
    assert {0, 7} <= set(lengths.flat)
    assert_close(encode(mask, 11), oracle(mask, 11))


def test_can_be_checked_by_hand():
    # J = 4, d = 2: l_kj = (1 − j/4) − (k/2)(1 − j/2)
    expected = [[0.5, 0.25], [0.5, 0.5], [0.5, 0.75], [0.5, 1.0]]
    np.testing.assert_allclose(encode(np.ones(4, bool), 2), expected, atol=1e-7)
    # The last word of a sentence counts k/d, whatever the length.
    for length in (1, 2, 5):
        np.testing.assert_allclose(encode(np.ones(length, bool), 5)[-1], np.arange(1, 6) / 5)


@pytest.mark.parametrize("padding", [1, 13])
def test_padding_changes_nothing_and_counts_for_nothing(padding):
    mask = np.array([[True] * 3, [True, True, False]])
    padded = np.concatenate([mask, np.zeros((2, padding), bool)], axis=1)
    np.testing.assert_array_equal(encode(padded, 7)[:, :3], encode(mask, 7))
    np.testing.assert_array_equal(encode(padded, 7)[:, 3:], 0)


def test_the_order_of_the_words_counts():
    words = np.random.default_rng(0).normal(size=(5, 7))
    encoding = encode(np.ones(5, bool), 7)
    there, back = (words * encoding).sum(0), (words[::-1] * encoding).sum(0)
    assert abs(there - back).max() > 0.1
