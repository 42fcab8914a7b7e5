"""Glimpses against crops of a padded picture, and densities against the textbook's formula."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.ops import (
    glimpse,
    log_probability,
    normal_log_probability,
    reinforce,
)
from tests.numerics import as_numpy, gradient

B, H, W, C = 2, 23, 29, 3


def pictures():
    return np.random.default_rng(0).normal(size=(B, H, W, C)).astype("float32")


def crop(picture, row, column, size, scales):
    """Cut patches whose middle is the edge of pixels (row, column), in float64, by slices."""
    pad = size * 2**scales
    padded = np.pad(picture.astype(float), [(pad, pad), (pad, pad), (0, 0)])
    patches = []
    for k in range(scales):
        half = size * 2**k // 2
        top, left = row + pad - half, column + pad - half
        patch = padded[top : top + 2 * half, left : left + 2 * half]
        patches.append(patch.reshape(size, 2**k, size, 2**k, -1).mean((1, 3)))
    return np.stack(patches)


def place(row, column):
    """Return the location of the edge between pixels, for `glimpse`."""
    return [2 * row / H - 1, 2 * column / W - 1]


@pytest.mark.parametrize(("row", "column"), [(11, 13), (0, 0), (23, 29), (2, 28), (17, 5)])
@pytest.mark.parametrize(("size", "scales"), [(6, 1), (4, 2), (4, 3), (2, 4)])
def test_is_a_crop_of_the_picture_with_zeros_around_it(row, column, size, scales):
    locations = np.array([place(row, column), place(7, 19)], "float32")
    patches = as_numpy(glimpse(pictures(), locations, size, scales))
    assert patches.shape == (B, scales, size, size, C)
    for found, picture, middle in zip(patches, pictures(), [(row, column), (7, 19)], strict=True):
        np.testing.assert_allclose(found, crop(picture, *middle, size, scales), atol=1e-5)


def test_between_pixels_it_is_the_mean_of_what_it_covers():
    """Each pixel is blown up to 4 × 4, so that a quarter of a pixel is a whole one."""
    fine = pictures().repeat(4, axis=1).repeat(4, axis=2)
    rows, columns = np.array([31, 58]), np.array([90, 41])  # in quarters of a pixel
    locations = np.stack([rows / 2 / H - 1, columns / 2 / W - 1], -1).astype("float32")
    patches = as_numpy(glimpse(pictures(), locations, 5, 1))[:, 0]
    for found, picture, row, column in zip(patches, fine, rows, columns, strict=True):
        expected = crop(picture, row, column, 20, 1)[0]
        expected = expected.reshape(5, 4, 5, 4, C).mean((1, 3))
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_an_even_picture_is_even_at_every_scale():
    patches = as_numpy(glimpse(np.ones((1, H, W, 1), "float32"), np.zeros((1, 2)), 5, 3))
    np.testing.assert_allclose(patches, 1, atol=1e-5)


def test_by_hand():
    picture = np.arange(16.0, dtype="float32").reshape(1, 4, 4, 1)
    patches = as_numpy(glimpse(picture, np.zeros((1, 2)), 2, 2))[0, ..., 0]
    np.testing.assert_array_equal(patches[0], [[5, 6], [9, 10]])
    np.testing.assert_array_equal(patches[1], [[2.5, 4.5], [10.5, 12.5]])
    corner = as_numpy(glimpse(picture, -np.ones((1, 2)), 2, 1))[0, 0, ..., 0]
    np.testing.assert_array_equal(corner, [[0, 0], [0, 0]])


def test_the_gradient_reaches_the_pixels_that_were_seen():
    def total(x):
        return ops.sum(glimpse(x, ops.zeros((1, 2)), 2, 1))

    (slope,) = gradient(total, np.zeros((1, 4, 4, 1), "float32"))
    expected = np.zeros((4, 4))
    expected[1:3, 1:3] = 1
    np.testing.assert_array_equal(slope[0, ..., 0], expected)


@pytest.mark.parametrize(
    ("size", "scales", "message"),
    [
        (0, 1, "size and scales must be positive, got 0 and 1"),
        (3, 0, "got 3 and 0"),
        (8, 3, "3 patches of 8 × 8 cells cover 32 × 32 pixels, got pictures of 23 × 29"),
        (24, 1, "must not be larger than the picture"),
    ],
)
def test_what_does_not_fit_is_refused(size, scales, message):
    with pytest.raises(ValueError, match=message):
        glimpse(pictures(), np.zeros((B, 2)), size, scales)


def test_the_density_is_that_of_the_textbook():
    rng = np.random.default_rng(1)
    sample, mean = rng.normal(size=(2, 7, 3, 2)).astype("float32")
    by_axis = np.exp(-((sample - mean.astype(float)) ** 2) / (2 * 0.3**2)) / np.sqrt(
        2 * np.pi * 0.3**2
    )
    found = as_numpy(normal_log_probability(sample, mean, 0.3))
    np.testing.assert_allclose(found, np.log(by_axis.prod(-1)), rtol=1e-4, atol=1e-4)
    # at the mean with σ = 1: −ln 2π
    assert float(normal_log_probability(np.zeros((1, 2)), np.zeros((1, 2)), 1.0)[0]) == (
        pytest.approx(-1.8378770664, rel=1e-6)
    )


def test_reinforce_agrees_with_enumeration_where_there_are_two_places():
    """Two places, one of which costs 1: the estimate is within 4 standard errors of the truth."""
    scores, costs = np.array([0.4, -0.3], "float32"), np.array([1.0, 0.0], "float32")
    shares = np.exp(scores.astype(float)) / np.exp(scores.astype(float)).sum()
    exact = shares * (costs - shares @ costs)
    count = 4001
    picks = np.random.default_rng(2).choice(2, size=count, p=shares)
    one_hot = np.eye(2, dtype="float32")[picks]
    for baseline in (0.0, 0.5):

        def loss(scores, baseline=baseline):
            weights = ops.softmax(scores, axis=-1)
            chosen = log_probability(ops.convert_to_tensor(one_hot), weights)
            return ops.sum(reinforce(ops.convert_to_tensor(costs[picks]), chosen, baseline))

        (slopes,) = gradient(loss, np.tile(scores, (count, 1)))
        errors = (slopes.mean(axis=0) - exact) / (slopes.std(axis=0) / np.sqrt(count))
        np.testing.assert_allclose(errors, 0, atol=4, err_msg=f"in its deviations, b = {baseline}")


def test_reinforce_of_a_gaussian_agrees_with_the_exact_gradient():
    """cost(l) = l_1, so that the mean cost is m_1, and its gradient (1, 0) whatever m is."""
    count, deviation = 4001, 0.3
    mean = np.tile(np.array([0.2, -0.1], "float32"), (count, 1))
    noise = np.random.default_rng(3).normal(0, deviation, (count, 2)).astype("float32")
    sample = ops.convert_to_tensor(mean + noise)

    def loss(mean):
        chosen = normal_log_probability(sample, mean, deviation)
        return ops.sum(reinforce(sample[:, 0], chosen, 0.2))

    (slopes,) = gradient(loss, mean)
    errors = (slopes.mean(axis=0) - [1, 0]) / (slopes.std(axis=0) / np.sqrt(count))
    np.testing.assert_allclose(errors, 0, atol=4, err_msg="in standard deviations")


def test_a_compiled_glimpse_is_the_same():
    locations = np.array([place(11, 13), place(7, 19)], "float32")
    x, where = keras.Input((H, W, C)), keras.Input((2,))
    model = keras.Model([x, where], glimpse(x, where, 4, 3))
    model.compile(jit_compile=keras.backend.backend() != "torch")
    found = model.predict([pictures(), locations], verbose=0)
    np.testing.assert_allclose(found, as_numpy(glimpse(pictures(), locations, 4, 3)), atol=1e-6)
