import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.ops import (
    additive,
    concat,
    cosine,
    dot,
    general,
    location,
    location_mask,
    masked_softmax,
    scaled_dot,
    two_layer,
)
from tests.contract import B, K, Q, S, T
from tests.numerics import as_numpy, assert_close, gradient

H, UNITS = 19, 13


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def loop(score, query, keys):
    """The oracle: one pair of vectors at a time, in float64."""
    scores = np.zeros((*query.shape[:-1], keys.shape[-2]))
    for *batch, t, s in np.ndindex(scores.shape):
        scores[(*batch, t, s)] = score(
            query[(*batch, t)].astype(float), keys[(*batch, s)].astype(float)
        )
    return scores


def score_of(function, *arrays):
    return function(*map(ops.convert_to_tensor, arrays))


@pytest.mark.parametrize("heads", [(), (H,)])
def test_dot_equals_a_loop(heads):
    query, keys = draw(B, *heads, T, K), draw(B, *heads, S, K)
    assert_close(score_of(dot, query, keys), loop(lambda q, k: q @ k, query, keys))


@pytest.mark.parametrize("heads", [(), (H,)])
def test_scaled_dot_equals_a_loop(heads):
    query, keys = draw(B, *heads, T, K), draw(B, *heads, S, K)
    expected = loop(lambda q, k: q @ k / np.sqrt(K), query, keys)
    assert_close(score_of(scaled_dot, query, keys), expected)


def test_cosine_equals_a_loop():
    query, keys = draw(B, T, K), draw(B, S, K)
    expected = loop(lambda q, k: 3 * (q @ k) / np.linalg.norm(q) / np.linalg.norm(k), query, keys)
    assert_close(cosine(*map(ops.convert_to_tensor, (query, keys)), strength=3.0), expected)


def test_general_equals_a_loop():
    query, keys, w = draw(B, T, Q), draw(B, S, K), draw(Q, K)
    assert_close(score_of(general, query, keys, w), loop(lambda q, k: q @ w @ k, query, keys))


def test_concat_equals_a_loop():
    query, keys, w, v = draw(B, T, Q), draw(B, S, K), draw(Q + K, UNITS), draw(UNITS)
    expected = loop(lambda q, k: v @ np.tanh(np.concatenate([q, k]) @ w), query, keys)
    assert_close(score_of(concat, query, keys, w, v), expected)


def test_additive_equals_a_loop():
    query, keys = draw(B, T, Q), draw(B, S, K)
    w, u, v = draw(Q, UNITS), draw(K, UNITS), draw(UNITS)
    expected = loop(lambda q, k: v @ np.tanh(q @ w + k @ u), query, keys)
    assert_close(score_of(additive, query, keys, w, u, v), expected)


def test_two_layer_equals_a_loop():
    query, keys, w, v = draw(B, T, Q), draw(B, S, K), draw(Q + K, UNITS), draw(UNITS)
    bias, output_bias = draw(UNITS, seed=1), np.float32(0.7)
    expected = loop(
        lambda q, k: v @ np.tanh(np.concatenate([q, k]) @ w + bias) + output_bias, query, keys
    )
    assert_close(score_of(two_layer, query, keys, w, bias, v, output_bias), expected)


def test_location_takes_a_column_for_each_position():
    query, w = draw(B, T, Q), draw(Q, S)
    scores = location(ops.convert_to_tensor(query), ops.convert_to_tensor(w), S)
    assert_close(scores, query.astype(float) @ w)
    shorter = location(ops.convert_to_tensor(query), ops.convert_to_tensor(w), 2)
    assert_close(shorter, query.astype(float) @ w[:, :2])


def test_positions_beyond_the_longest_memory_get_no_weight():
    query, w = draw(B, T, Q), draw(Q, 3)
    scores = location(ops.convert_to_tensor(query), ops.convert_to_tensor(w), S)
    weights = as_numpy(masked_softmax(scores, location_mask(S, 3)))
    np.testing.assert_array_equal(weights[..., 3:], 0)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
    assert (abs(as_numpy(scores)) < 100).all()  # no number stands for "out of reach"


def test_additive_on_paper():
    # W = U = 1, v = 2: s = 2 tanh(q + k)
    one = ops.ones((1, 1))
    scores = additive(
        ops.ones((1, 1, 1)), ops.convert_to_tensor([[[0.0], [-1.0]]]), one, one, [2.0]
    )
    np.testing.assert_allclose(as_numpy(scores), [[[2 * np.tanh(1), 0]]], rtol=1e-6)


def test_concat_of_two_stacked_kernels_is_additive():
    query, keys = draw(B, T, Q), draw(B, S, K)
    w, u, v = draw(Q, UNITS), draw(K, UNITS), draw(UNITS)
    stacked = score_of(concat, query, keys, np.concatenate([w, u]), v)
    np.testing.assert_array_equal(
        as_numpy(stacked), as_numpy(score_of(additive, query, keys, w, u, v))
    )


def test_general_with_the_identity_is_dot_and_scaled_by_the_root_scaled_dot():
    query, keys, one = draw(B, T, K), draw(B, S, K), np.eye(K, dtype="float32")
    assert_close(score_of(general, query, keys, one), as_numpy(score_of(dot, query, keys)))
    assert_close(
        score_of(general, query, keys, one / np.float32(np.sqrt(K))),
        as_numpy(score_of(scaled_dot, query, keys)),
    )


def test_two_layer_without_biases_is_concat():
    query, keys, w, v = draw(B, T, Q), draw(B, S, K), draw(Q + K, UNITS), draw(UNITS)
    zeros = np.zeros(UNITS, dtype="float32")
    scores = score_of(two_layer, query, keys, w, zeros, v, np.float32(0))
    np.testing.assert_array_equal(as_numpy(scores), as_numpy(score_of(concat, query, keys, w, v)))


def test_cosine_sees_the_angle_and_not_the_length():
    # (1, 2) and (2, 4) are parallel, (2, -1) is orthogonal, (-1, -2) opposite
    query = ops.convert_to_tensor([[[1.0, 2.0]]])
    keys = ops.convert_to_tensor([[[2.0, 4.0], [2.0, -1.0], [-1.0, -2.0], [300.0, 600.0]]])
    np.testing.assert_allclose(as_numpy(cosine(query, keys)), [[[1, 0, -1, 1]]], atol=1e-6)


@pytest.mark.parametrize(
    ("length", "expected"), [(1e-2, 1), (1.1e-3, 1), (5e-4, 0.25), (1e-5, 1e-4)]
)
def test_the_cosine_of_a_vector_with_itself_fades_where_it_is_shorter_than_a_thousandth(
    length, expected
):
    vector = np.array([[[0.6, -0.8]]]) * length
    assert_close(score_of(cosine, vector, vector), [[[expected]]])


def test_cosine_of_the_published_cases():
    # The cosine of (1, 2), (3, 4), (5, 6) with one another, as in the test of DeepMind's dnc.
    rows = np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]], dtype="float32")
    expected = loop(lambda q, k: q @ k / np.sqrt((q @ q) * (k @ k)), rows, rows)
    assert_close(score_of(cosine, rows, rows), expected)


@pytest.mark.parametrize("zero", ["query", "keys", "both"])
def test_cosine_of_a_zero_vector_is_zero_with_a_finite_gradient(zero):
    query, keys = draw(B, T, K), draw(B, S, K)
    query = 0 * query if zero != "keys" else query
    keys = 0 * keys if zero != "query" else keys
    np.testing.assert_array_equal(as_numpy(score_of(cosine, query, keys)), 0)
    for value in gradient(lambda q, k: ops.sum(ops.square(cosine(q, k) - 1)), query, keys):
        assert np.isfinite(value).all()
        np.testing.assert_allclose(value, 0, atol=1e4)  # not the 1e7 and more of a tiny epsilon


def test_cosines_lie_between_minus_and_plus_strength():
    query, keys = 1e4 * draw(B, T, K), 1e-4 * draw(B, S, K)
    scores = as_numpy(cosine(*map(ops.convert_to_tensor, (query, keys)), strength=5.0))
    np.testing.assert_allclose(scores, 0, atol=5 * (1 + 1e-6))


WIDE = 512
HALF = {
    "dot": (dot, []),
    "scaled_dot": (scaled_dot, []),
    "cosine": (cosine, []),
    # the projections themselves fit into a float16, as those of a dense layer do
    "general": (general, [draw(WIDE, WIDE) / WIDE**0.5]),
    "concat": (concat, [draw(2 * WIDE, UNITS) / WIDE**0.5, draw(UNITS)]),
    "additive": (
        additive,
        [draw(WIDE, UNITS) / WIDE**0.5, draw(WIDE, UNITS, seed=1) / WIDE**0.5, draw(UNITS)],
    ),
    "two_layer": (
        two_layer,
        [draw(2 * WIDE, UNITS) / WIDE**0.5, draw(UNITS), draw(UNITS), np.float32(1)],
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALF)
def test_large_inputs_of_half_precision_give_finite_float32_scores(name, dtype):
    score, weights = HALF[name]
    query, keys = (ops.cast(1000 * draw(1, n, WIDE), dtype) for n in (T, S))
    scores = score(query, keys, *(ops.cast(w, dtype) for w in weights))
    assert keras.backend.standardize_dtype(scores.dtype) == "float32"
    assert np.isfinite(as_numpy(scores)).all()
    if name in ("dot", "scaled_dot", "general"):
        assert abs(as_numpy(scores)).max() > 2**16  # a float16 sum would overflow
