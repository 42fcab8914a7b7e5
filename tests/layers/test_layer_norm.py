"""The layer norm of the Transformers, against NumPy in float64 and against Keras'."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.kernels import gradients_written_out
from keras_attention.layers.layer_norm import LayerNormalization
from tests.numerics import as_numpy, assert_close, gradients

EPSILON = 0.1  # large, so that a gradient without it would be wrong
RNG = np.random.default_rng(0)
FLOAT64 = [] if keras.backend.backend() == "jax" else ["float64"]  # which JAX does not have
by_kernel_or_not = pytest.mark.parametrize("written_out", [False, True])
X, UPSTREAM = RNG.normal(1, 2, (2, 3, 4, 5)), RNG.normal(size=(3, 4, 5))


def stirred(dtype=None, **options):
    """Return the layer with weights of which none is 0 or 1."""
    layer = LayerNormalization(epsilon=EPSILON, dtype=dtype, **options)
    layer.build(X.shape)
    layer.set_weights([RNG.normal(0.5, 1, each.shape) for each in layer.get_weights()])
    return layer


def by_definition(x, gamma, beta):
    deviation = np.sqrt(x.var(-1, keepdims=True) + EPSILON)
    return gamma * (x - x.mean(-1, keepdims=True)) / deviation + beta


def slopes(function, x, step=1e-6):
    """Return the gradient of a scalar function by central differences, in float64."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        change = np.zeros_like(x)
        change[place] = step
        found[place] = (function(x + change) - function(x - change)) / (2 * step)
    return found


@by_kernel_or_not
def test_values_and_gradients_are_those_of_the_definition(written_out):
    layer, x = stirred(), X[0]
    upstream = ops.convert_to_tensor(UPSTREAM, "float32")
    weights = gamma, beta = [each.astype("float64") for each in layer.get_weights()]
    with gradients_written_out(written_out):
        assert_close(layer(x), by_definition(x, *weights), 1e-6)
        (of_x,), of_weights = gradients(layer, lambda x: ops.sum(layer(x) * upstream), x)
    expected = slopes(lambda x: (by_definition(x, *weights) * UPSTREAM).sum(), x)
    assert_close(of_x, expected, 1e-5)
    expected = slopes(lambda gamma: (by_definition(x, gamma, beta) * UPSTREAM).sum(), gamma)
    of_gamma, of_beta = of_weights.values()
    assert_close(of_gamma, expected, 1e-5)
    assert_close(of_beta, UPSTREAM.sum((0, 1)), 1e-5)


@by_kernel_or_not
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16", *FLOAT64])
def test_the_numbers_are_those_of_keras_in_every_precision(dtype, written_out):
    layer, theirs = stirred(dtype), keras.layers.LayerNormalization(epsilon=EPSILON, dtype=dtype)
    theirs.build(X.shape)
    theirs.set_weights(layer.get_weights())
    with gradients_written_out(written_out):
        found, expected = layer(X), theirs(X)
    assert found.dtype == expected.dtype
    assert_close(found, as_numpy(expected), 1e-6)


@by_kernel_or_not
@pytest.mark.parametrize("options", [{"axis": [-2, -1]}, {"center": False}, {"scale": False}])
def test_it_has_the_options_of_keras(options, written_out):
    layer = stirred(**options)
    theirs = keras.layers.LayerNormalization(epsilon=EPSILON, **options)
    theirs.build(X.shape)
    theirs.set_weights(layer.get_weights())
    with gradients_written_out(written_out):
        assert_close(layer(X), as_numpy(theirs(X)), 1e-6)


@by_kernel_or_not
def test_a_row_that_is_the_same_everywhere_becomes_the_shift(written_out):
    layer = stirred()
    with gradients_written_out(written_out):
        (of_x,), _ = gradients(layer, lambda x: ops.sum(layer(x) ** 2), np.full((1, 1, 5), 7.0))
        assert_close(layer(np.full((1, 1, 5), 7.0))[0, 0], layer.get_weights()[1], 1e-5)
    assert np.isfinite(of_x).all()


@by_kernel_or_not
def test_it_takes_no_sentences(written_out):
    with gradients_written_out(written_out):
        assert tuple(stirred()(np.ones((0, 3, 5))).shape) == (0, 3, 5)


def test_it_is_loaded_as_it_was_saved(tmp_path):
    layer = stirred(name="norm")
    inputs = keras.Input((None, 5))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded.get_layer("norm")) is LayerNormalization
    assert_close(loaded(X[0]), as_numpy(layer(X[0])), 1e-6)
