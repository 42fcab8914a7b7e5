import keras
import numpy as np
import pytest
from keras import ops
from keras.layers import GRUCell, LSTMCell

from keras_attention.layers import (
    AdditiveAttention,
    AttendThenRecur,
    AttentionRNN,
    ContextSensitiveMemory,
    CoverageAttention,
    HardAttention,
    KerasMultiHeadAttention,
    LocationAwareAttention,
    LuongAttention,
    MonotonicLocalAttention,
    MultiHeadAttention,
    RecurThenAttend,
)
from tests.contract import MASK, B, K, S, T
from tests.numerics import as_numpy, assert_close

E, D, UNITS, WIDTH, HIDDEN = 7, 17, 13, 19, 23


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


INPUTS = draw(B, T, E), draw(B, S, K), draw(B, S, D)
MAKE = {
    "attend_then_recur": lambda: AttendThenRecur(
        LSTMCell(UNITS), ContextSensitiveMemory("two_layer")
    ),
    "recur_then_attend": lambda: RecurThenAttend(
        GRUCell(UNITS), LuongAttention(ContextSensitiveMemory("general"), WIDTH)
    ),
    "with_a_past": lambda: AttendThenRecur(GRUCell(UNITS), LocationAwareAttention(HIDDEN, 3, 3)),
    "local": lambda: RecurThenAttend(LSTMCell(UNITS), MonotonicLocalAttention(1, "general")),
    "luong_with_a_past": lambda: RecurThenAttend(
        LSTMCell(UNITS), LuongAttention(CoverageAttention(HIDDEN))
    ),
}


def filled(name):
    """Make a decoder and give every weight, biases too, numbers of its own."""
    decoder = AttentionRNN(MAKE[name]())
    decoder.build(*(INPUTS[place].shape for place in (0, 2, 1)))
    rng = np.random.default_rng(1)
    decoder.set_weights([rng.normal(0, 0.5, w.shape).astype("float32") for w in decoder.weights])
    return decoder


def run(decoder, sequence=INPUTS[0], **kwargs):
    sequence, keys, values = map(ops.convert_to_tensor, (sequence, *INPUTS[1:]))
    return decoder(
        sequence,
        values,
        keys,
        attention_mask=ops.convert_to_tensor(MASK),
        return_attention_scores=True,
        **kwargs,
    )


def float64(*weights):
    return [as_numpy(weight).astype(float) for weight in weights]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


def lstm(cell, x, h, c):
    """Gates i, f, c, o."""
    kernel, recurrent, bias = float64(cell.kernel, cell.recurrent_kernel, cell.bias)
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(cell, x, h):
    """Gates z, r, h; the reset gate after the recurrent product, with a bias of its own."""
    kernel, recurrent, bias = float64(cell.kernel, cell.recurrent_kernel, cell.bias)
    zx, rx, hx = np.split(x @ kernel + bias[0], 3)
    zh, rh, hh = np.split(h @ recurrent + bias[1], 3)
    z = sigmoid(zx + zh)
    return z * h + (1 - z) * np.tanh(hx + sigmoid(rx + rh) * hh)


def test_attend_then_recur_equals_the_lectures_loop():
    decoder = filled("attend_then_recur")
    cell, score = decoder.cell.cell, decoder.cell.attention.score
    w1, b1, w2, b2 = float64(score.kernel, score.bias, score.v, score.output_bias)
    outputs, expected = np.zeros((B, T, UNITS)), np.zeros((B, T, S))
    for b in range(B):
        x, keys, values = (part[b].astype(float) for part in INPUTS)
        keys, values = keys[MASK[b]], values[MASK[b]]
        s, c = np.zeros(UNITS), np.zeros(UNITS)
        for t in range(T):
            alpha = softmax(
                np.array([w2 @ np.tanh(np.concatenate([s, key]) @ w1 + b1) + b2 for key in keys])
            )
            s, c = lstm(cell, np.concatenate([alpha @ values, x[t]]), s, c)
            outputs[b, t], expected[b, t, : len(alpha)] = s, alpha
    output, weights = run(decoder)
    assert_close(weights, expected)
    assert_close(output, outputs)


def test_recur_then_attend_equals_luongs_loop_with_input_feeding():
    decoder = filled("recur_then_attend")
    cell, attention = decoder.cell.cell, decoder.cell.attention
    w_general, w_c = float64(attention.attention.score.kernel, attention.kernel)
    outputs, expected = np.zeros((B, T, WIDTH)), np.zeros((B, T, S))
    for b in range(B):
        x, keys, values = (part[b].astype(float) for part in INPUTS)
        keys, values = keys[MASK[b]], values[MASK[b]]
        h, attentional = np.zeros(UNITS), np.zeros(WIDTH)
        for t in range(T):
            h = gru(cell, np.concatenate([x[t], attentional]), h)
            alpha = softmax(np.array([h @ w_general @ key for key in keys]))
            attentional = np.tanh(np.concatenate([alpha @ values, h]) @ w_c)
            outputs[b, t], expected[b, t, : len(alpha)] = attentional, alpha
    output, weights = run(decoder)
    # three steps of a GRU, whose output is fed back: up to 1.7e-6 in float32, by processor
    assert_close(weights, expected, 4e-6)
    assert_close(output, outputs, 4e-6)


@pytest.mark.parametrize("name", MAKE)
def test_step_by_step_equals_all_at_once(name):
    decoder = filled(name)
    outputs, weights, last = run(decoder, return_state=True)
    states = None
    for t in range(T):
        output, alpha, states = run(
            decoder, INPUTS[0][:, t : t + 1], initial_states=states, return_state=True
        )
        assert_close(output[:, 0], as_numpy(outputs)[:, t])
        assert_close(alpha[:, 0], as_numpy(weights)[:, t])
    assert len(states) == len(last)
    for one, other in zip(states, last, strict=True):
        assert_close(one, as_numpy(other))


@pytest.mark.parametrize("name", MAKE)
def test_plain_keras_runs_the_bound_cell(name):
    decoder = filled(name)
    outputs, weights, last = run(decoder, return_state=True)
    sequence, keys, values = map(ops.convert_to_tensor, INPUTS)
    cell = decoder.cell.over(values, keys, ops.convert_to_tensor(MASK))
    rnn = keras.layers.RNN(cell, return_sequences=True)
    _, (plain, plain_weights), states = rnn.inner_loop(
        sequence, cell.get_initial_state(), mask=None
    )
    assert_close(plain, as_numpy(outputs))
    assert_close(plain_weights, as_numpy(weights))
    for one, other in zip(states, last, strict=True):
        assert_close(one, as_numpy(other))


@pytest.mark.parametrize("name", MAKE)
def test_batch_and_time_may_be_unknown_when_a_model_is_made(name):
    decoder = filled(name)
    inputs = [
        keras.Input((None, E)),
        keras.Input((None, K)),
        keras.Input((None, D)),
        keras.Input((None,), dtype="bool"),
    ]
    sequence, keys, values, mask = inputs
    output, weights, states = decoder(
        sequence,
        values,
        keys,
        attention_mask=mask,
        return_attention_scores=True,
        return_state=True,
    )
    assert tuple(output.shape[:2]) == tuple(weights.shape[:2]) == (None, None)
    model = keras.Model(inputs, [output, weights])
    made = model.predict_on_batch([*INPUTS, MASK])
    assert len(states) == len(decoder.cell.initial_states(ops.convert_to_tensor(MASK)))
    for one, other in zip(made, run(decoder), strict=True):
        np.testing.assert_allclose(one, as_numpy(other), atol=1e-5)


@pytest.mark.parametrize("name", MAKE)
def test_the_future_of_the_sequence_changes_nothing_earlier(name):
    decoder = filled(name)
    changed = INPUTS[0].copy()
    changed[:, 2] += 1
    before, after = as_numpy(run(decoder)[0]), as_numpy(run(decoder, changed)[0])
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert (after[:, 2] != before[:, 2]).any()


def test_the_first_step_has_no_past_and_states_of_zero():
    decoder = filled("recur_then_attend")
    zeros = [ops.zeros((B, UNITS)), ops.zeros((B, WIDTH))]
    expected = run(decoder)
    for one, other in zip(run(decoder, initial_states=zeros), expected, strict=True):
        np.testing.assert_array_equal(as_numpy(one), as_numpy(other))
    moved = [ops.ones((B, UNITS)), ops.zeros((B, WIDTH))]
    assert (as_numpy(run(decoder, initial_states=moved)[0]) != as_numpy(expected[0])).any()


def test_what_is_returned_is_what_was_asked_for():
    decoder = filled("attend_then_recur")
    inputs = [ops.convert_to_tensor(INPUTS[place]) for place in (0, 2, 1)]
    output, weights, states = decoder(*inputs, return_attention_scores=True, return_state=True)
    with_weights = decoder(*inputs, return_attention_scores=True)
    with_states = decoder(*inputs, return_state=True)
    for one in (decoder(*inputs), with_weights[0], with_states[0]):
        np.testing.assert_array_equal(as_numpy(one), as_numpy(output))
    np.testing.assert_array_equal(as_numpy(with_weights[1]), as_numpy(weights))
    for one, other in zip(with_states[1], states, strict=True):
        np.testing.assert_array_equal(as_numpy(one), as_numpy(other))
    assert [tuple(state.shape) for state in states] == [(B, UNITS)] * 2
    np.testing.assert_array_equal(as_numpy(states[0]), as_numpy(output)[:, -1])


def test_one_mask_for_the_whole_batch_is_that_of_each_sentence():
    decoder = filled("attend_then_recur")
    sequence, keys, values = map(ops.convert_to_tensor, INPUTS)
    one = decoder(sequence, values, keys, attention_mask=ops.convert_to_tensor(MASK[:1]))
    each = decoder(sequence, values, keys, attention_mask=ops.convert_to_tensor(MASK[[0, 0]]))
    assert_close(one, as_numpy(each))


def check_training(decoder, width):
    """Require that two compiled steps of a model with a decoder change every weight."""
    inputs = [keras.Input((T, E)), keras.Input((S, K))]
    model = keras.Model(inputs, decoder(*inputs))
    model.compile("sgd", "mse", jit_compile=keras.backend.backend() != "torch")
    before = {weight.path: as_numpy(weight) for weight in decoder.trainable_weights}
    for _ in range(2):
        assert np.isfinite(model.train_on_batch(list(INPUTS[:2]), draw(B, T, width)))
    for weight in decoder.trainable_weights:
        assert np.isfinite(as_numpy(weight)).all(), weight.path
        assert (as_numpy(weight) != before[weight.path]).any(), weight.path


@pytest.mark.xla
def test_hard_attention_draws_inside_the_compiled_loop():
    attention = HardAttention("general", straight_through=True, seed=1)
    check_training(AttentionRNN(AttendThenRecur(LSTMCell(UNITS), attention)), UNITS)


def test_hard_attention_draws_anew_at_every_step_of_the_loop():
    attention = HardAttention("dot", seed=1)
    keys = ops.convert_to_tensor(np.zeros((1, 31, UNITS), dtype="float32"))  # equal scores
    decoder = AttentionRNN(AttendThenRecur(LSTMCell(UNITS), attention))
    sequence = ops.zeros((1, 29, E))
    _, weights = decoder(sequence, keys, return_attention_scores=True, training=True)
    assert len(set(as_numpy(weights)[0].argmax(-1).tolist())) > 5


@pytest.mark.parametrize("make", [LSTMCell, pytest.param(GRUCell, marks=pytest.mark.thorough)])
def test_a_cell_with_dropout_can_be_trained(make):
    cell = make(UNITS, dropout=0.3, recurrent_dropout=0.3)
    check_training(AttentionRNN(AttendThenRecur(cell, AdditiveAttention(HIDDEN))), UNITS)


@pytest.mark.parametrize("make", [LSTMCell, GRUCell])
def test_a_cell_with_dropout_drops_something_else_in_every_call_and_nothing_in_inference(make):
    decoder = AttentionRNN(AttendThenRecur(make(UNITS, dropout=0.5), AdditiveAttention(HIDDEN)))
    inputs = [ops.convert_to_tensor(x) for x in INPUTS]
    quiet = as_numpy(decoder(*inputs))
    first, second = (as_numpy(decoder(*inputs, training=True)) for _ in range(2))
    assert (first != quiet).any()
    assert (first != second).any()
    np.testing.assert_array_equal(as_numpy(decoder(*inputs)), quiet)


def test_what_is_no_cell_or_no_attention_is_refused():
    with pytest.raises(ValueError, match="cell must be AttendThenRecur or RecurThenAttend, got <"):
        AttentionRNN(LSTMCell(UNITS))
    for make in (AttendThenRecur, RecurThenAttend):
        with pytest.raises(ValueError, match=r"layers\.base\.Attention, .* got <KerasMulti"):
            make(LSTMCell(UNITS), KerasMultiHeadAttention(2, UNITS))
        attention = MultiHeadAttention(2, UNITS, dropout=0.5, name="heads")
        for each in (attention, LuongAttention(attention)):
            with pytest.raises(
                ValueError, match=r"no dropout, got 0\.5 in heads; give it dropout="
            ):
                make(LSTMCell(UNITS), each)


def test_a_mask_for_each_step_is_refused_by_name():
    decoder = AttentionRNN(MAKE["attend_then_recur"]())
    mask = ops.ones((B, T, S), dtype="bool")
    with pytest.raises(ValueError, match=r"must have shape \(B, S\) .* got \(2, 3, 5\)"):
        decoder(*map(ops.convert_to_tensor, INPUTS), attention_mask=mask)


def test_a_built_decoder_refuses_inputs_of_another_width():
    decoder = AttentionRNN(MAKE["attend_then_recur"]())
    sequence, keys, values = map(ops.convert_to_tensor, INPUTS)
    decoder(sequence, values, keys)
    wider = ops.concatenate([sequence, sequence], axis=-1)
    with pytest.raises(ValueError, match=r"with E = 7, got \(2, 3, 14\)"):
        decoder(wider, values, keys)


def test_a_wrong_number_of_states_is_refused():
    decoder = AttentionRNN(MAKE["attend_then_recur"]())
    sequence, keys, values = map(ops.convert_to_tensor, INPUTS)
    _, states = decoder(sequence, values, keys, return_state=True)
    with pytest.raises(ValueError, match=f"list of {len(states)} tensors .* got 1"):
        decoder(sequence, values, keys, initial_states=states[:1])


def test_parts_of_another_precision_are_refused():
    cell = AttendThenRecur(GRUCell(13), ContextSensitiveMemory("additive"), dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match="the same dtype policy"):
        AttentionRNN(cell, dtype="mixed_bfloat16")(*map(ops.convert_to_tensor, INPUTS))


def test_an_error_within_the_loop_leaves_no_dropout_mask_behind():
    cell = GRUCell(13, dropout=0.5)
    decoder = AttentionRNN(AttendThenRecur(cell, ContextSensitiveMemory("additive")))
    sequence, keys, values = map(ops.convert_to_tensor, INPUTS)
    decoder(sequence, values, keys)
    first, second = (as_numpy(decoder(sequence, values, keys, training=True)) for _ in range(2))
    assert (first != second).any()
    fails = decoder.cell.attention.attend
    decoder.cell.attention.attend = None
    with pytest.raises(TypeError):
        decoder(sequence, values, keys, training=True)
    decoder.cell.attention.attend = fails
    mask = cell.get_dropout_mask(ops.ones((7, E + K)))  # a new one, for a batch of another size
    assert tuple(mask.shape) == (7, E + K)
