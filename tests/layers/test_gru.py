import keras
import numpy as np
import pytest
from keras import ops, tree

from keras_attention.kernels import gradients_written_out
from keras_attention.layers import GRU
from tests.numerics import as_numpy, assert_close, gradients

B, T, E, D = 3, 7, 5, 11
RNG = np.random.default_rng(0)
SEQUENCE = RNG.normal(size=(B, T, E)).astype("float32")
STATE = RNG.normal(size=(B, D)).astype("float32")
MASK = np.arange(T) < np.array([[T], [4], [0]])
OPTIONS = {"return_sequences": True, "return_state": True}
FLOAT64 = [] if keras.backend.backend() == "jax" else ["float64"]  # which JAX does not have
by_kernel_or_not = pytest.mark.parametrize("written_out", [False, True])


@pytest.fixture(autouse=True)
def choose(request):
    """Let the GRU use its kernel, where there is one, in a test that asks for it."""
    arguments = getattr(request.node, "callspec", None)
    with gradients_written_out(bool(arguments and arguments.params.get("written_out"))):
        yield


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def oracle(weights, sequence, state):
    """All states of a GRU, step by step, in float64."""
    kernel, recurrent, biases = (each.astype("float64") for each in weights)
    states = []
    for t in range(sequence.shape[1]):
        of_input = np.split(sequence[:, t] @ kernel + biases[0], 3, axis=1)
        of_state = np.split(state @ recurrent + biases[1], 3, axis=1)
        update, reset = (sigmoid(of_input[n] + of_state[n]) for n in (0, 1))
        candidate = np.tanh(of_input[2] + reset * of_state[2])
        state = update * state + (1 - update) * candidate
        states.append(state)
    return np.stack(states, axis=1)


def with_random_weights(layer):
    layer.build((B, T, E))
    layer.set_weights([RNG.normal(size=weights.shape) / 3 for weights in layer.get_weights()])
    return layer


def of_keras(layer, **options):
    """The same layer as Keras' own loop runs it."""
    theirs = keras.layers.RNN(keras.layers.GRUCell(D), **{**OPTIONS, **options})
    theirs.build((B, T, E))
    theirs.set_weights(layer.get_weights())
    return theirs


@by_kernel_or_not
def test_states_equal_the_oracle(written_out):
    layer = with_random_weights(GRU(D, **OPTIONS))
    states, last = layer(SEQUENCE, initial_state=STATE)
    expected = oracle(layer.get_weights(), SEQUENCE, STATE)
    assert_close(states, expected)
    assert_close(last, expected[:, -1])


@by_kernel_or_not
@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("mask", [MASK, MASK[:, ::-1]], ids=["at the end", "at the beginning"])
@pytest.mark.parametrize("state", [None, STATE], ids=["from zeros", "from a state"])
def test_equal_to_keras_with_a_mask(go_backwards, mask, state, written_out):
    layer = with_random_weights(GRU(D, go_backwards=go_backwards, **OPTIONS))
    theirs = of_keras(layer, go_backwards=go_backwards)
    ours = layer(SEQUENCE, initial_state=state, mask=mask)
    for one, expected in zip(ours, theirs(SEQUENCE, initial_state=state, mask=mask), strict=True):
        assert_close(one, as_numpy(expected))


@by_kernel_or_not
@pytest.mark.parametrize("option", ["stateful", "unroll", "zero_output_for_mask"])
def test_equal_to_keras_with_its_options(option, written_out):
    layer, sequence = GRU(D, **OPTIONS, **{option: True}), ops.convert_to_tensor(SEQUENCE)
    with_random_weights(layer)
    theirs = of_keras(layer, **{option: True})
    for _ in range(2):  # a stateful layer goes on
        expected = theirs(sequence, mask=MASK[:2][[0, 1, 0]])
        ours = layer(sequence, mask=MASK[:2][[0, 1, 0]])
        for one, other in zip(ours, expected, strict=True):
            assert_close(one, as_numpy(other))


@by_kernel_or_not
@pytest.mark.parametrize("options", [{}, {"go_backwards": True}], ids=["forwards", "backwards"])
@pytest.mark.parametrize(
    ("mask", "steps"), [(MASK, T), (None, T), (None, 1)], ids=["mask", "no mask", "one step"]
)
def test_gradients_equal_those_of_keras(options, mask, steps, written_out):
    """From zeros with a mask, else from a state."""
    states = [] if mask is not None else [STATE]

    def gradients_of(layer):
        def loss(sequence, *states):
            initial = states[0] if states else None
            every, last = layer(sequence, initial_state=initial, mask=mask)
            return ops.sum(ops.square(every)) + ops.sum(last[:, :3])

        inputs, weights = gradients(layer, loss, SEQUENCE[:, :steps], *states)
        return [*inputs, *weights.values()]

    layer = with_random_weights(GRU(D, **OPTIONS, **options))
    ours = gradients_of(layer)
    theirs = gradients_of(of_keras(layer, **options))
    assert len(ours) == 4 + len(states)
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, 1e-5)


@by_kernel_or_not
@pytest.mark.parametrize(
    "returned",
    [
        {},
        {"return_state": True},
        {"return_sequences": True},
        {"return_state": True, "zero_output_for_mask": True},
    ],
)
def test_it_returns_what_is_asked_for(returned, written_out):
    layer = with_random_weights(GRU(D, **returned))
    found = layer(SEQUENCE, mask=MASK)
    expected = of_keras(layer, **{**dict.fromkeys(OPTIONS, False), **returned})(SEQUENCE, mask=MASK)
    found, expected = tree.flatten(found), tree.flatten(expected)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, as_numpy(other))


@by_kernel_or_not
def test_it_takes_what_keras_takes(written_out):
    layer = with_random_weights(GRU(D))
    whole = [ops.convert_to_tensor(each.round(), "int32") for each in (SEQUENCE, STATE)]
    found = layer(whole[0], initial_state=whole[1])
    assert_close(found, as_numpy(layer(SEQUENCE.round(), initial_state=[STATE.round()])))
    found = layer(SEQUENCE, mask=ops.cast(MASK, "int32"))
    assert_close(found, as_numpy(layer(SEQUENCE, mask=MASK)))


@by_kernel_or_not
def test_padding_may_be_nan(written_out):
    layer = with_random_weights(GRU(D))
    spoiled = np.where(MASK[..., None], SEQUENCE, np.nan)
    assert_close(layer(spoiled, mask=MASK), as_numpy(layer(SEQUENCE, mask=MASK)))


@by_kernel_or_not
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16", *FLOAT64])
def test_the_states_have_the_dtype_of_the_policy(dtype, written_out):
    layer = GRU(D, dtype=dtype, **OPTIONS)
    precise = with_random_weights(GRU(D, **OPTIONS))
    layer.build((B, T, E))
    layer.set_weights(precise.get_weights())
    found = layer(SEQUENCE, mask=MASK)
    for one, expected in zip(found, precise(SEQUENCE, mask=MASK), strict=True):
        assert keras.backend.standardize_dtype(one.dtype) == layer.compute_dtype
        assert_close(one, as_numpy(expected), 1e-6 if dtype == "float64" else 0.05)


def test_a_bidirectional_layer_reads_both_ways():
    both = keras.layers.Bidirectional(GRU(D, return_sequences=True), merge_mode=None)
    forwards, backwards = both(SEQUENCE)
    weights = both.get_weights()
    zeros = np.zeros((B, D))
    assert_close(forwards, oracle(weights[:3], SEQUENCE, zeros))
    assert_close(backwards, oracle(weights[3:], SEQUENCE[:, ::-1], zeros)[:, ::-1])


def test_no_units_are_an_error():
    with pytest.raises(ValueError, match="units"):
        GRU(0)


@pytest.mark.xla
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow's loops alone")
def test_the_gradient_stores_no_copy_of_the_kernels():
    import tensorflow as tf

    steps, units = 40, 64  # so the copies, 40 × 64 × 192 numbers, would dwarf all else

    def copies_of_a_kernel(layer):
        layer.build((1, steps, units))

        @tf.function(jit_compile=True)
        def gradients(sequence):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(sequence))
            return tape.gradient(loss, [weights.value for weights in layer.trainable_weights])

        text = gradients.experimental_get_compiler_ir(tf.zeros((1, steps, units)))("optimized_hlo")
        return text.count(f"f32[{steps},{units},{3 * units}]")

    assert copies_of_a_kernel(GRU(units)) == 0
    assert copies_of_a_kernel(keras.layers.RNN(keras.layers.GRUCell(units))) > 0
