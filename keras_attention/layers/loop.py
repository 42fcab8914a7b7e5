"""The one recurrent loop of the layers: a step, run over the time axis by `keras.layers.RNN`."""

import keras


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


def run(cell, sequence):
    """Run a `Cell` over a sequence (B, T, …); return outputs (B, T, …), states after the last."""
    rnn = keras.layers.RNN(cell, return_sequences=True, name="loop")
    _, outputs, states = rnn.inner_loop(sequence, cell.get_initial_state(), mask=None)
    return outputs, list(states)
