"""Which dtype is computed in, and that the numbers are as exact as it allows."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.ops import (
    additive,
    cosine,
    dot,
    general,
    lookup,
    masked_softmax,
    scaled_dot,
    sinusoids,
)
from keras_attention.ops.precision import at_least, matmul, precise_dtype

B, T, S, K = 2, 3, 5, 7
in_64_bits = pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="JAX computes in 32 bits by default"
)


def draw(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def of_keras(function, *arrays):
    """Call a function with float64 tensors and return what it gives, which is float64 too."""
    found = function(*(ops.convert_to_tensor(x, "float64") for x in arrays))
    assert keras.backend.standardize_dtype(found.dtype) == "float64"
    return ops.convert_to_numpy(found)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def softmax(x):
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def test_half_precision_is_widened_and_numpy_does_not_count():
    half = ops.zeros((2,), dtype="float16")
    assert precise_dtype(half) == precise_dtype("bfloat16", half) == "float32"
    for numbers in (np.zeros(2), np.float64(1), [[3.6]], 2.5):
        assert precise_dtype(numbers) == "float32"
    assert precise_dtype(half, "float64") == "float64"


def test_numbers_below_the_bound_become_the_bound():
    found = at_least(ops.convert_to_tensor([-1.0, 0.5, 2.0]), 1.0)
    np.testing.assert_array_equal(ops.convert_to_numpy(found), [1.0, 1.0, 2.0])


@in_64_bits
def test_scores_weights_and_reads_of_float64_are_as_exact_as_float64():
    query, keys, kernel, v = draw(B, T, K), draw(B, S, K), draw(K, K), draw(K)
    products = query @ keys.swapaxes(1, 2)
    hidden = np.tanh((query @ kernel)[:, :, None] + (keys @ kernel)[:, None])
    pairs = [
        (of_keras(matmul, query, keys.swapaxes(1, 2)), products),
        (of_keras(dot, query, keys), products),
        (of_keras(scaled_dot, query, keys), products / np.sqrt(K)),
        (of_keras(cosine, query, keys), unit(query) @ unit(keys).swapaxes(1, 2)),
        (of_keras(general, query, keys, kernel), query @ kernel @ keys.swapaxes(1, 2)),
        (of_keras(additive, query, keys, kernel, kernel, v), hidden @ v),
        (of_keras(masked_softmax, products), softmax(products)),
        (of_keras(lambda *x: lookup(*x).read, products, keys), softmax(products) @ keys),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="guards against versions of JAX")
def test_a_compiled_sum_is_the_sum():
    import jax

    rows = ops.stack([ops.arange(32_769, dtype="float32")] * 3, axis=1)

    def squares(rows):
        return jax.vmap(lambda row: ops.sum((ops.eye(3) @ row) ** 2))(rows)

    np.testing.assert_allclose(jax.jit(squares)(rows), squares(rows), rtol=1e-6)


@in_64_bits
def test_positions_of_float64_are_as_exact_as_float64():
    positions = np.array([3.0, 997.0, 4999.0])
    angles = positions[:, None] / 10000 ** (np.arange(0, 14, 2) / 14)
    expected = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(3, 14)
    found = of_keras(lambda each: sinusoids(each, 14), positions)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
