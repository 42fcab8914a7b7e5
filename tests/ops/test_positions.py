import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.ops import position_encoding, sinusoids
from tests.numerics import as_numpy, assert_close

D, T = 14, 31


def sinusoids64(positions, width):
    """The oracle: section 3.5 of the paper, one number at a time."""
    encodings = np.zeros((len(positions), width))
    for row, position in enumerate(positions):
        for i in range(width // 2):
            angle = position / 10000 ** (2 * i / width)
            encodings[row, 2 * i] = np.sin(angle)
            encodings[row, 2 * i + 1] = np.cos(angle)
    return encodings


def test_interleaved_is_the_formula_of_the_paper():
    assert_close(sinusoids(np.arange(T), D), sinusoids64(range(T), D), 3e-6)


def test_concatenated_holds_the_same_numbers_permuted():
    encodings = as_numpy(sinusoids(np.arange(T), D, "concatenated"))
    sines_then_cosines = [*range(0, D, 2), *range(1, D, 2)]
    interleaved = as_numpy(sinusoids(np.arange(T), D))
    np.testing.assert_array_equal(encodings, interleaved[:, sines_then_cosines])
    assert_close(encodings, sinusoids64(range(T), D)[:, sines_then_cosines], 3e-6)


def test_four_numbers_for_each_of_the_positions_0_1_and_2():
    expected = [
        [0, 1, 0, 1],
        [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
        [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
    ]
    assert_close(sinusoids(np.arange(3), 4), expected, 2e-7)
    assert_close(sinusoids(np.arange(3), 4, "concatenated"), np.array(expected)[:, [0, 2, 1, 3]])


def test_positions_have_any_shape_and_no_end():
    positions = np.array([[2, 3, 5], [7, 1009, 4999]])
    encodings = sinusoids(positions, D)
    assert encodings.shape == (2, 3, D)
    # An angle in float32 has seven digits; of 4999, four are before the point.
    expected = sinusoids64(positions.ravel(), D).reshape(2, 3, D)
    np.testing.assert_allclose(as_numpy(encodings), expected, atol=5e-4)


@pytest.mark.parametrize("k", [1, 3, 13])
def test_to_go_k_positions_on_is_a_rotation_that_hangs_on_k_alone(k):
    encodings = as_numpy(sinusoids(np.arange(T + k), D)).astype(float)
    rotation = np.zeros((D, D))
    for i in range(D // 2):
        angle = k / 10000 ** (2 * i / D)
        rotation[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [
            [np.cos(angle), np.sin(angle)],
            [-np.sin(angle), np.cos(angle)],
        ]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(D), atol=1e-15)
    assert_close(encodings[k:], encodings[:-k] @ rotation.T, 5e-6)


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_every_position_is_as_long_and_their_products_hang_on_the_distance(layout):
    encodings = as_numpy(sinusoids(np.arange(T), D, layout)).astype(float)
    products = encodings @ encodings.T
    rates = 10000.0 ** (-np.arange(0, D, 2) / D)
    distances = np.arange(T)[:, None] - np.arange(T)[None, :]
    # sin a sin b + cos a cos b = cos(a − b), and so D/2 where the distance is 0
    assert_close(products, np.cos(distances[..., None] * rates).sum(-1), 5e-6)
    np.testing.assert_allclose(np.diag(products), D / 2, rtol=1e-6)


def test_computes_in_float32_whatever_the_positions_are():
    for dtype in ("int8", "int32", "float32"):
        encodings = sinusoids(ops.cast([[3, 5]], dtype), D)
        assert keras.backend.standardize_dtype(encodings.dtype) == "float32"
        assert_close(encodings, [sinusoids64([3, 5], D)])


@pytest.mark.parametrize("width", [0, 5, -2])
def test_sines_and_cosines_come_in_pairs(width):
    with pytest.raises(ValueError, match=f"width must be even and positive.*got {width}"):
        sinusoids(np.arange(T), width)


def test_an_unknown_layout():
    with pytest.raises(ValueError, match="one of interleaved, concatenated, got 'sideways'"):
        sinusoids(np.arange(T), D, "sideways")


# The words of a sentence


def encoding64(mask, width):
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
    assert_close(encode(mask, 11), encoding64(mask, 11))


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
