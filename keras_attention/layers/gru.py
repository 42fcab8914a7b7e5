"""A gated recurrent unit; what does not depend on the previous step is computed before the loop.

x'_t = x_t W + b                               for all steps at once, before the loop
z, r = σ(x'_t^z + s_{t−1} U^z + c^z), σ(x'_t^r + s_{t−1} U^r + c^r)
h    = tanh(x'_t^h + r ⊙ (s_{t−1} U^h + c^h))
s_t  = z ⊙ s_{t−1} + (1 − z) ⊙ h
"""

from typing import Any

import keras
from keras import ops

from keras_attention.kernels import kernel_with_gradient
from keras_attention.layers.loop import Cell
from keras_attention.ops.precision import matmul
from keras_attention.types import Array


@keras.saving.register_keras_serializable("keras_attention")
class GRU(keras.layers.RNN):
    """Run the gated recurrent unit of Cho et al. (2014) over a sequence.

    It has the weights of `keras.layers.GRU` and computes the same numbers, and XLA can compile it
    on every backend. `keras.layers.RNN` over a `keras.layers.GRUCell` multiplies the inputs by
    their kernel once per step; here one product does this for all steps. The recurrent kernel is
    read before the loop: for the gradient, TensorFlow would store a copy of a variable for each
    step that reads it. Where a model of this package trains without XLA on a CPU, the gradient is
    written out, and vectors of a `TokenEmbedding` are multiplied once for each different id
    (`keras_attention.kernels`).

    Args:
        units: width of the state, D.
        kernel_initializer: initializer of the kernel of the inputs.
        recurrent_initializer: initializer of the kernel of the state.
        **kwargs: `return_sequences`, `return_state`, `go_backwards` and others, as for
            `keras.layers.RNN`.

    Call arguments:
        sequence: (B, T, E).
        initial_state: (B, D), or a list of it; zeros by default.
        mask: booleans (B, T), False where a step keeps the state.

    Returns:
        The last state (B, D), or with `return_sequences` all states (B, T, D); with
        `return_state` this and the last state.

    Raises:
        ValueError: `units` is not positive.

    Example:
    >>> import numpy as np
    >>> tuple(GRU(4, return_sequences=True)(np.ones((2, 3, 5))).shape)
    (2, 3, 4)

    References:
        Cho et al. (2014), arXiv:1406.1078, equations (5) to (8), but as in cuDNN the reset gate
        follows the product, r ⊙ (U h + c), and there is a second bias, c.
    """

    def __init__(
        self,
        units: int,
        *,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        **kwargs: Any,
    ):
        cell = keras.layers.GRUCell(
            units,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            dtype=kwargs.get("dtype"),
        )
        super().__init__(cell, **kwargs)

    def call(
        self,
        sequences: Array,
        initial_state: Any = None,
        mask: Array | None = None,
        training: bool = False,
    ) -> Any:
        kernel = self._kernel(initial_state, mask)
        if kernel is None:
            return super().call(sequences, initial_state, mask, training)
        first = initial_state[0] if isinstance(initial_state, (list, tuple)) else initial_state
        outputs, last = kernel(
            ops.cast(sequences, self.compute_dtype),
            *map(ops.copy, (self.cell.kernel, self.cell.recurrent_kernel, self.cell.bias)),
            first=None if first is None else ops.cast(first, self.compute_dtype),
            mask=None if mask is None else ops.cast(mask, "bool"),
            go_backwards=self.go_backwards,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        outputs = outputs if self.return_sequences else outputs[:, -1]
        return (outputs, last) if self.return_state else outputs

    def _kernel(self, initial_state, mask):
        """Return what is faster than Keras' loop, None if it would compute something else."""
        if self.stateful or self.unroll:
            return None
        # Before the first word Keras returns zeros for padding, and the kernel the first state
        if initial_state is not None and mask is not None:
            return None
        return kernel_with_gradient("gru")

    def inner_loop(
        self, sequences: Array, initial_state: list[Array], mask: Array, training: bool = False
    ) -> tuple[Array, Array, list[Array]]:
        # Copies: Keras hands on a variable of TensorFlow, which every step would read anew.
        bias, recurrent_bias = ops.unstack(ops.copy(self.cell.bias))
        recurrent_kernel = ops.copy(self.cell.recurrent_kernel)
        inputs = matmul(sequences, self.cell.kernel) + bias

        def step(inputs, states):
            (before,) = states
            recurrent = matmul(before, recurrent_kernel) + recurrent_bias
            of_update, of_reset, of_candidate = ops.split(inputs, 3, axis=-1)
            update, reset, candidate = ops.split(recurrent, 3, axis=-1)
            update, reset = ops.sigmoid(of_update + update), ops.sigmoid(of_reset + reset)
            candidate = ops.tanh(of_candidate + reset * candidate)
            after = update * before + (1 - update) * candidate
            return after, [after]

        loop = keras.layers.RNN(
            Cell(step, initial_state),
            return_sequences=self.return_sequences,
            go_backwards=self.go_backwards,
            unroll=self.unroll,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        return loop.inner_loop(inputs, initial_state, mask)

    def get_config(self) -> dict[str, Any]:
        config, of_cell = super().get_config(), self.cell.get_config()
        del config["cell"]
        own = ("units", "kernel_initializer", "recurrent_initializer")
        return {**config, **{name: of_cell[name] for name in own}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "GRU":
        return cls(**config)
