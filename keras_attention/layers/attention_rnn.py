"""A recurrent decoder with attention inside its loop: one layer, not an unrolled Python loop.

attend, then recur   c_t = attention(s_{t−1}),  s_t = cell([c_t; x_t], s_{t−1})
recur, then attend   s_t = cell([x_t; a_{t−1}], s_{t−1}),  a_t = attention(s_t)     (input feeding)
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import keras
from keras import ops, tree

from keras_attention.layers import loop
from keras_attention.layers.base import (
    Attention,
    attend,
    both,
    check_attends,
    check_policies,
    check_shapes,
    full_mask,
    zeros_for_each,
)
from keras_attention.layers.parts import LayerWithParts, saved, taken
from keras_attention.types import Array, Shape


class AttentionCell(LayerWithParts):
    """Base of both cells: a recurrent cell and an attention layer, bound to a memory in each call.

    Args:
        cell: a Keras recurrent cell whose first state is its output, such as
            `keras.layers.LSTMCell`.
        attention: an attention layer of this package.
        **kwargs: as for every Keras layer.

    Raises:
        ValueError: `attention` is not an attention layer of this package or has dropout, or `cell`
            is a stack of cells.
    """

    part_names = ("cell", "attention")

    def __init__(self, cell: keras.layers.Layer, attention: Attention, **kwargs: Any):
        super().__init__(**kwargs)
        check_attends(attention)
        for part in attention._flatten_layers():
            dropout = getattr(part, "dropout", 0)
            if dropout:  # on some backends a loop cannot draw random numbers
                raise ValueError(
                    f"attention inside a loop takes no dropout, got {dropout} in {part.name}; give "
                    "it dropout=0.0"
                )
        loop.check_single(cell)
        self.supports_masking = True
        self.cell, self.attention = taken(cell), taken(attention)

    @property
    def units(self) -> int:
        """Width of the cell's output."""
        return self.cell.output_size

    def build(
        self, inputs_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> None:
        key_shape = key_shape or value_shape
        batch, width = inputs_shape[0], cast(int, inputs_shape[-1])
        check_policies(self, self.cell, self.attention)
        if not self.attention.built:  # layers loaded from a file are already built
            self.attention.build((batch, 1, self.units), value_shape, key_shape)
        self.input_width = width
        self.read_width = self.width_of_read(value_shape, key_shape)
        if not self.cell.built:
            self.cell.build((batch, width + self.read_width))

    def width_of_read(self, value_shape: Shape, key_shape: Shape | None = None) -> int:
        """Return the width of what the attention reads from a memory of these shapes."""
        query_shape = (value_shape[0], 1, self.units)
        key_shape = key_shape or value_shape
        shape: Any = self.attention.compute_output_shape(query_shape, value_shape, key_shape)
        return shape[-1]

    def width_of_output(self, value_shape: Shape, key_shape: Shape | None = None) -> int:
        """Return the width of this cell's output with a memory of these shapes."""
        del value_shape, key_shape
        return self.units

    def own_states(self, zeros: Callable[[int], Array]) -> list[Array]:
        """Return the states other than the attention's; `zeros(width)` makes one of them."""
        sizes = self.cell.state_size
        return [zeros(size) for size in (sizes if isinstance(sizes, (list, tuple)) else [sizes])]

    def initial_states(self, mask: Array) -> list[Array]:
        """Return a flat list for a mask (B, S): zeros for own states, then the attention's."""

        def zeros(width):
            return zeros_for_each(mask, width, self.compute_dtype)

        return [*self.own_states(zeros), *self.attention.initial_state(mask)]

    def over(
        self,
        value: Array,
        key: Array | None = None,
        attention_mask: Array | None = None,
        initial_states: Sequence[Array] | None = None,
    ) -> loop.Cell:
        """Bind this cell to a memory and return the result, a cell for `keras.layers.RNN`.

        Args:
            value: (B, S, D).
            key: (B, S, K). Defaults to `value`.
            attention_mask: booleans (B, S).
            initial_states: a list like that of `initial_states`, which is the default.

        Returns:
            A `loop.Cell` whose output is a pair: (B, units) and the weights (B, S), or (B, H, S).
        """
        mask = full_mask(value, attention_mask)
        memory = self.attention.project_memory(value, key, mask)
        states = self.initial_states(mask)
        if initial_states is not None:
            if len(initial_states) != len(states):
                shapes = [tuple(state.shape) for state in states]
                raise ValueError(
                    f"initial_states must be a list of {len(states)} tensors {shapes}, the states "
                    f"of the cell and of the attention, got {len(initial_states)}"
                )
            # Keras casts the arguments of a call, so the states may have lost their dtypes.
            states = [
                ops.cast(given, state.dtype)
                for given, state in zip(initial_states, states, strict=True)
            ]
        count = len(self.own_states(lambda width: width))

        def step(inputs, states, noise=None):
            def attend_once(query):
                noise_now = None if noise is None else noise[:, None]
                read, weights, state = attend(
                    self.attention, query[:, None], memory, states[count:], noise_now
                )
                return read[:, 0], tree.map_structure(lambda each: each[..., 0, :], weights), state

            output, weights, own, state = self.advance(inputs, states[:count], attend_once)
            return (output, weights), [*own, *state]

        return loop.Cell(step, states)

    def advance(
        self, inputs: Array, states: list[Array], attend_once: Callable[[Array], Any]
    ) -> tuple[Array, Array, list[Array], list[Array]]:
        """Take one step: inputs (B, E) → output, weights (B, S), own states, attention's state.

        `attend_once(query (B, Q))` returns the read (B, D), the weights and the attention's state.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cell": saved(self.cell),
            "attention": saved(self.attention),
        }


@keras.saving.register_keras_serializable("keras_attention")
class AttendThenRecur(AttentionCell):
    """The decoder step of Bahdanau et al. (2015), appendix A.2.2, and of the lecture's model.

    The previous state s_{t−1} is the query. The read c_t and the input enter the cell together:
    s_t = cell([c_t; x_t], s_{t−1}). The output is that of the cell.

    References:
        Bahdanau, Cho, Bengio (2015), arXiv:1409.0473.
    """

    def advance(
        self, inputs: Array, states: list[Array], attend_once: Callable[[Array], Any]
    ) -> tuple[Array, Array, list[Array], list[Array]]:
        read, weights, state = attend_once(states[0])
        inputs = ops.concatenate([ops.cast(read, inputs.dtype), inputs], axis=-1)
        output, states = self.cell(inputs, states)
        return output, weights, states, state


@keras.saving.register_keras_serializable("keras_attention")
class RecurThenAttend(AttentionCell):
    """The decoder step of Luong et al. (2015), section 3.3, with input feeding.

    The new state s_t is the query. The read a_t enters the cell with the next input:
    s_t = cell([x_t; a_{t−1}], s_{t−1}). The output is a_t; with `LuongAttention` it is the paper's
    h̃_t. Before the first step, a is 0.

    References:
        Luong, Pham, Manning (2015), arXiv:1508.04025.
    """

    def width_of_output(self, value_shape: Shape, key_shape: Shape | None = None) -> int:
        return self.width_of_read(value_shape, key_shape)

    def own_states(self, zeros: Callable[[int], Array]) -> list[Array]:
        return [*super().own_states(zeros), zeros(self.read_width)]

    def advance(
        self, inputs: Array, states: list[Array], attend_once: Callable[[Array], Any]
    ) -> tuple[Array, Array, list[Array], list[Array]]:
        *states, before = states
        inputs = ops.concatenate([inputs, ops.cast(before, inputs.dtype)], axis=-1)
        output, states = self.cell(inputs, states)
        read, weights, state = attend_once(output)
        read = ops.cast(read, self.compute_dtype)
        return read, weights, [*states, read], state


@keras.saving.register_keras_serializable("keras_attention")
class AttentionRNN(LayerWithParts):
    """Run a cell with attention over a sequence in one loop (`keras.layers.RNN`).

    Args:
        cell: `AttendThenRecur` or `RecurThenAttend`.
        **kwargs: as for every Keras layer.

    Call arguments:
        sequence: inputs (B, T, E).
        value: the memory, (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a step may attend. Implicit Keras masks are
            ignored. Every step of the sequence is taken, so the final states of a short sentence
            include steps of its padding.
        initial_states: a flat list of tensors, as returned by a call with `return_state`. Defaults
            to `cell.initial_states(mask)`.
        return_attention_scores: whether to return `(output, weights)`.
        return_distribution: whether to return the weights, then the distribution; see
            `HardAttention`.
        return_state: whether to return the final states, as the last item.

    Returns:
        The output (B, T, units), or as wide as the read for `RecurThenAttend`; on request also the
        weights (B, T, S) or (B, H, T, S), float32, and a flat list of states.

    Raises:
        ValueError: a shape or the mask is not as above.

    Example:
    >>> import keras, numpy as np
    >>> from keras_attention.layers import ContextSensitiveMemory
    >>> attention = ContextSensitiveMemory(score="two_layer")
    >>> decoder = AttentionRNN(AttendThenRecur(keras.layers.LSTMCell(13), attention))
    >>> tuple(decoder(np.ones((2, 3, 5)), np.ones((2, 7, 11))).shape)
    (2, 3, 13)
    """

    part_names = ("cell",)

    def __init__(self, cell: AttentionCell, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(cell, AttentionCell):
            raise ValueError(f"cell must be AttendThenRecur or RecurThenAttend, got {cell!r}")
        self.supports_masking = True
        self.cell = taken(cell)

    def build(
        self, sequence_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> None:
        check_shapes(sequence_shape, value_shape, key_shape or value_shape)
        check_policies(self, self.cell)
        if not self.cell.built:  # a cell loaded from a file is already built
            self.cell.build(sequence_shape, value_shape, key_shape)

    def call(
        self,
        sequence: Array,
        value: Array,
        key: Array | None = None,
        *,
        attention_mask: Array | None = None,
        initial_states: Sequence[Array] | None = None,
        return_attention_scores: bool = False,
        return_distribution: bool = False,
        return_state: bool = False,
        training: bool | None = None,
    ) -> Array | tuple[Any, ...]:
        check_shapes(sequence.shape, value.shape, (value if key is None else key).shape)
        if sequence.shape[-1] != self.cell.input_width:
            raise ValueError(
                "this layer was built for a sequence (B, T, E) with E = "
                f"{self.cell.input_width}, got {tuple(sequence.shape)}"
            )
        cell = self.cell.over(value, key, attention_mask, initial_states)
        noise_shape = (*ops.shape(sequence)[:2], ops.shape(value)[1])
        noise = self.cell.attention.draw_noise(noise_shape) if training else None
        width = self.cell.input_width + self.cell.read_width
        inputs = zeros_for_each(sequence[..., 0], width, self.compute_dtype)
        with loop.dropout_masks(self.cell.cell, inputs, cell.initial_states[0]):
            (output, weights), states = loop.run(cell, sequence, noise)
        # The loop puts the steps before the heads.
        weights = tree.map_structure(lambda each: ops.swapaxes(each, 1, -2), weights)
        weights, distribution = both(weights)
        returned = [output]
        returned += [weights] if return_attention_scores or return_distribution else []
        returned += [distribution] if return_distribution else []
        returned += [states] if return_state else []
        return tuple(returned) if len(returned) > 1 else output

    def compute_output_shape(
        self, sequence_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return (*sequence_shape[:2], self.cell.width_of_output(value_shape, key_shape))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cell": saved(self.cell)}
