"""A recurrent decoder with attention inside its loop: one layer, no unrolled Python list.

attend, then recur   c_t = attention(s_{t−1}),  s_t = cell([c_t; x_t], s_{t−1})
recur, then attend   s_t = cell([x_t; a_{t−1}], s_{t−1}),  a_t = attention(s_t)     (input feeding)
"""

from contextlib import contextmanager
from functools import partial

import keras
from keras import ops, tree

from keras_attention.layers import loop
from keras_attention.layers.attention import Attention, check_policies, check_shapes, full_mask


class AttentionCell(keras.layers.Layer):
    """What both cells share: a recurrent cell, an attention, and a memory for one call.

    Args:
        cell: a recurrent cell of Keras, such as `keras.layers.LSTMCell`, whose first state is what
            it outputs.
        attention: an attention layer of the package.
        **kwargs: as for every Keras layer.

    Raises:
        ValueError: `attention` is no attention layer of the package, or the cell is a stack.
    """

    def __init__(self, cell, attention, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(attention, Attention):
            raise ValueError(
                "attention must be a layers.attention.Attention, which can look step by step, "
                f"got {attention!r}"
            )
        if isinstance(cell, keras.layers.StackedRNNCells):
            raise ValueError(
                "cell must be a single recurrent cell, got StackedRNNCells; put further RNN layers "
                "before or after this one"
            )
        self.supports_masking = True
        self.cell, self.attention = cell, attention

    @property
    def units(self):
        """Width of the cell's output."""
        return self.cell.output_size

    def build(self, inputs_shape, keys_shape, values_shape=None):
        values_shape = values_shape or keys_shape
        batch, width = inputs_shape[0], inputs_shape[-1]
        query_shape = (batch, 1, self.units)
        check_policies(self, self.cell, self.attention)
        if not self.attention.built:  # layers that were loaded from a file come built
            self.attention.build(query_shape, keys_shape, values_shape)
        self.input_width = width
        self.width_read = self.attention.read_width(query_shape, values_shape)
        if not self.cell.built:
            self.cell.build((batch, width + self.width_read))

    def own_states(self, zeros):
        """Return the states but for the attention's past; `zeros(width)` makes one."""
        sizes = self.cell.state_size
        return [zeros(size) for size in (sizes if isinstance(sizes, (list, tuple)) else [sizes])]

    def initial_states(self, mask):
        """Return the states before the first input, for a mask (B, S): a flat list, zeros."""

        def zeros(width):
            column = ops.zeros_like(mask[:, 0], dtype=self.compute_dtype)
            return ops.repeat(column[:, None], width, axis=-1)

        return [*self.own_states(zeros), *self.attention.initial_past(mask)]

    def over(self, keys, values=None, attention_mask=None, initial_states=None):
        """Return this cell with a memory: what `keras.layers.RNN` takes for a cell.

        Args:
            keys: (B, S, K).
            values: (B, S, D). Defaults to the keys.
            attention_mask: booleans (B, S).
            initial_states: as `initial_states` returns them; None: those.

        Returns:
            A cell; its output is a pair, (B, units) and the weights (B, S). Inputs wider than those
            the cell was built for end in the noise of a hard attention, (B, S).
        """
        mask = full_mask(keys, attention_mask)
        memory = self.attention.remember(keys, values, mask)
        states = self.initial_states(mask)
        if initial_states is not None:
            if len(initial_states) != len(states):
                shapes = [tuple(state.shape) for state in states]
                raise ValueError(
                    f"initial_states must be a list of {len(states)} tensors {shapes}, the states "
                    f"of the cell and the past of the attention, got {len(initial_states)}"
                )
            # Keras has cast what came as an argument.
            states = [
                ops.cast(given, state.dtype)
                for given, state in zip(initial_states, states, strict=True)
            ]
        count = len(self.own_states(lambda width: width))

        def step(inputs, states):
            noise = None
            if inputs.shape[-1] != self.input_width:
                noise = inputs[:, None, self.input_width :]
                inputs = ops.cast(inputs[:, : self.input_width], self.compute_dtype)
            look = partial(self.look_once, memory=memory, noise=noise)
            output, weights, own, past = self.advance(inputs, states[:count], states[count:], look)
            return (output, weights), [*own, *past]

        return loop.Cell(step, states)

    def look_once(self, query, past, memory, noise):
        """Look with a query (B, Q): return read (B, D), weights (B, S) and the past."""
        read, weights, past = self.attention.look(query[:, None], memory, past, noise)
        return read[:, 0], tree.map_structure(lambda each: each[:, 0], weights), past

    def advance(self, inputs, states, past, look):
        """Take one step: inputs (B, E) → output, weights (B, S), states, past.

        `look` is `look_once` with the memory and the noise of the step.
        """
        raise NotImplementedError

    def get_config(self):
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "attention": keras.saving.serialize_keras_object(self.attention),
        }

    @classmethod
    def from_config(cls, config):
        parts = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in ("cell", "attention")
        }
        return cls(**{**config, **parts})


@keras.saving.register_keras_serializable("keras_attention")
class AttendThenRecur(AttentionCell):
    """The decoder step of Bahdanau et al. (2015), appendix A.2.2, and of the lecture's model.

    The state before, s_{t−1}, asks; what is read, c_t, enters the cell beside the input:
    s_t = cell([c_t; x_t], s_{t−1}). The output is the cell's.

    References:
        Bahdanau, Cho, Bengio (2015), arXiv:1409.0473.
    """

    def advance(self, inputs, states, past, look):
        read, weights, past = look(states[0], past)
        inputs = ops.concatenate([ops.cast(read, inputs.dtype), inputs], axis=-1)
        output, states = self.cell(inputs, states)
        return output, weights, states, past


@keras.saving.register_keras_serializable("keras_attention")
class RecurThenAttend(AttentionCell):
    """The decoder step of Luong et al. (2015), section 3.3, with input feeding.

    The new state, s_t, asks, and what the attention returns, a_t, enters the cell with the next
    input: s_t = cell([x_t; a_{t−1}], s_{t−1}). The output is a_t; with `LuongAttention` it is the
    paper's h̃_t. Before the first step a is 0.

    References:
        Luong, Pham, Manning (2015), arXiv:1508.04025.
    """

    def own_states(self, zeros):
        return [*super().own_states(zeros), zeros(self.width_read)]

    def advance(self, inputs, states, past, look):
        *states, before = states
        inputs = ops.concatenate([inputs, ops.cast(before, inputs.dtype)], axis=-1)
        output, states = self.cell(inputs, states)
        read, weights, past = look(output, past)
        read = ops.cast(read, self.compute_dtype)
        return read, weights, [*states, read], past


@keras.saving.register_keras_serializable("keras_attention")
class AttentionRNN(keras.layers.Layer):
    """Run a cell with attention over a sequence, as one loop (`keras.layers.RNN`).

    Args:
        cell: `AttendThenRecur` or `RecurThenAttend`.
        **kwargs: as for every Keras layer.

    Call arguments:
        sequence: inputs (B, T, E).
        keys: what is attended to, (B, S, K).
        values: (B, S, D). Defaults to the keys.
        attention_mask: booleans (B, S), True where a step may look.
        initial_states: a flat list of tensors, as `cell.initial_states(mask)` and a call with
            `return_state` give it; None: zeros, and no past.
        return_attention_scores: whether to return `(output, weights)`.
        return_state: whether to return the states after the last step as the last item.

    Returns:
        The output (B, T, units), or as wide as the read for `RecurThenAttend`; and on request the
        weights (B, T, S), float32, and a flat list of states.

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

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(cell, AttentionCell):
            raise ValueError(f"cell must be AttendThenRecur or RecurThenAttend, got {cell!r}")
        self.supports_masking = True
        self.cell = cell

    def build(self, sequence_shape, keys_shape, values_shape=None):
        check_shapes(sequence_shape, keys_shape, values_shape or keys_shape)
        check_policies(self, self.cell)
        if not self.cell.built:  # a cell that was loaded from a file comes built
            self.cell.build(sequence_shape, keys_shape, values_shape)

    def call(
        self,
        sequence,
        keys,
        values=None,
        attention_mask=None,
        initial_states=None,
        return_attention_scores=False,
        return_state=False,
        training=None,
    ):
        check_shapes(sequence.shape, keys.shape, (keys if values is None else values).shape)
        if sequence.shape[-1] != self.cell.input_width:
            raise ValueError(
                "this layer was built for a sequence (B, T, E) with E = "
                f"{self.cell.input_width}, got {tuple(sequence.shape)}"
            )
        cell = self.cell.over(keys, values, attention_mask, initial_states)
        if training:
            sequence = self._with_noise(sequence, keys)
        with self._dropout(sequence, cell):
            (output, weights), states = loop.run(cell, sequence)
        returned = (output, weights) if return_attention_scores else (output,)
        returned = (*returned, states) if return_state else returned
        return returned if len(returned) > 1 else output

    def _with_noise(self, sequence, keys):
        """Draw for all steps what a hard attention needs; a loop cannot draw on every backend."""
        noise = self.cell.attention.draw((*ops.shape(sequence)[:2], ops.shape(keys)[1]))
        if noise is None:
            return sequence
        return ops.concatenate([ops.cast(sequence, noise.dtype), noise], axis=-1)

    @contextmanager
    def _dropout(self, sequence, bound):
        """Make the dropout masks of a Keras cell before the loop, and forget them after it."""
        cell = self.cell.cell
        if not hasattr(cell, "get_dropout_mask"):
            yield
            return
        width = self.cell.input_width + self.cell.width_read
        column = ops.ones_like(sequence[:, 0, :1], dtype=self.compute_dtype)
        try:
            cell.get_dropout_mask(ops.repeat(column, width, axis=-1))
            cell.get_recurrent_dropout_mask(bound.initial_states[0])
            yield
        finally:
            cell.reset_dropout_mask()
            cell.reset_recurrent_dropout_mask()

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        cell = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**{**config, "cell": cell})
