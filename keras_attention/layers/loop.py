"""The one recurrent loop of the layers: a step, run over the time axis by `keras.layers.RNN`.

Beside it stands what every loop over a Keras cell needs: one cell, and its dropout masks.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import keras
from keras import ops, tree

from keras_attention.types import Array


class Cell:
    """A cell for `keras.layers.RNN`, made from a step function.

    `keras.layers.RNN` cannot hand a memory to its cell, so a cell that reads one exists only
    for one call, and its step closes over the memory of that call.

    Args:
        step: `step(inputs (B, …), states) → outputs, states`; the states are a flat list.
        initial_states: tensors with the batch first.
    """

    def __init__(self, step: Callable, initial_states: Sequence[Array]):
        self.step, self.initial_states = step, initial_states
        self.state_size = [state.shape[-1] for state in initial_states]

    def get_initial_state(self, batch_size: int | None = None) -> Sequence[Array]:
        del batch_size
        return self.initial_states

    def call(self, inputs: Array, states: Sequence[Array]) -> tuple[Array, list[Array]]:
        outputs, states = self.step(inputs, list(states))
        return outputs, list(states)

    __call__ = call


def check_single(cell: keras.layers.Layer) -> None:
    """Check that a cell is not a stack of cells.

    Raises:
        ValueError: it is one.
    """
    if isinstance(cell, keras.layers.StackedRNNCells):
        raise ValueError(
            "cell must be a single recurrent cell, got StackedRNNCells; put further RNN layers "
            "before or after this one"
        )


@contextmanager
def dropout_masks(cell: keras.layers.Layer, inputs: Array, state: Array) -> Iterator[None]:
    """Make the dropout masks of a Keras cell before a loop, and reset them after it.

    Args:
        cell: a Keras recurrent cell.
        inputs: an array like the inputs of a step, (B, E).
        state: an array like its first state, (B, units).
    """
    if not hasattr(cell, "get_dropout_mask"):
        yield
        return
    try:
        cell.get_dropout_mask(inputs)
        cell.get_recurrent_dropout_mask(state)
        yield
    finally:
        cell.reset_dropout_mask()
        cell.reset_recurrent_dropout_mask()


def _with_noise(cell, noise):
    """Return a cell that counts its steps and passes the noise of each step to another cell."""

    def step(inputs, states):
        count, *states = states
        outputs, states = cell.step(inputs, states, ops.take(noise, count[0, 0], axis=1))
        return outputs, [count + 1, *states]

    return Cell(step, [ops.zeros_like(noise[:, 0, :1], dtype="int32"), *cell.initial_states])


def _one_step(sequence):
    return ops.zeros((ops.shape(sequence)[0], 1, *ops.shape(sequence)[2:]), dtype=sequence.dtype)


def run(cell: Cell, sequence: Array, noise: Array | None = None) -> tuple[Array, list[Array]]:
    """Run a `Cell` over a sequence (B, T, …); return outputs (B, T, …) and the last states.

    With noise (B, T, S) the step is called as `step(inputs, states, noise (B, S))`. A loop cannot
    draw random numbers on some backends, so they are drawn before it.
    """
    if sequence.shape[1] == 0:  # Keras' loop takes at least one step: take one for the shapes
        outputs, _ = run(cell, _one_step(sequence), None if noise is None else _one_step(noise))
        return tree.map_structure(lambda each: each[:, :0], outputs), list(cell.initial_states)
    if noise is not None:
        (outputs, (_, *states)) = run(_with_noise(cell, noise), sequence)
        return outputs, states
    rnn = keras.layers.RNN(cell, return_sequences=True, name="loop")
    _, outputs, states = rnn.inner_loop(sequence, cell.get_initial_state(), mask=None)
    return outputs, list(states)
