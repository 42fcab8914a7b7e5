import numpy as np
import pytest
from keras import ops

from keras_attention.layers import (
    ContextSensitiveMemory,
    MonotonicLocalAttention,
    PredictiveLocalAttention,
)
from tests.contract import MASK, B, K, Q, S, T
from tests.numerics import as_numpy, assert_close, gradients_of_weights

D, UNITS = 17, 13


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


INPUTS = draw(B, T, Q), draw(B, S, K), draw(B, S, D)


def ask(layer, query, keys, values, mask=MASK):
    query, keys, values = map(ops.convert_to_tensor, (query, keys, values))
    read, weights = layer(
        query,
        values,
        keys,
        attention_mask=ops.convert_to_tensor(mask),
        return_attention_scores=True,
    )
    return as_numpy(read), as_numpy(weights)


def oracle(layer, inputs, mask, centre, favour=None):
    """The general score, the window of one query, its softmax and Gaussian, in float64."""
    query, keys, values = (x.astype(float) for x in inputs)
    w = as_numpy(layer.score.kernel).astype(float)
    weights = np.zeros((B, query.shape[1], S))
    for b, t in np.ndindex(weights.shape[:2]):
        place = centre(b, t, mask[b].sum())
        near = [s for s in range(S) if mask[b, s] and abs(s - place) <= layer.half_width]
        favoured = {
            s: np.exp(-((s - place) ** 2) / (2 * (layer.half_width / 2) ** 2)) for s in near
        }
        scores = {s: query[b, t] @ w @ keys[b, s] for s in near}
        if favour == "scores":
            scores = {s: scores[s] * favoured[s] for s in near}
        total = sum(np.exp(score) for score in scores.values())
        for s in near:
            after = favoured[s] if favour == "weights" else 1
            weights[b, t, s] = np.exp(scores[s]) / total * after
    return weights @ values, weights


@pytest.mark.parametrize("half_width", [1, 2, 0.5])
def test_monotonic_windows_equal_a_loop(half_width):
    layer = MonotonicLocalAttention(half_width, "general")
    read, weights = ask(layer, *INPUTS)
    expected, expected_weights = oracle(
        layer, INPUTS, MASK, lambda b, t, length: min(t, length - 1)
    )
    assert_close(weights, expected_weights)
    assert_close(read, expected)


def test_queries_beyond_the_end_look_at_the_last_words():
    layer = MonotonicLocalAttention(1, "general")
    inputs = draw(B, 7, Q), *INPUTS[1:]
    _, weights = ask(layer, *inputs)
    _, expected = oracle(layer, inputs, MASK, lambda b, t, length: min(t, length - 1))
    assert_close(weights, expected)
    assert (weights[0, 3:, 1:3] > 0).all()  # a sentence of three words


def test_step_by_step_the_window_moves_on():
    layer = MonotonicLocalAttention(1, "general")
    reads, weights = ask(layer, *INPUTS)
    query, keys, values = map(ops.convert_to_tensor, INPUTS)
    memory = layer.project_memory(values, keys, ops.convert_to_tensor(MASK))
    state = layer.initial_state(memory.mask)
    for t in range(T):
        read, alpha, state = layer.attend(query[:, t : t + 1], memory, state)
        assert_close(read[:, 0], reads[:, t])
        assert_close(alpha[:, 0], weights[:, t])


@pytest.mark.parametrize("units", [UNITS, 1])
@pytest.mark.parametrize("favour", ["weights", "scores"])
def test_predicted_windows_equal_a_loop(favour, units):
    layer = PredictiveLocalAttention(2, "general", units, favour)
    read, weights = ask(layer, *INPUTS)
    w, v = (as_numpy(x).astype(float) for x in (layer.position_kernel, layer.position_v))

    def centre(b, t, length):
        return length / (1 + np.exp(-v @ np.tanh(INPUTS[0][b, t].astype(float) @ w)))

    expected, expected_weights = oracle(layer, INPUTS, MASK, centre, favour)
    assert_close(weights, expected_weights)
    assert_close(read, expected)
    sums = weights.sum(-1)
    if favour == "weights":
        assert sums.max() < 1
    else:
        np.testing.assert_allclose(sums, 1, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda width: MonotonicLocalAttention(width, "general"),
        lambda width: PredictiveLocalAttention(width, "general"),
        lambda width: PredictiveLocalAttention(width, "general", favour="scores"),
    ],
)
def test_a_window_without_end_is_global_attention(make):
    layer, memory = make(1e6), ContextSensitiveMemory("general")
    ask(layer, *INPUTS), ask(memory, *INPUTS)
    memory.score.set_weights(layer.score.get_weights())
    for one, other in zip(ask(layer, *INPUTS), ask(memory, *INPUTS), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(("favour", "learns"), [("weights", True), ("scores", True)])
def test_the_position_is_learned_through_the_gaussian(favour, learns):
    layer = PredictiveLocalAttention(3, "general", UNITS, favour)
    ask(layer, *INPUTS)
    tensors = [ops.convert_to_tensor(INPUTS[place]) for place in (0, 2, 1)]
    slopes = gradients_of_weights(layer, lambda: ops.sum(ops.square(layer(*tensors))))
    for path, slope in slopes.items():
        assert np.isfinite(slope).all()
        assert (slope != 0).any() == learns, path


def test_an_empty_window_reads_zero():
    # all queries predict half of the length, 2.5, and nothing lies within 0.3 of it
    layer = PredictiveLocalAttention(0.3, "general")
    inputs = np.zeros((B, T, Q), "float32"), *INPUTS[1:]
    read, weights = ask(layer, *inputs, mask=np.ones((B, S), dtype=bool))
    np.testing.assert_array_equal(weights, 0)
    np.testing.assert_array_equal(read, 0)


def test_the_predicted_position_is_a_share_of_the_words_and_not_of_the_padding():
    # half of 4 words is position 2, half of 2 words position 1
    layer = PredictiveLocalAttention(0.4, "general")
    mask = np.array([[True] * 4 + [False], [True] * 2 + [False] * 3])
    _, weights = ask(layer, np.zeros((B, T, Q), "float32"), *INPUTS[1:], mask=mask)
    assert (weights[0] == np.eye(S)[2]).all()
    assert (weights[1] == np.eye(S)[1]).all()


@pytest.mark.parametrize("make", [MonotonicLocalAttention, PredictiveLocalAttention])
@pytest.mark.parametrize("half_width", [0, -3])
def test_a_window_without_width_is_refused(make, half_width):
    with pytest.raises(ValueError, match=f"half_width must be positive, got {half_width}"):
        make(half_width)


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="favour must be one of weights, scores, got 'both'"):
        PredictiveLocalAttention(favour="both")
    with pytest.raises(ValueError, match="units must be a positive integer, got 0"):
        PredictiveLocalAttention(units=0)
