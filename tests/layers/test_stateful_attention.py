"""Oracles: NumPy float64 ports of the published code, one query and one step at a time.

`AttLoc`, `AttCov` and `AttLocRec` of ESPnet with `scaling=1`, and the GRU of Tu et al. (2016).
"""

import numpy as np
import pytest
from keras import ops

from keras_attention.layers import (
    CoverageAttention,
    LocationAwareAttention,
    NeuralCoverageAttention,
    RecurrentLocationAttention,
)
from keras_attention.layers.scores import AdditiveScore
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close

D, UNITS, CHANNELS, TAPS, COVERAGE = 17, 13, 19, 3, 23
MAKE = {
    "coverage": lambda: CoverageAttention(UNITS),
    "neural_coverage": lambda: NeuralCoverageAttention(UNITS, COVERAGE),
    "location_aware": lambda: LocationAwareAttention(UNITS, CHANNELS, TAPS),
    "recurrent_location": lambda: RecurrentLocationAttention(UNITS, CHANNELS, TAPS),
}


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


INPUTS = draw(B, T, Q), draw(B, S, K), draw(B, S, D)


def filled(name):
    """Make a layer and give every weight, biases too, numbers of its own; and these as float64."""
    layer = MAKE[name]()
    layer.build(*(INPUTS[place].shape for place in (0, 2, 1)))
    rng = np.random.default_rng(1)
    layer.set_weights([rng.normal(0, 0.5, w.shape).astype("float32") for w in layer.weights])
    return layer, named(layer)


def named(layer):
    """Return the weights by name, float64; those of the cell beside those of the attention."""
    cell = getattr(layer, "cell", None)
    cells = [] if cell is None else cell.weights
    own = {w.name: w for w in layer.weights if not any(w is other for other in cells)}
    of_cell = {"cell_" + w.name: w for w in cells}
    return {name: as_numpy(w).astype(float) for name, w in {**own, **of_cell}.items()}


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


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def scores_of(w, query, keys, recalled):
    """vᵀ tanh(W q + U k_j + f_j + b) for the keys of one sentence."""
    return np.array(
        [
            np.tanh(query @ w["query_kernel"] + key @ w["key_kernel"] + w["bias"] + f) @ w["v"]
            for key, f in zip(keys, recalled, strict=True)
        ]
    )


def convolve(w, alpha):
    """Conv2d of ESPnet: a cross-correlation of the weights, 0 beyond both ends."""
    padded = np.pad(alpha, TAPS // 2)
    return np.array([padded[s : s + TAPS] @ w["filters"][:, 0] for s in range(len(alpha))])


class AttLoc:
    def __init__(self, w, length):
        self.w, self.alpha = w, np.full(length, 1 / length)

    def recall(self):
        return convolve(self.w, self.alpha) @ self.w["location_kernel"]

    def record(self, alpha, query, values):
        self.alpha = alpha


class AttCov:
    """With the coverage that See et al. start with, 0; ESPnet starts with uniform weights."""

    def __init__(self, w, length):
        self.w, self.earlier = w, [np.zeros(length)]

    def recall(self):
        return sum(self.earlier)[:, None] * self.w["coverage_kernel"]

    def record(self, alpha, query, values):
        self.earlier += [alpha]


class AttLocRec:
    """Its LSTM has the gates i, f, g, o, as has that of Keras."""

    def __init__(self, w, length):
        self.w, self.alpha = w, np.full(length, 1 / length)
        self.h, self.c = np.zeros(UNITS), np.zeros(UNITS)

    def recall(self):
        features = np.maximum(convolve(self.w, self.alpha), 0).max(0)
        gates = (
            features @ self.w["cell_kernel"]
            + self.h @ self.w["cell_recurrent_kernel"]
            + self.w["cell_bias"]
        )
        i, f, g, o = np.split(gates, 4)
        self.c = sigmoid(f) * self.c + sigmoid(i) * np.tanh(g)
        self.h = sigmoid(o) * np.tanh(self.c)
        return np.tile(self.h, (len(self.alpha), 1))

    def record(self, alpha, query, values):
        self.alpha = alpha


class Tu:
    """C_j = GRU(C_j, [α_j; h_j; t_{i−1}]) at each position, with the gates of Cho et al. (2014)."""

    def __init__(self, w, length):
        self.w, self.state = w, np.zeros((length, COVERAGE))
        self.kernel = np.concatenate(
            [w["weight_to_gates"], w["value_to_gates"], w["query_to_gates"]]
        )

    def recall(self):
        return self.state @ self.w["coverage_kernel"]

    def record(self, alpha, query, values):
        u_z, u_r, u_h = np.split(self.w["recurrent_kernel"], 3, axis=1)
        for j, before in enumerate(self.state.copy()):
            x = np.concatenate([[alpha[j]], values[j], query])
            z, r, h = np.split(x @ self.kernel + self.w["gate_bias"], 3)
            z, r = sigmoid(z + before @ u_z), sigmoid(r + before @ u_r)
            self.state[j] = z * before + (1 - z) * np.tanh(h + (r * before) @ u_h)


PORTS = {
    "coverage": AttCov,
    "neural_coverage": Tu,
    "location_aware": AttLoc,
    "recurrent_location": AttLocRec,
}


@pytest.mark.parametrize("name", PORTS)
def test_equals_the_published_code(name):
    layer, w = filled(name)
    query, keys, values = (x.astype(float) for x in INPUTS)
    reads, expected = np.zeros((B, T, D)), np.zeros((B, T, S))
    for b in range(B):
        length = MASK[b].sum()
        past = PORTS[name](w, length)
        for t in range(T):
            scores = scores_of(w, query[b, t], keys[b, :length], past.recall())
            alpha = np.exp(scores) / np.exp(scores).sum()
            past.record(alpha, query[b, t], values[b, :length])
            expected[b, t, :length] = alpha
            reads[b, t] = alpha @ values[b, :length]
    read, alpha = ask(layer, *INPUTS)
    assert_close(alpha, expected)
    assert_close(read, reads)


@pytest.mark.parametrize("name", MAKE)
def test_step_by_step_equals_all_at_once(name):
    layer, _ = filled(name)
    reads, weights = ask(layer, *INPUTS)
    query, keys, values = map(ops.convert_to_tensor, INPUTS)
    memory = layer.project_memory(values, keys, ops.convert_to_tensor(MASK))
    state = layer.initial_state(memory.mask)
    for t in range(T):
        read, alpha, state = layer.attend(query[:, t : t + 1], memory, state)
        assert_close(read, reads[:, t : t + 1])
        assert_close(alpha, weights[:, t : t + 1])


@pytest.mark.parametrize("name", MAKE)
def test_a_pause_between_two_queries_changes_nothing(name):
    layer, _ = filled(name)
    reads, _ = ask(layer, *INPUTS)
    query, keys, values = map(ops.convert_to_tensor, INPUTS)
    memory = layer.project_memory(values, keys, ops.convert_to_tensor(MASK))
    first, _, state = layer.attend(query[:, :2], memory, layer.initial_state(memory.mask))
    second, _, _ = layer.attend(query[:, 2:], memory, state)
    assert_close(ops.concatenate([first, second], axis=1), reads)


@pytest.mark.parametrize("name", MAKE)
def test_the_past_matters_and_the_future_does_not(name):
    layer, _ = filled(name)
    _, before = ask(layer, *INPUTS)
    query = INPUTS[0].copy()
    query[:, 0] += 1
    _, after = ask(layer, query, *INPUTS[1:])
    assert (abs(after[:, 1] - before[:, 1]).max(-1) > 1e-4).all()
    query = INPUTS[0].copy()
    query[:, 2] += 1
    _, after = ask(layer, query, *INPUTS[1:])
    np.testing.assert_array_equal(after[:, :2], before[:, :2])


@pytest.mark.parametrize("name", MAKE)
def test_without_what_is_recalled_it_is_additive_attention_with_a_bias(name):
    layer, _ = filled(name)
    silent = {
        "coverage": "coverage_kernel",
        "neural_coverage": "coverage_kernel",
        "location_aware": "filters",
        "recurrent_location": "filters",
    }[name]
    weight = getattr(layer, silent)
    weight.assign(np.zeros(weight.shape))
    if name == "recurrent_location":  # an LSTM that sees nothing, and starts at 0, and has no bias
        layer.cell.bias.assign(np.zeros(layer.cell.bias.shape))
    query, keys, _ = (x.astype(float) for x in INPUTS)
    w, u, bias, v = (
        as_numpy(x).astype(float)
        for x in (layer.query_kernel, layer.key_kernel, layer.bias, layer.v)
    )
    scores = np.tanh((query @ w)[:, :, None] + (keys @ u)[:, None] + bias) @ v
    shares = np.where(MASK[:, None], np.exp(scores), 0)
    assert_close(ask(layer, *INPUTS)[1], shares / shares.sum(-1, keepdims=True))


def test_location_filters_of_zero_and_no_bias_equal_the_additive_score():
    layer, _ = filled("location_aware")
    for weight in (layer.filters, layer.bias):
        weight.assign(np.zeros(weight.shape))
    score = AdditiveScore(UNITS)
    score.build(INPUTS[0].shape, INPUTS[1].shape)
    score.set_weights([as_numpy(x) for x in (layer.query_kernel, layer.key_kernel, layer.v)])
    shares = np.exp(as_numpy(score(*map(ops.convert_to_tensor, INPUTS[:2]))).astype(float))
    shares = np.where(MASK[:, None], shares, 0)
    assert_close(ask(layer, *INPUTS)[1], shares / shares.sum(-1, keepdims=True))


def test_location_tells_apart_what_is_equal_in_content():
    # five equal keys: content alone gives each of them 1/5
    layer, _ = filled("location_aware")
    keys = np.ones((B, S, K), dtype="float32")
    _, weights = ask(layer, INPUTS[0], keys, INPUTS[2], np.ones((B, S), dtype=bool))
    assert abs(weights - 0.2).max() > 0.01


def test_the_first_query_of_coverage_has_no_past():
    layer, _ = filled("coverage")
    _, before = ask(layer, *INPUTS)
    layer.coverage_kernel.assign(7 * as_numpy(layer.coverage_kernel))
    _, after = ask(layer, *INPUTS)
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    assert (after[:, 1:] != before[:, 1:]).any()


@pytest.mark.parametrize("name", MAKE)
def test_one_mask_for_the_whole_batch_is_that_of_each_sentence(name):
    layer, _ = filled(name)
    one = ask(layer, *INPUTS, mask=MASK[:1])
    each = ask(layer, *INPUTS, mask=MASK[[0, 0]])
    for a, b in zip(one, each, strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("name", MAKE)
def test_a_sentence_alone_equals_the_same_sentence_in_a_batch(name):
    layer, _ = filled(name)
    read, weights = ask(layer, *INPUTS)
    alone, alone_weights = ask(layer, *(x[:1, :3] for x in INPUTS), mask=MASK[:1, :3])
    assert_close(alone, read[:1])
    assert_close(alone_weights, weights[:1, :, :3])


def test_a_filter_of_one_tap_sees_what_one_of_three_sees_in_its_middle():
    one, three = (LocationAwareAttention(UNITS, CHANNELS, taps) for taps in (1, 3))
    for layer in (one, three):
        layer.build(*(INPUTS[place].shape for place in (0, 2, 1)))
    for weight, wider in zip(one.weights, three.weights, strict=True):
        values = draw(*weight.shape)
        weight.assign(values)
        wider.assign(np.pad(values, [(1, 1), (0, 0), (0, 0)]) if wider is three.filters else values)
    for seen, expected in zip(ask(one, *INPUTS), ask(three, *INPUTS), strict=True):
        assert_close(seen, expected)


@pytest.mark.parametrize("taps", [-1, 0, 2, 4])
def test_a_filter_that_is_even_or_none_is_refused(taps):
    for make in (LocationAwareAttention, RecurrentLocationAttention):
        with pytest.raises(ValueError, match=f"taps odd, got 19 and {taps}"):
            make(UNITS, CHANNELS, taps)


def test_bad_numbers_say_what_was_received():
    for make in (
        CoverageAttention,
        NeuralCoverageAttention,
        LocationAwareAttention,
        RecurrentLocationAttention,
    ):
        with pytest.raises(ValueError, match="units must be a positive integer, got 0"):
            make(0)
    with pytest.raises(ValueError, match="coverage_units must be a positive integer, got -1"):
        NeuralCoverageAttention(UNITS, -1)
    with pytest.raises(ValueError, match=r"channels and taps must be positive .* got 0 and 3"):
        LocationAwareAttention(UNITS, 0, 3)


def test_a_single_query_has_no_past():
    layer, _ = filled("location_aware")
    _, weights = ask(layer, *INPUTS)
    _, column = call(layer, INPUTS[0][:, 0], INPUTS[1], MASK)
    assert column.shape == (B, S, 1)
    assert_close(column[..., 0], weights[:, 0])
