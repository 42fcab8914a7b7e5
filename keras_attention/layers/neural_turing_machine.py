"""The cell of a Neural Turing Machine: a controller, and heads that read and write a memory.

h_t = controller([x_t; r_{t−1}]);   M_t = write(M_{t−1}, h_t);   r_t = read(M_t, h_t)
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.weights import PreciseOrthogonal, WeightedLayer
from keras_attention.ops import addressing, masked_softmax
from keras_attention.ops.addressing import Address
from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array, Shape

CONTROLLERS = ("feed_forward", "lstm")
STARTS = ("random", "first_row")


@keras.saving.register_keras_serializable("keras_attention")
class NTMCell(WeightedLayer):
    """Address the rows of a memory by content or location: a cell for `keras.layers.RNN`.

    Sections 3.1–3.3 of Graves et al. (2014). In each step

    1. the controller receives the input and the reads of the previous step;
    2. each write head addresses rows of the previous memory; all of them erase, then all add;
    3. each read head addresses rows of the new memory and reads them.

    So a read includes what was written in the same step, as the paper's time indices imply: r_t
    reads M_t.

    The initial memory is constant or learned; the initial reads and weights are learned. Before
    training, the heads attend to random rows or all to the first row, never uniformly to all rows:
    if the rows were equal too, no gradient would tell one row from another. The paper does not
    specify this choice; see `start`.

    Our names / the paper's: `rows` × `width` / N × M.

    Args:
        units: width of the controller.
        rows: N.
        width: M.
        read_heads: number of read heads, H_r.
        write_heads: number of write heads, H_w.
        shifts: number of neighbouring moves that a head can choose from; 3: back, stay, forward.
        controller: `"feed_forward"`, a dense layer with tanh, or `"lstm"`.
        learned_memory: whether the initial memory is learned; else it is 1e-6 everywhere.
        start: the heads' initial weights before training: `"random"`, different for each head, or
            `"first_row"`, equal for all, so that one head soon reads what another has written.
        focus: how sharp the initial weights are before training: the standard deviation of normal
            logits, one per row, or the logit of the first row where the others are 0.
        gate_bias: added to the logits of the gates; below 0, heads continue from their previous
            rows rather than search by content.
        stay_bias: added to the logit of no move; above 0, heads stay until they learn to move.
        sharp_bias: added to the logits of the exponents; above 0, the weights blur less.
        return_attention_scores: whether the output includes the heads' weights.
        **kwargs: initializers, regularizers and constraints of the controller and of the layer that
            steers the heads, as for `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        inputs: x_t, (B, F).
        states: a list of the controller's states, the memory (B, N·M), the reads (B, H_r·M) and the
            weights (B, (H_r + H_w)·N), read heads first, at least float32.

    Returns:
        `[h_t; r_t]`, (B, units + H_r·M), followed on request by the weights, (B, (H_r + H_w)·N);
        and the next states. `split` separates the parts of the RNN's output.

    Raises:
        ValueError: a size is not positive, there are more shifts than rows, or `controller` or
            `start` is unknown.

    Example:
    >>> import numpy as np
    >>> machine = keras.layers.RNN(NTMCell(units=7, rows=5, width=3), return_sequences=True)
    >>> tuple(machine(np.ones((2, 4, 6))).shape)
    (2, 4, 10)

    References:
        Graves, Wayne, Danihelka (2014), Neural Turing Machines, arXiv:1410.5401.
    """

    def __init__(
        self,
        units: int = 100,
        rows: int = 128,
        width: int = 20,
        read_heads: int = 1,
        write_heads: int = 1,
        shifts: int = 3,
        controller: str = "feed_forward",
        learned_memory: bool = False,
        start: str = "random",
        focus: float = 1.0,
        gate_bias: float = 0.0,
        stay_bias: float = 0.0,
        sharp_bias: float = 0.0,
        return_attention_scores: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        sizes = {
            "units": units,
            "rows": rows,
            "width": width,
            "read_heads": read_heads,
            "write_heads": write_heads,
            "shifts": shifts,
        }
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name} must be positive, got {size}")
        if shifts > rows:
            raise ValueError(f"shifts must be at most the number of rows, {rows}, got {shifts}")
        if controller not in CONTROLLERS:
            raise ValueError(f"controller must be one of {CONTROLLERS}, got {controller!r}")
        if start not in STARTS:
            raise ValueError(f"start must be one of {STARTS}, got {start!r}")
        self.units, self.rows, self.width = units, rows, width
        self.read_heads, self.write_heads, self.shifts = read_heads, write_heads, shifts
        self.controller, self.learned_memory = controller, learned_memory
        self.start, self.focus = start, focus
        self.gate_bias, self.stay_bias, self.sharp_bias = gate_bias, stay_bias, sharp_bias
        self.return_attention_scores = return_attention_scores
        policy = {"dtype": self.dtype_policy}
        if controller == "lstm":
            self.core = keras.layers.LSTMCell(
                units,
                recurrent_initializer=PreciseOrthogonal(),
                name="controller",
                **self.weight_options(),
                **policy,
            )
        else:
            self.core = keras.layers.Dense(
                units, "tanh", name="controller", **self.weight_options(), **policy
            )
        self.to_heads = keras.layers.Dense(
            self.heads * self._address_width + write_heads * 2 * width,
            name="heads",
            **self.weight_options(),
            **policy,
        )

    @property
    def compute_dtype(self) -> str:
        """At least float32: half precision would blur a memory kept for many steps."""
        return precise_dtype(super().compute_dtype)

    @property
    def heads(self) -> int:
        """Number of read and write heads."""
        return self.read_heads + self.write_heads

    @property
    def _address_width(self):
        return self.width + self.shifts + 3

    @property
    def state_size(self) -> list[int]:
        """Widths of the states, a flat list."""
        core = [self.units] * (2 if self.controller == "lstm" else 0)
        return [
            *core,
            self.rows * self.width,
            self.read_heads * self.width,
            self.heads * self.rows,
        ]

    @property
    def output_size(self) -> int:
        """Width of the output."""
        weights = self.heads * self.rows if self.return_attention_scores else 0
        return self.units + self.read_heads * self.width + weights

    def build(self, inputs_shape: Shape) -> None:
        reads = self.read_heads * self.width
        width: Any = inputs_shape[-1]
        self.core.build((inputs_shape[0], width + reads))
        self.to_heads.build((inputs_shape[0], self.units))
        if self.learned_memory:
            self.first_memory = self.add_weight(
                (1, self.rows * self.width), keras.initializers.RandomNormal(0.1), name="memory"
            )
        self.first_reads = self.add_weight(
            (1, reads), keras.initializers.RandomNormal(stddev=0.1), name="reads"
        )
        self.first_places = self.add_weight(
            (1, self.heads, self.rows), self._draw_places, name="places"
        )

    def _draw_places(self, shape, dtype=None):
        """Return the logits of the initial weights before training, (1, H, N)."""
        if self.start == "random":
            return keras.initializers.RandomNormal(stddev=self.focus)(shape, dtype=dtype)
        first = self.focus * ops.one_hot([0], self.rows, dtype=dtype)
        return ops.zeros(shape, dtype=dtype) + first  # no view: it is written to

    def get_initial_state(self, batch_size: int | None = None) -> list[Array]:
        memory = ops.full((1, self.rows * self.width), 1e-6)
        if self.learned_memory:
            memory = self.first_memory
        weights = ops.reshape(masked_softmax(self.first_places), (1, -1))
        core = [ops.zeros((1, self.units))] * (2 if self.controller == "lstm" else 0)
        states = [*core, memory, ops.tanh(self.first_reads), weights]
        states = [ops.cast(state, self.compute_dtype) for state in states]
        states = [ops.broadcast_to(state, (batch_size, state.shape[-1])) for state in states]
        return [ops.copy(state) for state in states]  # no views: a stateful RNN writes to them

    def call(self, inputs: Array, states: list[Array]) -> tuple[Array, list[Array]]:
        *core, memory, reads, weights = states
        memory = ops.reshape(memory, (-1, self.rows, self.width))
        weights = ops.reshape(weights, (-1, self.heads, self.rows))
        reading, writing = weights[:, : self.read_heads], weights[:, self.read_heads :]

        hidden, core = self._control(ops.concatenate([inputs, reads], axis=-1), core)
        to_read, to_write, erases, adds = self._instruct(hidden)
        writing = addressing.address(to_write, memory, writing)
        memory = addressing.erase(memory, writing, erases)
        memory = addressing.add(memory, writing, adds)
        reading = addressing.address(to_read, memory, reading)
        reads = addressing.read(memory, reading)

        reads = ops.reshape(reads, (-1, self.read_heads * self.width))
        weights = ops.concatenate([reading, writing], axis=1)
        weights = ops.reshape(weights, (-1, self.heads * self.rows))
        memory = ops.reshape(memory, (-1, self.rows * self.width))
        outputs = [hidden, reads, weights] if self.return_attention_scores else [hidden, reads]
        return ops.concatenate(outputs, axis=-1), [*core, memory, reads, weights]

    def _control(self, inputs, states):
        """Return the controller's output and next states."""
        if self.controller == "lstm":
            hidden, states = self.core(inputs, states)
        else:
            hidden = self.core(inputs)
        hidden, *states = (ops.cast(x, self.compute_dtype) for x in (hidden, *states))
        return hidden, states

    def _instruct(self, hidden):
        """Return addresses for the read and the write heads, what to erase and what to add."""
        numbers = ops.cast(self.to_heads(hidden), self.compute_dtype)
        split = self.heads * self._address_width
        places = ops.reshape(numbers[:, :split], (-1, self.heads, self._address_width))
        texts = ops.reshape(numbers[:, split:], (-1, self.write_heads, 2 * self.width))
        stay = ops.one_hot([-addressing.moves(self.shifts)[0]], self.shifts, dtype=numbers.dtype)
        wanted = Address(
            keys=ops.tanh(places[..., : self.width]),
            strengths=ops.softplus(places[..., self.width]),
            gates=ops.sigmoid(places[..., self.width + 1] + self.gate_bias),
            exponents=1.0 + ops.softplus(places[..., self.width + 2] + self.sharp_bias),
            shifts=ops.softmax(places[..., self.width + 3 :] + self.stay_bias * stay),
        )
        to_read = Address(*(x[:, : self.read_heads] for x in wanted))
        to_write = Address(*(x[:, self.read_heads :] for x in wanted))
        erases = ops.sigmoid(texts[..., : self.width])
        adds = ops.tanh(texts[..., self.width :])
        return to_read, to_write, erases, adds

    def split(self, outputs: Array) -> dict[str, Array]:
        """Split the output of an RNN over this cell into its parts.

        Args:
            outputs: (B, T, output_size), of a cell with `return_attention_scores`.

        Returns:
            `{"output": (B, T, units + H_r·M), "read_weights": (B, T, H_r, N),
            "write_weights": (B, T, H_w, N)}`.

        Raises:
            ValueError: the cell does not return weights.
        """
        if not self.return_attention_scores:
            raise ValueError("the output has no weights to split: set return_attention_scores=True")
        width = self.output_size - self.heads * self.rows
        heads = [
            outputs[..., begin : begin + self.rows]
            for begin in range(width, self.output_size, self.rows)
        ]
        return {
            "output": outputs[..., :width],
            "read_weights": ops.stack(heads[: self.read_heads], axis=-2),
            "write_weights": ops.stack(heads[self.read_heads :], axis=-2),
        }

    def get_config(self) -> dict[str, Any]:
        names = (
            "units",
            "rows",
            "width",
            "read_heads",
            "write_heads",
            "shifts",
            "controller",
            "learned_memory",
            "start",
            "focus",
            "gate_bias",
            "stay_bias",
            "sharp_bias",
            "return_attention_scores",
        )
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
