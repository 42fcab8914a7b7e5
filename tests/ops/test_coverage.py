import numpy as np
from keras import ops

from keras_attention.ops import (
    coverage,
    coverage_loss,
    gated_update,
    location_features,
    project,
    uniform_weights,
)
from tests.contract import MASK, B, S, T
from tests.numerics import as_numpy, assert_close

CHANNELS, TAPS = 13, 3


def some_weights():
    weights = np.random.default_rng(0).random((B, T, S))
    return (weights / weights.sum(-1, keepdims=True)).astype("float32")


def test_coverage_is_the_sum_of_what_came_before():
    weights = some_weights()
    expected = np.zeros((B, T, S))
    for t in range(T):
        for before in range(t):
            expected[:, t] += weights[:, before]
    # the sum of all minus the last: rounding of a number near 1
    assert_close(coverage(ops.convert_to_tensor(weights)), expected)
    np.testing.assert_array_equal(as_numpy(coverage(ops.convert_to_tensor(weights)))[:, 0], 0)


def test_coverage_loss_equals_a_loop():
    weights = some_weights()
    expected = np.zeros((B, T))
    for b, t, s in np.ndindex(B, T, S):
        expected[b, t] += min(weights[b, t, s], weights[b, :t, s].astype(float).sum())
    assert_close(coverage_loss(ops.convert_to_tensor(weights)), expected)


def test_looking_again_costs_one_and_looking_elsewhere_nothing():
    # positions 2, 2, 4: only the second look is a repetition
    weights = np.eye(S, dtype="float32")[[2, 2, 4]][None]
    assert as_numpy(coverage_loss(ops.convert_to_tensor(weights))).tolist() == [[0, 1, 0]]


def test_uniform_weights_are_shared_by_what_may_be_seen():
    weights = as_numpy(uniform_weights(ops.convert_to_tensor(np.array([*MASK, [False] * S]))))
    np.testing.assert_allclose(weights, [[1 / 3] * 3 + [0] * 2, [1 / 5] * 5, [0] * 5], rtol=1e-6)


def test_location_features_are_a_correlation_that_sees_zeros_beyond_the_ends():
    weights = (some_weights()[:, 0] * MASK).astype("float32")
    kernel = np.random.default_rng(1).normal(size=(TAPS, 1, CHANNELS)).astype("float32")
    expected = np.zeros((B, S, CHANNELS))
    for b, s, tap in np.ndindex(B, S, TAPS):
        place = s + tap - TAPS // 2
        if 0 <= place < S and MASK[b, s]:
            expected[b, s] += weights[b, place].astype(float) * kernel[tap, 0]
    features = location_features(*map(ops.convert_to_tensor, (weights, kernel, MASK)))
    assert_close(features, expected)


def test_a_filter_of_one_tap_to_the_right_looks_one_position_ahead():
    weights = np.array([[0.1, 0.2, 0.3, 0.4, 0.0]], dtype="float32")
    kernel = np.array([0, 0, 1], dtype="float32").reshape(3, 1, 1)
    features = location_features(
        *map(ops.convert_to_tensor, (weights, kernel, np.ones((1, S), dtype=bool)))
    )
    np.testing.assert_allclose(as_numpy(features)[0, :, 0], [0.2, 0.3, 0.4, 0, 0], rtol=1e-6)


def test_the_gated_update_equals_a_loop_at_every_position():
    rng = np.random.default_rng(2)
    state, inputs = rng.normal(size=(B, S, 7)), rng.normal(size=(B, S, 3 * 7))
    kernel = rng.normal(size=(7, 3 * 7))
    state, inputs, kernel = (x.astype("float32") for x in (state, inputs, kernel))
    expected = np.zeros((B, S, 7))
    u_z, u_r, u_h = np.split(kernel.astype(float), 3, axis=1)
    for b, s in np.ndindex(B, S):
        h = state[b, s].astype(float)
        z, r, new = np.split(inputs[b, s].astype(float), 3)
        z, r = 1 / (1 + np.exp(-z - h @ u_z)), 1 / (1 + np.exp(-r - h @ u_r))
        expected[b, s] = z * h + (1 - z) * np.tanh(new + (r * h) @ u_h)
    assert_close(gated_update(*map(ops.convert_to_tensor, (state, inputs, kernel))), expected)


def test_an_open_update_gate_keeps_the_state_and_a_closed_one_forgets_it():
    state = np.random.default_rng(0).normal(size=(B, S, 2)).astype("float32")
    kernel = ops.zeros((2, 6))
    for gate, expected in ((50.0, state), (-50.0, np.full((B, S, 2), np.tanh(0.3)))):
        inputs = np.tile(np.array([gate, gate, 0, 0, 0.3, 0.3], "float32"), (B, S, 1))
        assert_close(gated_update(*map(ops.convert_to_tensor, (state, inputs)), kernel), expected)


def test_a_projection_is_the_same_matrix_at_every_position():
    rng = np.random.default_rng(3)
    kernel = rng.normal(size=(7, CHANNELS)).astype("float32")
    for axes in ((B,), (B, T), (B, T, S)):
        x = rng.normal(size=(*axes, 7)).astype("float32")
        expected = x.astype(float) @ kernel.astype(float)
        assert_close(project(*map(ops.convert_to_tensor, (x, kernel))), expected)
