"""The cell of a Neural Turing Machine, and the promises of a layer that takes one sequence."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import NTMCell
from tests import contract
from tests.contract import B, S, SequenceCase, as_numpy, assert_close
from tests.layers import test_sequence_contract as promises

UNITS, ROWS, WIDTH, READS, WRITES, F = 5, 13, 3, 2, 1, 7
SIZES = {
    "units": UNITS,
    "rows": ROWS,
    "width": WIDTH,
    "read_heads": READS,
    "write_heads": WRITES,
}


def machine(controller="feed_forward", dtype=None, units=4, **kwargs):
    """An RNN whose output is as wide as its input, as the promises want it."""
    cell = NTMCell(units, 11, 3, controller=controller, dtype=dtype, **kwargs)
    return keras.layers.RNN(cell, return_sequences=True, dtype=dtype)


CASES = [
    SequenceCase("feed_forward", machine),
    SequenceCase(
        "lstm_and_many_heads",
        partial(
            machine,
            "lstm",
            units=1,
            read_heads=2,
            write_heads=2,
            learned_memory=True,
            start="first_row",
            stay_bias=1.0,
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(
    "promise",
    [
        promises.test_shapes_are_as_documented_and_weights_sum_to_one,
        promises.test_config_round_trip,
        promises.test_json_round_trip_inside_a_model,
        promises.test_symbolic_equals_eager,
        promises.test_one_sequence_does_not_change_another,
        promises.test_one_compiled_fit_step,
        promises.test_zeros_give_finite_values_and_gradients,
    ],
    ids=lambda promise: promise.__name__.removeprefix("test_"),
)
def test_promise(promise, case):
    keras.utils.set_random_seed(5)
    promise(case)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(case, policy):
    keras.utils.set_random_seed(5)
    promises.test_mixed_precision(case, policy)


def test_the_same_in_a_fresh_process(tmp_path):
    contract.check_fresh_process(CASES, tmp_path)


def draw(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype("float32")


def build(**kwargs):
    keras.utils.set_random_seed(3)
    cell = NTMCell(**{**SIZES, "return_attention_scores": True, **kwargs})
    cell.build((B, F))
    return cell


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    shares = np.exp(x - x.max())
    return shares / shares.sum()


def find(numbers, memory, previous):
    """Go through equations 5 to 9 for one head, in float64."""
    key, (strength, gate, exponent) = np.tanh(numbers[:WIDTH]), numbers[WIDTH : WIDTH + 3]
    lengths = np.maximum(np.linalg.norm(memory, axis=1), 1e-3) * np.linalg.norm(key)
    content = softmax(np.log1p(np.exp(strength)) * (memory @ key) / lengths)
    gated = sigmoid(gate) * content + (1 - sigmoid(gate)) * previous
    back, stay, on = softmax(numbers[WIDTH + 3 :])
    moved = np.array(
        [gated[(i + 1) % ROWS] * back + gated[i] * stay + gated[i - 1] * on for i in range(ROWS)]
    )
    powers = moved ** (1 + np.log1p(np.exp(exponent)))
    return powers / powers.sum()


def oracle(cell, x):
    """Run a machine with a feed-forward controller over one sequence (T, F), in float64."""
    weights = {w.path.split("/", 1)[-1]: as_numpy(w).astype("float64") for w in cell.weights}
    named = {
        path.split("/")[-2] + "/" + path.split("/")[-1]: w
        for path, w in weights.items()
        if "/" in path
    }
    tracks = softmax_rows(as_numpy(cell.first_places)[0].astype("float64"))
    reads = np.tanh(as_numpy(cell.first_reads)[0].astype("float64"))
    memory, outputs = np.full((ROWS, WIDTH), 1e-6), []
    for row in x.astype("float64"):
        inputs = np.concatenate([row, reads])
        hidden = np.tanh(inputs @ named["controller/kernel"] + named["controller/bias"])
        numbers = hidden @ named["heads/kernel"] + named["heads/bias"]
        size = WIDTH + 6
        heads = numbers[: size * (READS + WRITES)].reshape(READS + WRITES, size)
        texts = numbers[size * (READS + WRITES) :].reshape(WRITES, 2, WIDTH)
        old = memory.copy()
        for head in range(READS, READS + WRITES):
            tracks[head] = find(heads[head], old, tracks[head])
            memory = memory * (1 - np.outer(tracks[head], sigmoid(texts[head - READS, 0])))
        for head in range(READS, READS + WRITES):
            memory = memory + np.outer(tracks[head], np.tanh(texts[head - READS, 1]))
        for head in range(READS):
            tracks[head] = find(heads[head], memory, tracks[head])
        reads = np.concatenate([tracks[head] @ memory for head in range(READS)])
        outputs.append(np.concatenate([hidden, reads, tracks.ravel()]))
    return np.array(outputs)


def softmax_rows(x):
    return np.array([softmax(row) for row in x])


def test_equals_a_loop():
    cell = build()
    x = 2 * draw(B, S, F)
    outputs = keras.layers.RNN(cell, return_sequences=True)(ops.convert_to_tensor(x))
    assert_close(outputs, np.array([oracle(cell, row) for row in x]), 3e-6)


@pytest.mark.parametrize("controller", ["feed_forward", "lstm"])
def test_step_by_step_is_all_at_once(controller):
    cell = build(controller=controller)
    x = ops.convert_to_tensor(draw(B, S, F))
    outputs, *last = keras.layers.RNN(cell, return_sequences=True, return_state=True)(x)
    states = cell.get_initial_state(B)
    assert [state.shape[-1] for state in states] == cell.state_size
    for step in range(S):
        output, states = cell(x[:, step], states)
        np.testing.assert_allclose(as_numpy(output), as_numpy(outputs)[:, step], atol=1e-6)
    for one, other in zip(states, last, strict=True):
        np.testing.assert_allclose(as_numpy(one), as_numpy(other), atol=1e-6)


def test_the_output_comes_apart():
    cell = build()
    outputs = keras.layers.RNN(cell, return_sequences=True)(ops.convert_to_tensor(draw(B, S, F)))
    parts = cell.split(outputs)
    assert tuple(parts["output"].shape) == (B, S, UNITS + READS * WIDTH)
    assert tuple(parts["read_weights"].shape) == (B, S, READS, ROWS)
    assert tuple(parts["write_weights"].shape) == (B, S, WRITES, ROWS)
    for name in ("read_weights", "write_weights"):
        np.testing.assert_allclose(as_numpy(parts[name]).sum(-1), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="set return_attention_scores=True"):
        NTMCell(**SIZES).split(outputs)


def test_heads_start_at_random_places_that_are_learned():
    *_, weights = build().get_initial_state(B)
    places = as_numpy(weights).reshape(B, READS + WRITES, ROWS)
    np.testing.assert_allclose(places.sum(-1), 1, rtol=1e-5)
    assert (places.std(-1) > 0.02).all()
    np.testing.assert_array_equal(places[0], places[1])
    *_, focused = build(focus=1000.0).get_initial_state(B)
    assert as_numpy(focused).reshape(B, -1, ROWS).max(-1).min() > 0.9


def test_heads_can_start_together_at_the_first_row():
    *_, weights = build(start="first_row", focus=4.0).get_initial_state(B)
    expected = softmax(4.0 * np.eye(ROWS)[0])
    assert_close(weights, np.tile(expected, (B, READS + WRITES)))


def test_a_sharp_bias_makes_weights_sharper():
    x, peaks = ops.convert_to_tensor(draw(B, F)), []
    for bias in (0.0, 4.0):
        cell = build(sharp_bias=bias, stay_bias=4.0)
        _, (*_, weights) = cell(x, cell.get_initial_state(B))
        peaks.append(as_numpy(weights).reshape(B, -1, ROWS).max(-1))
    assert (peaks[0] < peaks[1]).all()


@pytest.mark.parametrize("shifts", [2, 3, 4])
def test_a_stay_bias_keeps_heads_from_moving(shifts):
    cell = build(shifts=shifts, stay_bias=40.0, gate_bias=-40.0, start="first_row", focus=4.0)
    *_, before = states = cell.get_initial_state(B)
    _, (*_, after) = cell(ops.convert_to_tensor(draw(B, F)), states)
    before, after = (as_numpy(x).reshape(B, READS + WRITES, ROWS) for x in (before, after))
    assert (after[..., 0] > before[..., 0]).all()  # sharper
    np.testing.assert_allclose(after[..., 1:], after[..., 1:2] * np.ones(ROWS - 1), rtol=1e-4)


def test_a_gate_bias_keeps_heads_where_they_are():
    cell = build(gate_bias=-40.0)
    *_, before = states = cell.get_initial_state(B)
    heads = cell.to_heads
    kernel, bias = np.zeros(heads.kernel.shape), np.zeros(heads.bias.shape)
    places = bias[: (READS + WRITES) * (WIDTH + 6)].reshape(-1, WIDTH + 6)
    places[:, WIDTH + 2], places[:, -2] = -40, 40  # no sharpening, no move
    heads.set_weights([kernel, bias])
    _, (*_, after) = cell(ops.convert_to_tensor(draw(B, F)), states)
    assert_close(after, as_numpy(before), 1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": 0}, "rows must be positive, got 0"),
        ({"width": 0}, "width must be positive, got 0"),
        ({"read_heads": 0}, "read_heads must be positive, got 0"),
        ({"rows": 2}, "shifts must be at most the number of rows, 2, got 3"),
        ({"start": "last_row"}, r"start must be one of .*'first_row'.*, got 'last_row'"),
        ({"controller": "gru"}, r"controller must be one of .*'lstm'.*, got 'gru'"),
    ],
)
def test_bad_arguments_say_what_was_received(arguments, message):
    with pytest.raises(ValueError, match=message):
        NTMCell(**{**SIZES, **arguments})
