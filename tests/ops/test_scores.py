import numpy as np
from keras import ops

from keras_attention.ops import additive, scaled_dot

B, T, S, Q, K, UNITS = 2, 3, 5, 7, 11, 13


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def test_additive_equals_a_plain_loop_in_float64():
    query, keys = draw(B, T, Q), draw(B, S, K)
    w, u, v = draw(Q, UNITS), draw(K, UNITS), draw(UNITS)
    expected = np.zeros((B, T, S))
    for b, t, s in np.ndindex(B, T, S):
        hidden = np.tanh(query[b, t].astype(float) @ w + keys[b, s].astype(float) @ u)
        expected[b, t, s] = v.astype(float) @ hidden
    scores = ops.convert_to_numpy(additive(*map(ops.convert_to_tensor, (query, keys, w, u, v))))
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_additive_on_paper():
    # W = U = 1, v = 2: s = 2 tanh(q + k)
    one = ops.ones((1, 1))
    scores = additive(
        ops.ones((1, 1, 1)), ops.convert_to_tensor([[[0.0], [-1.0]]]), one, one, [2.0]
    )
    np.testing.assert_allclose(ops.convert_to_numpy(scores), [[[2 * np.tanh(1), 0]]], rtol=1e-6)


def test_scaled_dot_equals_float64():
    query, keys = draw(B, 7, T, K), draw(B, 7, S, K)
    expected = np.einsum("bhtk,bhsk->bhts", query.astype(float), keys.astype(float)) / np.sqrt(K)
    scores = ops.convert_to_numpy(scaled_dot(*map(ops.convert_to_tensor, (query, keys))))
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_scores_are_float32_in_half_precision():
    query, keys = (ops.cast(100 * draw(1, n, 512), "float16") for n in (T, S))
    scores = ops.convert_to_numpy(scaled_dot(query, keys))
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert abs(scores).max() > 2**12  # 512 products of 100²: a float16 sum would overflow
