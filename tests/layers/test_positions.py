import re

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import LearnedPositions, SinusoidalPositions
from keras_attention.ops import sinusoids
from tests.numerics import as_numpy, assert_close, gradients_of_weights

B, T, D, LENGTH = 2, 5, 14, 11

LAYERS = {
    "interleaved": SinusoidalPositions,
    "concatenated": lambda **kwargs: SinusoidalPositions("concatenated", **kwargs),
    "learned": lambda **kwargs: LearnedPositions(LENGTH, **kwargs),
}
each_layer = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)


def tokens():
    return np.random.default_rng(0).normal(size=(B, T, D)).astype("float32")


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_sinusoids_are_added_to_the_tokens(layout):
    x = tokens()
    expected = x.astype(float) + as_numpy(sinusoids(np.arange(T), D, layout))
    assert_close(SinusoidalPositions(layout)(x), expected)


def test_the_layout_of_the_paper_is_the_default():
    x = tokens()
    np.testing.assert_array_equal(
        as_numpy(SinusoidalPositions()(x)), as_numpy(SinusoidalPositions("interleaved")(x))
    )


def test_learned_positions_are_rows_of_a_table():
    layer = LearnedPositions(LENGTH)
    x = tokens()
    layer(x)
    table = np.arange(LENGTH * D, dtype="float32").reshape(LENGTH, D)
    layer.set_weights([table])
    assert_close(layer(x), x.astype(float) + table[:T])


def test_only_positions_that_occur_are_learned():
    layer = LearnedPositions(LENGTH)
    x = tokens()
    layer(x)
    (slope,) = gradients_of_weights(
        layer, lambda: ops.sum(layer(ops.convert_to_tensor(x)))
    ).values()
    np.testing.assert_array_equal(slope, np.repeat([[B], [0]], [T, LENGTH - T], 0) * np.ones(D))


@each_layer
def test_a_part_of_a_sentence_goes_on_where_the_part_before_ended(make):
    layer, x = make(), np.zeros((B, LENGTH, D), "float32")
    whole = as_numpy(layer(x))
    parts = [
        as_numpy(layer(x[:, start:end], start=np.full(B, start, "int32")))
        for start, end in ((0, 2), (2, 3), (3, LENGTH))
    ]
    assert_close(np.concatenate(parts, axis=1), whole)


@each_layer
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_each_sentence_starts_at_a_position_of_its_own(make, dtype):
    layer = make()
    whole = as_numpy(layer(np.zeros((1, LENGTH, D), "float32")))[0]
    shifted = layer(np.zeros((B, T, D), "float32"), start=np.array([6, 3], dtype))
    assert_close(shifted, [whole[6:], whole[3 : 3 + T]])


def test_more_tokens_than_learned_positions():
    layer = LearnedPositions(LENGTH)
    long = np.zeros((B, LENGTH + 1, D), "float32")
    expected = "11 learned positions, got a sentence of 12 tokens; build the model with more"
    for x in (long, keras.Input(long.shape[1:])):
        with pytest.raises(ValueError, match=expected):
            layer(x)
    assert layer(long[:, 1:]).shape == (B, LENGTH, D)


@each_layer
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_positions_are_exact_in_mixed_precision(make, policy):
    """What is added was computed in float32 and rounded once."""
    start = np.array([997, 2003]) if make is not LAYERS["learned"] else np.array([6, 3])
    x = np.zeros((B, T, D), "float32")
    exact, layer = make(), make(dtype=keras.DTypePolicy(policy))
    exact(x), layer(x)
    layer.set_weights(exact.get_weights())
    rounded = layer(x, start=start)
    dtype = policy.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(rounded.dtype) == dtype
    expected = ops.cast(exact(x, start=start), dtype)
    np.testing.assert_array_equal(as_numpy(rounded), as_numpy(expected))


class SeenMask(keras.layers.Layer):
    """Returns the mask that Keras hands to it."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True

    def call(self, x, mask=None):
        return mask


@each_layer
def test_an_implicit_mask_is_passed_on(make):
    embedded = keras.layers.Embedding(3, D, mask_zero=True)(np.array([[1, 2, 0]]))
    assert as_numpy(SeenMask()(make()(embedded))).tolist() == [[1, 1, 0]]


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="length must be a positive integer, got 0"):
        LearnedPositions(0)
    with pytest.raises(ValueError, match="one of interleaved, concatenated, got 'sideways'"):
        SinusoidalPositions("sideways")
    with pytest.raises(ValueError, match=re.escape("width must be even and positive")):
        SinusoidalPositions()(np.zeros((B, T, 5), "float32"))


@pytest.mark.parametrize("make", [SinusoidalPositions, lambda: LearnedPositions(9)])
@pytest.mark.parametrize("shape", [(4, 4), (1, 2, 2, 4)])
def test_other_ranks_are_refused(make, shape):
    for x in (ops.zeros(shape), keras.KerasTensor(shape)):
        with pytest.raises(ValueError, match=re.escape(f"must have shape (B, T, D), got {shape}")):
            make()(x)


def test_beyond_the_learned_positions_comes_the_last_one_again():
    layer = LearnedPositions(4)
    found = as_numpy(layer(np.zeros((1, 3, 5), "float32"), start=np.array([2])))[0]
    np.testing.assert_array_equal(found[1:], as_numpy(layer.table)[[3, 3]])


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX computes in 32 bits by default")
def test_sinusoids_are_as_exact_as_the_precision_of_the_layer():
    layer = SinusoidalPositions(dtype="float64")
    found = ops.convert_to_numpy(layer(ops.zeros((1, 1, D), "float64"), start=np.array([4999])))
    angles = 4999 / 10000 ** (np.arange(0, D, 2) / D)
    expected = np.stack([np.sin(angles), np.cos(angles)], axis=-1).ravel()
    np.testing.assert_allclose(found[0, 0], expected, rtol=0, atol=1e-11)
