"""The cell of a Neural Turing Machine: a controller, and heads that read and write a memory.

h_t = controller([x_t; r_{t−1}]);   M_t = write(M_{t−1}, h_t);   r_t = read(M_t, h_t)
"""

import keras
from keras import ops

from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import addressing
from keras_attention.ops.addressing import Address

CONTROLLERS = ("feed_forward", "lstm")
STARTS = ("random", "first_row")


@keras.saving.register_keras_serializable("keras_attention")
class NTMCell(WeightedLayer):
    """Remember in rows that are found by what they hold or where they are, for `keras.layers.RNN`.

    Sections 3.1–3.3 of Graves et al. (2014). In each step

    1. the controller sees the input and what was read in the step before;
    2. each write head finds its rows in the memory as it was, and all of them erase, then all add;
    3. each read head finds its rows in the memory as it is now, and reads them.

    So a read sees what was written in the same step, as the paper's times say: r_t reads M_t.

    The memory at the start is constant or learned, what was read before the start and where the
    heads stood are learned. Before training the heads stand at random places or all at the first
    row, never evenly everywhere: where all rows are alike, too, no gradient tells one row from
    another. Which of them they do is not in the paper; see `start`.

    Our names / the paper's: `rows` × `width` / N × M.

    Args:
        units: of the controller.
        rows: N.
        width: M.
        read_heads: number of them.
        write_heads: number of them.
        shifts: how many neighbouring moves a head can choose from; 3: back, stay, on.
        controller: `"feed_forward"`, a dense layer with tanh, or `"lstm"`.
        learned_memory: whether the first memory is learned; else it is 1e-6 everywhere.
        start: where the heads stand before training: `"random"`, each at places of its own, or
            `"first_row"`, all together, so that one soon reads what another has written.
        focus: how sure of their first places the heads are before training: the standard
            deviation of normal logits, one a row, or the logit of the first row beside zeros.
        gate_bias: what is added to the gates' logits; below 0 heads go on from where they are
            rather than look for content.
        stay_bias: what is added to the logit of no move; above 0 heads stay where they are until
            they learn to move.
        sharp_bias: what is added to the exponents' logits; above 0 heads blur less.
        return_attention_scores: whether the heads' weights are part of the output.
        **kwargs: initializers, regularizers and constraints of the controller and of what steers
            the heads, as for `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        inputs: x_t, (B, F).
        states: a list: those of the controller, the memory (B, N·M), the reads (B, H_r·M) and the
            weights (B, (H_r + H_w)·N), read heads first, all float32.

    Returns:
        `[h_t; r_t]`, (B, units + H_r·M), followed on request by the weights, (B, (H_r + H_w)·N);
        and the next states. `split` takes the output of the RNN apart.

    Raises:
        ValueError: a size is not positive, there are more shifts than rows, or there is no such
            controller or start.

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
        units=100,
        rows=128,
        width=20,
        read_heads=1,
        write_heads=1,
        shifts=3,
        controller="feed_forward",
        learned_memory=False,
        start="random",
        focus=1.0,
        gate_bias=0.0,
        stay_bias=0.0,
        sharp_bias=0.0,
        return_attention_scores=False,
        **kwargs,
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
                units, name="controller", **self.weight_options(), **policy
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
    def compute_dtype(self):
        """Float32 under every policy: what is kept for many steps would blur in half precision."""
        return "float32"

    @property
    def heads(self):
        """Number of heads that read or write."""
        return self.read_heads + self.write_heads

    @property
    def _address_width(self):
        return self.width + self.shifts + 3

    @property
    def state_size(self):
        """Widths of the states, a flat list."""
        core = [self.units] * (2 if self.controller == "lstm" else 0)
        return [
            *core,
            self.rows * self.width,
            self.read_heads * self.width,
            self.heads * self.rows,
        ]

    @property
    def output_size(self):
        """Width of the output."""
        weights = self.heads * self.rows if self.return_attention_scores else 0
        return self.units + self.read_heads * self.width + weights

    def build(self, inputs_shape):
        reads = self.read_heads * self.width
        self.core.build((inputs_shape[0], inputs_shape[-1] + reads))
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
        """Return the logits of the first places before training, (1, H, N)."""
        if self.start == "random":
            return keras.initializers.RandomNormal(stddev=self.focus)(shape, dtype=dtype)
        first = self.focus * ops.one_hot([0], self.rows, dtype=dtype)
        return ops.zeros(shape, dtype=dtype) + first  # of its own, no view: it is written to

    def get_initial_state(self, batch_size=None):
        memory = ops.full((1, self.rows * self.width), 1e-6)
        if self.learned_memory:
            memory = self.first_memory
        weights = ops.reshape(ops.softmax(self.first_places), (1, -1))
        core = [ops.zeros((1, self.units))] * (2 if self.controller == "lstm" else 0)
        states = [*core, memory, ops.tanh(self.first_reads), weights]
        return [ops.broadcast_to(state, (batch_size, state.shape[-1])) for state in states]

    def call(self, inputs, states):
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
        """Return what the controller has to say, and its next states."""
        if self.controller == "lstm":
            hidden, states = self.core(inputs, states)
        else:
            hidden = self.core(inputs)
        hidden, *states = (ops.cast(x, "float32") for x in (hidden, *states))
        return hidden, states

    def _instruct(self, hidden):
        """Return the addresses for the read and the write heads, what to erase, what to add."""
        numbers = ops.cast(self.to_heads(hidden), "float32")
        split = self.heads * self._address_width
        places = ops.reshape(numbers[:, :split], (-1, self.heads, self._address_width))
        texts = ops.reshape(numbers[:, split:], (-1, self.write_heads, 2 * self.width))
        stay = ops.one_hot([-addressing.moves(self.shifts)[0]], self.shifts)
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

    def split(self, outputs):
        """Take the output of an RNN over this cell apart.

        Args:
            outputs: (B, T, output_size), of a cell with `return_attention_scores`.

        Returns:
            `{"output": (B, T, units + H_r·M), "read_weights": (B, T, H_r, N),
            "write_weights": (B, T, H_w, N)}`.

        Raises:
            ValueError: the cell does not return weights.
        """
        if not self.return_attention_scores:
            raise ValueError("the weights are not in the output: set return_attention_scores=True")
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

    def get_config(self):
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
