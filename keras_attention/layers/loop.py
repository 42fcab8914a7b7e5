"""The one recurrent loop of the layers: a step, run over the time axis by `keras.layers.RNN`."""

import keras
from keras import ops


class Cell:
    """What `keras.layers.RNN` takes for a cell, made of a step that closes over its surroundings.

    A cell that reads a memory cannot be handed it by the RNN: it lives for one call, with the
    memory of that call.

    Args:
        step: `step(inputs (B, …), states) → outputs, states`; the states are a flat list.
        initial_states: tensors with the batch first.
    """

    def __init__(self, step, initial_states):
        self.step, self.initial_states = step, initial_states
        self.state_size = [state.shape[-1] for state in initial_states]

    def get_initial_state(self, batch_size=None):
        del batch_size
        return self.initial_states

    def call(self, inputs, states):
        outputs, states = self.step(inputs, list(states))
        return outputs, list(states)

    __call__ = call


def _with_noise(cell, noise):
    """Return a cell that counts its steps, and hands the noise of each to another cell."""

    def step(inputs, states):
        count, *states = states
        outputs, states = cell.step(inputs, states, ops.take(noise, count[0, 0], axis=1))
        return outputs, [count + 1, *states]

    return Cell(step, [ops.zeros_like(noise[:, 0, :1], dtype="int32"), *cell.initial_states])


def run(cell, sequence, noise=None):
    """Run a `Cell` over a sequence (B, T, …); return outputs (B, T, …), states after the last.

    With noise (B, T, S) the step is called as `step(inputs, states, noise (B, S))`: on some
    backends a loop cannot draw random numbers, so they are drawn before it.
    """
    if noise is not None:
        (outputs, (_, *states)) = run(_with_noise(cell, noise), sequence)
        return outputs, states
    rnn = keras.layers.RNN(cell, return_sequences=True, name="loop")
    _, outputs, states = rnn.inner_loop(sequence, cell.get_initial_state(), mask=None)
    return outputs, list(states)
