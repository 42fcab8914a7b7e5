"""A gated recurrent unit whose gradient is written out: one product for its kernel, after the loop.

x_t = (input t) W + b,   u_t = s_{t−1} U + c
z_t, r_t = σ(x_t^z + u_t^z), σ(x_t^r + u_t^r),   h_t = tanh(x_t^h + r_t ⊙ u_t^h)
s_t = z_t ⊙ s_{t−1} + (1 − z_t) ⊙ h_t

With f_t = ∂s_t/∂u_t, 3·D numbers, and g_t, the gradient of what step t returned, the gradients δ_t
of the states follow each other backwards from δ_T = g_T, and all others follow from them:

δ_{t−1} = g_{t−1} + z_t ⊙ δ_t + (f_t ⊙ δ_t) Uᵀ,   ∂U = Σ_t s_{t−1}ᵀ (f_t ⊙ δ_t)

Where TensorFlow computes without XLA, its tape stores every intermediate result of every step,
makes a product for ∂U in each, as large as U itself, and adds them up.

Where the inputs are vectors of an embedding, x_t is computed once for each different id.
"""

import tensorflow as tf
from keras import ops

from keras_attention.kernels.embedding import distinct_of, spread
from keras_attention.types import Array


def gru(
    sequence: Array,
    kernel: Array,
    recurrent_kernel: Array,
    bias: Array,
    first: Array | None = None,
    mask: Array | None = None,
    go_backwards: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Array, Array]:
    """Return what each step of a GRU returns, and its last state.

    Args:
        sequence: (B, T, E), with at least one step; maybe what `embedding` returned.
        kernel: W, (E, 3·D), as of `keras.layers.GRUCell`; a tensor, not a variable.
        recurrent_kernel: U, (D, 3·D), likewise.
        bias: b and c, (2, 3·D), likewise.
        first: the state before the first step, (B, D); None: zeros.
        mask: booleans (B, T), False where a step keeps the state.
        go_backwards: whether the last step comes first.
        zero_output_for_mask: whether such steps return zeros, not the state.

    Returns:
        The states (B, T, D), in the order of the steps, or zeros; and the last state (B, D).
    """

    def time_major(array):
        """Return an array (B, T, …) as (T, B, …), in the order of the steps."""
        array = tf.transpose(array, (1, 0, *range(2, array.shape.rank)))
        return tf.reverse(array, [0]) if go_backwards else array

    bias, recurrent_bias = tf.unstack(bias)
    inputs = _projected(sequence, kernel, bias, time_major)
    is_real = None if mask is None else time_major(mask)[..., None]
    if first is None:
        first = tf.zeros_like(inputs[0, :, : recurrent_kernel.shape[0]])
        recurrent = tf.zeros_like(inputs[0]) + recurrent_bias
    else:
        recurrent = tf.nn.bias_add(tf.matmul(first, recurrent_kernel), recurrent_bias)
    states = _states(inputs, first, recurrent, recurrent_kernel, recurrent_bias, is_real)
    returned = states
    if zero_output_for_mask and is_real is not None:
        returned = tf.where(is_real, states, tf.zeros_like(states))
    return tf.transpose(returned, (1, 0, 2)), states[-1]


def _projected(sequence, kernel, bias, time_major):
    """Return x_t of all steps, (T, B, 3·D), by one product: of all inputs, or of the distinct."""

    def project(rows):
        return tf.nn.bias_add(tf.matmul(rows, kernel), bias)

    distinct = distinct_of(sequence)
    if distinct is not None:
        return spread(project(distinct.rows), time_major(distinct.places))
    steps = time_major(sequence)
    inputs = project(tf.reshape(steps, (-1, steps.shape[-1])))
    return tf.reshape(inputs, (*ops.shape(steps)[:2], bias.shape[0]))


def _states(inputs, first, recurrent, kernel, bias, is_real):
    """Return all states (T, B, D).

    Args:
        inputs: all x_t, (T, B, 3·D).
        first: s_0, (B, D).
        recurrent: u_1, (B, 3·D), through which U and c get their gradients from the first step.
        kernel: U, (D, 3·D).
        bias: c, (3·D,).
        is_real: booleans (T, B, 1), False where a step keeps the state; or None.
    """
    count, width = ops.shape(inputs)[0], kernel.shape[0]

    def split(array):
        return tf.split(array, [2 * width, width], axis=-1)

    def read(array):
        return tf.TensorArray(array.dtype, count).unstack(array).read

    def empty():
        return tf.TensorArray(inputs.dtype, count, element_shape=(None, width))

    def while_steps(goes_on, step, carry):
        return tf.while_loop(goes_on, step, carry, parallel_iterations=1, maximum_iterations=count)

    @tf.custom_gradient
    def states(inputs, first, recurrent, kernel, bias):
        gates_at, candidate_at = map(read, split(inputs))
        is_real_at = None if is_real is None else read(is_real)

        def advance(t, before, recurrent, written):
            """Return the state of a step, and everything that is written down in it."""
            of_gates, of_candidate = split(recurrent)
            update, reset = tf.split(tf.sigmoid(gates_at(t) + of_gates), 2, axis=-1)
            candidate = tf.tanh(candidate_at(t) + reset * of_candidate)
            after = update * before + (1 - update) * candidate
            if is_real_at is not None:
                after = tf.where(is_real_at(t), after, before)
            found = after, update, reset, candidate, of_candidate
            return after, [array.write(t, each) for array, each in zip(written, found, strict=True)]

        def step(t, before, *written):
            recurrent = tf.nn.bias_add(tf.matmul(before, kernel), bias)
            after, written = advance(t, before, recurrent, written)
            return t + 1, after, *written

        state, written = advance(0, first, recurrent, [empty() for _ in range(5)])
        _, _, *written = while_steps(lambda t, *_: t < count, step, (1, state, *written))
        found = written[0].stack()

        def gradient(upstream):
            update, reset, candidate, of_candidate = (each.stack() for each in written[1:])
            if is_real is not None:  # a step that keeps the state is one whose update gate is 1
                update = tf.where(is_real, update, tf.ones_like(update))
            before = tf.concat([first[None], found[:-1]], axis=0)
            of_input = (1 - update) * (1 - candidate * candidate)
            to_update = (before - candidate) * update * (1 - update)
            to_reset = of_input * of_candidate * reset * (1 - reset)
            factors = tf.concat([to_update, to_reset, of_input * reset], axis=-1)
            upstream_of, update_of, factors_of = read(upstream), read(update), read(factors)
            transposed = tf.transpose(kernel)

            def back(t, delta, deltas):
                deltas = deltas.write(t, delta)
                through_kernel = tf.matmul(tf.tile(delta, (1, 3)) * factors_of(t), transposed)
                delta = upstream_of(t - 1) + update_of(t) * delta + through_kernel
                return t - 1, delta, deltas

            last = count - 1, upstream_of(count - 1), empty()
            _, delta, deltas = while_steps(lambda t, *_: t > 0, back, last)
            deltas = deltas.write(0, delta).stack()
            of_recurrent = tf.tile(deltas, (1, 1, 3)) * factors
            of_gates, _ = split(of_recurrent)
            rows = tf.reshape(of_recurrent[1:], (-1, 3 * width))
            return (
                tf.concat([of_gates, deltas * of_input], axis=-1),
                delta * update[0],
                of_recurrent[0],
                tf.matmul(tf.reshape(found[:-1], (-1, width)), rows, transpose_a=True),
                tf.raw_ops.BiasAddGrad(out_backprop=rows),
            )

        return found, gradient

    return states(inputs, first, recurrent, kernel, bias)
