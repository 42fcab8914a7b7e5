"""The cell of a Neural Turing Machine against equations 1 to 9 of its paper."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import NTMCell
from tests.contract import B, S
from tests.numerics import as_numpy, assert_close

UNITS, ROWS, WIDTH, READS, WRITES, F = 5, 13, 3, 2, 1, 7
SIZES = {
    "units": UNITS,
    "rows": ROWS,
    "width": WIDTH,
    "read_heads": READS,
    "write_heads": WRITES,
}


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


def control(named, inputs, state):
    """Return what the controller says, and its next state; a feed-forward one has none."""
    numbers = inputs @ named["controller/kernel"] + named["controller/bias"]
    if "controller/recurrent_kernel" not in named:
        return np.tanh(numbers), state
    h, c = state
    i, f, g, o = np.split(numbers + h @ named["controller/recurrent_kernel"], 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, (h, c)


def oracle(cell, x):
    """Run a machine over one sequence (T, F), in float64."""
    weights = {w.path.split("/", 1)[-1]: as_numpy(w).astype("float64") for w in cell.weights}
    named = {
        path.split("/")[-2] + "/" + path.split("/")[-1]: w
        for path, w in weights.items()
        if "/" in path
    }
    tracks = softmax_rows(as_numpy(cell.first_places)[0].astype("float64"))
    reads = np.tanh(as_numpy(cell.first_reads)[0].astype("float64"))
    memory, outputs = np.full((ROWS, WIDTH), 1e-6), []
    state, count, size = (np.zeros(UNITS), np.zeros(UNITS)), READS + cell.write_heads, WIDTH + 6
    for row in x.astype("float64"):
        hidden, state = control(named, np.concatenate([row, reads]), state)
        numbers = hidden @ named["heads/kernel"] + named["heads/bias"]
        heads = numbers[: size * count].reshape(count, size)
        texts = numbers[size * count :].reshape(-1, 2, WIDTH)
        old = memory.copy()
        for head in range(READS, count):
            tracks[head] = find(heads[head], old, tracks[head])
            memory = memory * (1 - np.outer(tracks[head], sigmoid(texts[head - READS, 0])))
        for head in range(READS, count):
            memory = memory + np.outer(tracks[head], np.tanh(texts[head - READS, 1]))
        for head in range(READS):
            tracks[head] = find(heads[head], memory, tracks[head])
        reads = np.concatenate([tracks[head] @ memory for head in range(READS)])
        outputs.append(np.concatenate([hidden, reads, tracks.ravel()]))
    return np.array(outputs)


def softmax_rows(x):
    return np.array([softmax(row) for row in x])


@pytest.mark.parametrize(("controller", "writes"), [("feed_forward", 1), ("lstm", 3)])
def test_equals_a_loop(controller, writes):
    cell = build(controller=controller, write_heads=writes)
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


@pytest.mark.parametrize("controller", ["feed_forward", "lstm"])
def test_the_options_of_the_loop_change_what_they_say(controller):
    cell = build(controller=controller)
    x = ops.convert_to_tensor(draw(B, S, F))
    expected = as_numpy(keras.layers.RNN(cell, return_sequences=True)(x))

    unrolled = keras.layers.RNN(cell, return_sequences=True, unroll=True)
    np.testing.assert_allclose(as_numpy(unrolled(x)), expected, atol=1e-6)

    backwards = keras.layers.RNN(cell, return_sequences=True, go_backwards=True)
    np.testing.assert_allclose(as_numpy(backwards(ops.flip(x, axis=1))), expected, atol=1e-6)

    stateful = keras.layers.RNN(cell, return_sequences=True, stateful=True)
    parts = [as_numpy(stateful(part)) for part in (x[:, :2], x[:, 2:])]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected, atol=1e-6)


def test_the_output_comes_apart():
    cell = build()
    outputs = keras.layers.RNN(cell, return_sequences=True)(ops.convert_to_tensor(draw(B, S, F)))
    parts = cell.split(outputs)
    whole, width = as_numpy(outputs), UNITS + READS * WIDTH
    tracks = whole[..., width:].reshape(B, S, READS + WRITES, ROWS)
    np.testing.assert_array_equal(as_numpy(parts["output"]), whole[..., :width])
    np.testing.assert_array_equal(as_numpy(parts["read_weights"]), tracks[:, :, :READS])
    np.testing.assert_array_equal(as_numpy(parts["write_weights"]), tracks[:, :, READS:])
    with pytest.raises(ValueError, match="set return_attention_scores=True"):
        NTMCell(**SIZES).split(outputs)


def test_heads_start_at_random_places_that_are_learned():
    *_, weights = build().get_initial_state(B)
    places = as_numpy(weights).reshape(B, READS + WRITES, ROWS)
    np.testing.assert_allclose(places.sum(-1), 1, rtol=1e-5)
    assert (places.std(-1) > 0.02).all()
    np.testing.assert_array_equal(places[0], places[1])
    with keras.src.backend.AutocastScope("bfloat16"):  # as Keras' RNN calls it
        *_, weights = build().get_initial_state(B)
    sums = as_numpy(weights).reshape(B, READS + WRITES, ROWS).sum(-1)
    np.testing.assert_allclose(sums, 1, atol=1e-6)
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
