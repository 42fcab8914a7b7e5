import numpy as np
import pytest
from keras import ops

from keras_attention.layers import ContextSensitiveMemory, Hopfield
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close

D = 17


def draw(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype("float32")


def oracle(query, patterns, values, mask, strength, steps):
    """ξ ← Xᵀ softmax(β X ξ), one query at a time, in float64."""
    reads, weights = np.zeros((B, T, values.shape[-1])), np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        stored, state = patterns[b].astype(float)[mask[b]], query[b, t].astype(float)
        for _ in range(steps):
            shares = np.exp(strength * stored @ state)
            shares /= shares.sum()
            state = stored.T @ shares
        reads[b, t] = shares @ values[b].astype(float)[mask[b]]
        weights[b, t, mask[b]] = shares
    return reads, weights


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_equals_a_loop(steps):
    query, patterns, values = draw(B, T, K), draw(B, S, K), draw(B, S, D)
    read, weights = Hopfield(0.3, steps)(
        *map(ops.convert_to_tensor, (query, values, patterns)),
        attention_mask=ops.convert_to_tensor(MASK),
        return_attention_scores=True,
    )
    expected, expected_weights = oracle(query, patterns, values, MASK, 0.3, steps)
    # each step enlarges the rounding of the one before by about β ‖X‖²
    assert_close(weights, expected_weights, 1e-6 if steps == 1 else 3e-6)
    assert_close(read, expected, 1e-6 if steps == 1 else 3e-6)


def test_one_step_is_a_lookup_in_a_memory():
    query, patterns = draw(B, T, K), draw(B, S, K)
    memory = ContextSensitiveMemory("dot", temperature=1 / 0.5)
    for one, other in zip(
        call(Hopfield(0.5, 1), query, patterns, MASK),
        call(memory, query, patterns, MASK),
        strict=True,
    ):
        assert_close(one, other)


def test_half_a_pattern_retrieves_the_whole_one():
    stored = np.random.default_rng(0).choice([-1.0, 1.0], (1, S, 64)).astype("float32")
    broken = stored.copy()
    broken[..., 32:] = 0
    read, weights = call(Hopfield(1.0, 3), broken, stored, None)
    np.testing.assert_allclose(read, stored, atol=1e-4)
    np.testing.assert_allclose(weights[0], np.eye(S), atol=1e-4)


def test_a_stored_pattern_stays_what_it_is():
    stored = np.random.default_rng(0).choice([-1.0, 1.0], (1, S, 64)).astype("float32")
    np.testing.assert_allclose(call(Hopfield(1.0, 7), stored, stored, None)[0], stored, atol=1e-5)


def test_it_has_nothing_to_learn():
    layer = Hopfield()
    call(layer, draw(B, T, K), draw(B, S, K), MASK)
    assert layer.weights == []


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="strength and steps must be positive, got 0 and 3"):
        Hopfield(0)
    with pytest.raises(ValueError, match=r"got 1\.0 and 0"):
        Hopfield(1.0, 0)
    with pytest.raises(ValueError, match=r"the same width, got.*\(2, 3, 7\).*\(2, 5, 11\)"):
        Hopfield()(draw(B, T, Q), draw(B, S, K))


def test_a_single_query_is_completed():
    query, patterns = draw(B, T, K), draw(B, S, K)
    reads, _ = call(Hopfield(0.3, 3), query, patterns, MASK)
    read, weights = call(Hopfield(0.3, 3), query[:, 1], patterns, MASK)
    assert weights.shape == (B, S, 1)
    assert_close(as_numpy(read), reads[:, 1], 2e-6)
