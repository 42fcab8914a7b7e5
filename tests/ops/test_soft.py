import numpy as np
from keras import ops

from keras_attention.ops import dot, lookup, retrieve
from tests.contract import MASK
from tests.numerics import assert_close

B, T, S, D, WIDTH = 2, 3, 5, 7, 11


def test_a_certain_lookup_returns_the_row():
    values = np.arange(B * S * D, dtype="float32").reshape(B, S, D)
    wanted = np.array([[4, 0, 2], [1, 1, 3]])
    scores = 100 * np.eye(S, dtype="float32")[wanted]
    found = lookup(ops.convert_to_tensor(scores), ops.convert_to_tensor(values))
    for b, t in np.ndindex(B, T):
        np.testing.assert_allclose(
            ops.convert_to_numpy(found.read)[b, t], values[b, wanted[b, t]], atol=1e-6
        )


def test_equal_scores_read_the_mean_of_what_is_seen():
    values = np.random.default_rng(0).normal(size=(B, S, D)).astype("float32")
    mask = np.array([[True, True, False, False, False], [True, True, True, True, False]])
    read, weights, _ = lookup(
        ops.zeros((B, T, S)), ops.convert_to_tensor(values), ops.convert_to_tensor(mask)
    )
    expected = [values[0, :2].mean(0), values[1, :4].mean(0)]
    for t in range(T):
        np.testing.assert_allclose(ops.convert_to_numpy(read)[:, t], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(weights)[0, 0], [0.5, 0.5, 0, 0, 0], rtol=1e-6)


def test_nothing_to_look_at_reads_zero():
    mask = ops.convert_to_tensor([[False] * S, [True] * S])
    read, weights, _ = lookup(ops.ones((B, T, S)), ops.ones((B, S, D)), mask)
    np.testing.assert_array_equal(ops.convert_to_numpy(read)[0], 0)
    np.testing.assert_array_equal(ops.convert_to_numpy(weights)[0], 0)
    np.testing.assert_allclose(ops.convert_to_numpy(read)[1], 1, rtol=1e-6)


def test_the_read_keeps_the_dtype_of_the_values_and_the_weights_are_float32():
    read, weights, scores = lookup(ops.ones((B, T, S)), ops.ones((B, S, D), dtype="bfloat16"))
    assert "bfloat16" in str(read.dtype)
    assert "float32" in str(weights.dtype)
    assert "float32" in str(scores.dtype)


def lookup64(scores, values, mask):
    """The oracle: one query at a time, in float64."""
    weights = np.zeros(scores.shape)
    for b, t in np.ndindex(scores.shape[:2]):
        shares = [np.exp(s) if seen else 0 for s, seen in zip(scores[b, t], mask[b], strict=True)]
        weights[b, t] = np.array(shares) / sum(shares)
    return weights @ values.astype(float), weights


def test_lookup_equals_a_loop():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(B, T, S)).astype("float32")
    values = rng.normal(size=(B, S, D)).astype("float32")
    expected, expected_weights = lookup64(scores.astype(float), values, MASK)
    read, weights, kept = lookup(*map(ops.convert_to_tensor, (scores, values, MASK)))
    assert_close(read, expected)
    assert_close(weights, expected_weights)
    np.testing.assert_array_equal(ops.convert_to_numpy(kept), scores)


def test_lookup_keeps_the_heads_apart():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(B, 13, T, S)).astype("float32")
    values = rng.normal(size=(B, 13, S, D)).astype("float32")
    read, weights, _ = lookup(*map(ops.convert_to_tensor, (scores, values, MASK)))
    for h in range(13):
        expected, expected_weights = lookup64(scores[:, h].astype(float), values[:, h], MASK)
        assert_close(read[:, h], expected)
        assert_close(weights[:, h], expected_weights)


def patterns(seed=0):
    """Random signs, WIDTH of them."""
    return np.random.default_rng(seed).choice([-1.0, 1.0], (B, S, WIDTH)).astype("float32")


def test_one_step_of_retrieval_is_one_lookup():
    stored, query = patterns(), np.random.default_rng(1).normal(size=(B, T, WIDTH))
    stored, query, mask = map(ops.convert_to_tensor, (stored, query.astype("float32"), MASK))
    found = retrieve(query, stored, strength=0.7, mask=mask)
    expected = lookup(0.7 * dot(query, stored), stored, mask)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(one), ops.convert_to_numpy(other))


def test_three_steps_equal_a_loop_and_the_last_reads_the_values():
    rng = np.random.default_rng(1)
    stored, values = patterns(), rng.normal(size=(B, S, D)).astype("float32")
    query = rng.normal(size=(B, T, WIDTH)).astype("float32")
    state = query.astype(float)
    for _ in range(2):
        state, _ = lookup64(0.2 * state @ stored.swapaxes(1, 2), stored, MASK)
    expected, expected_weights = lookup64(0.2 * state @ stored.swapaxes(1, 2), values, MASK)
    query, stored, values, mask = map(ops.convert_to_tensor, (query, stored, values, MASK))
    read, weights, _ = retrieve(query, stored, values, strength=0.2, steps=3, mask=mask)
    assert_close(read, expected)
    assert_close(weights, expected_weights)


def test_a_stored_pattern_is_a_fixed_point():
    stored = ops.convert_to_tensor(patterns())
    read = retrieve(stored, stored, strength=8.0, steps=7).read
    np.testing.assert_allclose(ops.convert_to_numpy(read), patterns(), atol=1e-5)


def test_a_half_zeroed_pattern_is_retrieved():
    # signs that differ in several of the places that are left
    stored = np.random.default_rng(0).choice([-1.0, 1.0], (1, S, 64)).astype("float32")
    broken = stored.copy()
    broken[..., 32:] = 0
    read = retrieve(*map(ops.convert_to_tensor, (broken, stored)), strength=1.0, steps=3).read
    np.testing.assert_allclose(ops.convert_to_numpy(read), stored, atol=1e-4)


def test_a_weak_strength_ends_at_the_mean_of_the_patterns():
    stored = patterns()
    read = retrieve(*map(ops.convert_to_tensor, (stored, stored)), strength=1e-6, steps=5).read
    expected = np.repeat(stored.mean(1, keepdims=True), S, axis=1)
    np.testing.assert_allclose(ops.convert_to_numpy(read), expected, atol=1e-4)
