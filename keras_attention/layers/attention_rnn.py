"""A recurrent decoder with attention inside its loop: one layer, no unrolled Python list.

attend, then recur   c_t = attention(s_{t−1}),  s_t = cell([c_t; x_t], s_{t−1})
recur, then attend   s_t = cell([x_t; a_{t−1}], s_{t−1}),  a_t = attention(s_t)     (input feeding)
"""

import keras
from keras import ops

from keras_attention.layers import loop
from keras_attention.layers.attention import Attention, full_mask


class AttentionCell(keras.layers.Layer):
    """What both cells share: a recurrent cell, an attention, and a memory for one call.

    Args:
        cell: a recurrent cell of Keras, such as `keras.layers.LSTMCell`, whose first state is what
            it outputs.
        attention: an attention layer of the package.
        **kwargs: as for every Keras layer.

    Raises:
        ValueError: `attention` is no attention layer of the package.
    """

    def __init__(self, cell, attention, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(attention, Attention):
            raise ValueError(
                f"attention must be an attention layer of keras_attention, got {attention!r}"
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
        if not self.attention.built:  # layers that were loaded from a file come built
            self.attention.build(query_shape, keys_shape, values_shape)
        self.read_width = self.attention.read_width(query_shape, values_shape)
        if not self.cell.built:
            self.cell.build((batch, width + self.read_width))

    def own_states(self, zeros):
        """Return the states but for the attention's past; `zeros(width)` makes one."""
        sizes = self.cell.state_size
        return [zeros(size) for size in (sizes if isinstance(sizes, (list, tuple)) else [sizes])]

    def initial_states(self, mask):
        """Return the states before the first input, for a mask (B, S): a flat list, zeros."""

        def zeros(width):
            column = ops.zeros_like(mask[:, :1], dtype=self.compute_dtype)
            return ops.repeat(column, width, axis=-1)

        return [*self.own_states(zeros), *self.attention.initial_past(mask)]

    def over(self, keys, values=None, attention_mask=None, initial_states=None, training=None):
        """Return this cell with a memory: what `keras.layers.RNN` takes for a cell.

        Args:
            keys: (B, S, K).
            values: (B, S, D). Defaults to the keys.
            attention_mask: booleans (B, S).
            initial_states: as `initial_states` returns them; None: those.
            training: whether the attention draws, where it is stochastic.

        Returns:
            A cell; its output is a pair, (B, units) and the weights (B, S).
        """
        mask = full_mask(keys, attention_mask)
        memory = self.attention.remember(keys, values, mask)
        states = self.initial_states(mask) if initial_states is None else initial_states
        count = len(self.own_states(lambda width: width))

        def step(inputs, states):
            output, weights, own, past = self.advance(
                inputs, states[:count], memory, states[count:], training
            )
            return (output, weights), [*own, *past]

        return loop.Cell(step, list(states))

    def advance(self, inputs, states, memory, past, training):
        """Take one step: inputs (B, E) → output, weights (B, S), states, past."""
        raise NotImplementedError

    def attend(self, query, memory, past, training):
        """Look once: a query (B, Q) → read (B, D), weights (B, S), past."""
        read, weights, past = self.attention.look(query[:, None], memory, past, training=training)
        return read[:, 0], weights[:, 0], past

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

    def advance(self, inputs, states, memory, past, training):
        read, weights, past = self.attend(states[0], memory, past, training)
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
        return [*super().own_states(zeros), zeros(self.read_width)]

    def advance(self, inputs, states, memory, past, training):
        *states, before = states
        inputs = ops.concatenate([inputs, ops.cast(before, inputs.dtype)], axis=-1)
        output, states = self.cell(inputs, states)
        read, weights, past = self.attend(output, memory, past, training)
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
        if len(sequence_shape) != 3 or len(keys_shape) != 3:
            raise ValueError(
                "sequence must have shape (B, T, E) and keys (B, S, K), "
                f"got {tuple(sequence_shape)} and {tuple(keys_shape)}"
            )
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
        cell = self.cell.over(keys, values, attention_mask, initial_states, training)
        (output, weights), states = loop.run(cell, sequence)
        returned = (output, weights) if return_attention_scores else (output,)
        returned = (*returned, states) if return_state else returned
        return returned if len(returned) > 1 else output

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        cell = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**{**config, "cell": cell})
