"""Attention with a state: the weights of a query depend on those of earlier queries.

s_tj = vᵀ tanh(W q_t + U k_j + f(state)_j + b),  α_t = softmax_j(s_t),  state ← g(state, α_t, …)
"""

from typing import Any

import keras
from keras import layers, ops

from keras_attention.layers import loop
from keras_attention.layers.base import Attention, Memory, full_mask, zeros_for_each
from keras_attention.layers.weights import PreciseOrthogonal, WeightedLayer
from keras_attention.ops import (
    gated_update,
    location_features,
    masked_softmax,
    project,
    tanh_network,
    uniform_weights,
)
from keras_attention.ops.precision import matmul, precise, precise_dtype
from keras_attention.types import Array, Shape


class StatefulAttention(WeightedLayer, Attention):
    """Additive attention whose scores depend on a state, which a subclass defines.

    Args:
        units: width of the hidden layer.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`; the rest as for every Keras layer.
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        if units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        self.units = units

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        self.query_kernel = self.add_kernel("query_kernel", (query_shape[-1], self.units))
        self.key_kernel = self.add_kernel("key_kernel", (key_shape[-1], self.units))
        self.bias = self.add_bias("bias", (self.units,))
        self.v = self.add_kernel("v", (self.units,))
        self.build_state(query_shape, value_shape)

    def build_state(self, query_shape: Shape, value_shape: Shape) -> None:
        """Make the weights that read and update the state."""
        raise NotImplementedError

    def state_features(self, state: list[Array], mask: Array) -> tuple[Array, list[Array]]:
        """Return f(state), (B, S, units) or (B, 1, units), and the state."""
        raise NotImplementedError

    def next_state(
        self, state: list[Array], weights: Array, query: Array, memory: Memory
    ) -> list[Array]:
        """Return the state after a query (B, Q) with the weights (B, S)."""
        raise NotImplementedError

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        key = value if key is None else key
        projected = precise(project(key, self.key_kernel) + self.bias)
        return Memory(projected, value, full_mask(value, attention_mask))

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        def step(query, state):
            features, state = self.state_features(state, memory.mask)
            projected = project(query, self.query_kernel)[:, None]
            keys = memory.keys + ops.cast(features, memory.keys.dtype)
            scores = tanh_network(projected, keys, self.v)[:, 0]
            weights = masked_softmax(scores, memory.mask)
            read = matmul(ops.cast(weights, memory.values.dtype)[:, None], memory.values)
            return (read[:, 0], weights), self.next_state(state, weights, query, memory)

        if query.shape[1] == 1:  # one step of a decoder, which runs its own loop
            (read, weights), state = step(query[:, 0], state)
            return read[:, None], weights[:, None], state
        (read, weights), state = loop.run(loop.Cell(step, state), query)
        return read, weights, state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("keras_attention")
class CoverageAttention(StatefulAttention):
    """Additive attention that sums the weights of each position so far: f = w_c Σ_{t′<t} α_t′.

    Eq. 10 and 11 of See, Liu, Manning (2017). Our names / theirs: query / s_t, key / h_i,
    `query_kernel` / W_s, `key_kernel` / W_h, `coverage_kernel` / w_c, `bias` / b_attn. The penalty
    for attending to a position twice, eq. 12, is `keras_attention.ops.coverage_loss` of the
    weights. Add it to the loss yourself: the authors found that coverage had little effect without
    it.

    Args:
        units: width of the hidden layer.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query. Each query depends on all earlier weights.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: `units` is not positive, or a shape or the mask is not as above.

    References:
        See, Liu, Manning (2017), Get to the point, arXiv:1704.04368.
    """

    def build_state(self, query_shape: Shape, value_shape: Shape) -> None:
        self.coverage_kernel = self.add_kernel("coverage_kernel", (1, self.units))

    def initial_state(self, mask: Array) -> list[Array]:
        """Return the initial coverage, zeros (B, S)."""
        return [ops.zeros_like(mask, dtype=precise_dtype(self.compute_dtype))]

    def state_features(self, state: list[Array], mask: Array) -> tuple[Array, list[Array]]:
        (coverage,) = state
        return coverage[..., None] * ops.cast(self.coverage_kernel, coverage.dtype), state

    def next_state(
        self, state: list[Array], weights: Array, query: Array, memory: Memory
    ) -> list[Array]:
        (coverage,) = state
        return [coverage + weights]


@keras.saving.register_keras_serializable("keras_attention")
class NeuralCoverageAttention(StatefulAttention):
    """Additive attention with an RNN at each position that tracks its alignments.

    C_tj = GRU(C_{t−1,j}, [α_tj; v_j; q_t]),   f = V C_{t−1}: the neural coverage of Tu et al.
    (2016), section 3.2.2, and the lecture notes' "explicitly remember past alignments with an RNN".
    Our names / theirs: query / t_{i−1}, value / h_j, `coverage_kernel` / V_a.

    Args:
        units: width of the hidden layer.
        coverage_units: width of the RNN at each position.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query. Each query depends on all earlier weights.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: a number is not positive, or a shape or the mask is not as above.

    References:
        Tu, Lu, Liu, Liu, Li (2016), Modeling coverage for neural machine translation,
        arXiv:1601.04811.
    """

    def __init__(self, units: int, coverage_units: int = 8, **kwargs: Any):
        super().__init__(units, **kwargs)
        if coverage_units < 1:
            raise ValueError(f"coverage_units must be a positive integer, got {coverage_units}")
        self.coverage_units = coverage_units

    def build_state(self, query_shape: Shape, value_shape: Shape) -> None:
        self.coverage_kernel = self.add_kernel("coverage_kernel", (self.coverage_units, self.units))
        gates = 3 * self.coverage_units
        self.weight_to_gates = self.add_kernel("weight_to_gates", (1, gates))
        self.value_to_gates = self.add_kernel("value_to_gates", (value_shape[-1], gates))
        self.query_to_gates = self.add_kernel("query_to_gates", (query_shape[-1], gates))
        self.recurrent_kernel = self.add_kernel("recurrent_kernel", (self.coverage_units, gates))
        self.gate_bias = self.add_bias("gate_bias", (gates,))

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        memory = super().project_memory(value, key, attention_mask)
        to_gates = project(memory.values, self.value_to_gates) + self.gate_bias
        return memory._replace(more=to_gates)

    def initial_state(self, mask: Array) -> list[Array]:
        """Return the initial coverage, zeros (B, S, coverage_units)."""
        zeros = ops.zeros_like(mask, dtype=self.compute_dtype)
        return [ops.repeat(zeros[..., None], self.coverage_units, axis=-1)]

    def state_features(self, state: list[Array], mask: Array) -> tuple[Array, list[Array]]:
        (coverage,) = state
        return project(coverage, self.coverage_kernel), state

    def next_state(
        self, state: list[Array], weights: Array, query: Array, memory: Memory
    ) -> list[Array]:
        inputs = (
            memory.more
            + ops.cast(weights, memory.values.dtype)[..., None] * self.weight_to_gates
            + project(query, self.query_to_gates)[:, None]
        )
        (coverage,) = state
        return [gated_update(coverage, inputs, self.recurrent_kernel)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "coverage_units": self.coverage_units}


class _ConvolvingAttention(StatefulAttention):
    """Base of the layers that convolve the weights of the previous query."""

    def __init__(self, units: int, channels: int, taps: int, **kwargs: Any):
        super().__init__(units, **kwargs)
        if min(channels, taps) < 1 or taps % 2 == 0:
            raise ValueError(
                f"channels and taps must be positive and taps odd, got {channels} and {taps}"
            )
        self.channels, self.taps = channels, taps

    def build_state(self, query_shape: Shape, value_shape: Shape) -> None:
        self.filters = self.add_kernel("filters", (self.taps, 1, self.channels))

    def features(self, weights: Array, mask: Array) -> Array:
        filters = ops.cast(self.filters, weights.dtype)
        return location_features(weights, filters, mask)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "channels": self.channels, "taps": self.taps}


@keras.saving.register_keras_serializable("keras_attention")
class LocationAwareAttention(_ConvolvingAttention):
    """Additive attention that scores content and location together, given the previous weights.

    f = V (F ∗ α_{t−1}): the hybrid of Chorowski et al. (2015), eq. 8 and 9. Our names / theirs:
    query / s_{i−1}, key / h_j, `query_kernel` / W, `key_kernel` / V, `filters` / F,
    `location_kernel` / U, `bias` / b, `v` / w. The initial weights are uniform. The layer can
    distinguish keys that are equal in content but differ in position.

    Args:
        units: width of the hidden layer.
        channels: number of filters.
        taps: width of a filter, odd.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query. Each query depends on the previous weights.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: a number is not positive, `taps` is even, or a shape or the mask is not as
            above.

    References:
        Chorowski, Bahdanau, Serdyuk, Cho, Bengio (2015), Attention-based models for speech
        recognition, arXiv:1506.07503.
    """

    def __init__(self, units: int, channels: int = 8, taps: int = 7, **kwargs: Any):
        super().__init__(units, channels, taps, **kwargs)

    def build_state(self, query_shape: Shape, value_shape: Shape) -> None:
        super().build_state(query_shape, value_shape)
        self.location_kernel = self.add_kernel("location_kernel", (self.channels, self.units))

    def initial_state(self, mask: Array) -> list[Array]:
        """Return the weights before the first query, (B, S): uniform."""
        return [uniform_weights(mask, precise_dtype(self.compute_dtype))]

    def state_features(self, state: list[Array], mask: Array) -> tuple[Array, list[Array]]:
        features = self.features(state[0], mask)
        return project(features, ops.cast(self.location_kernel, features.dtype)), state

    def next_state(
        self, state: list[Array], weights: Array, query: Array, memory: Memory
    ) -> list[Array]:
        return [weights]


@keras.saving.register_keras_serializable("keras_attention")
class RecurrentLocationAttention(_ConvolvingAttention):
    """Additive attention with one LSTM that tracks the alignment as a whole.

    (r, c) ← LSTM(max_j relu(F ∗ α_{t−1})_j, (r, c)),   f = r at every position: `AttLocRec` of
    ESPnet. The convolution of ESPnet includes padding; here padding has no effect.

    Args:
        units: width of the hidden layer and of the LSTM.
        channels: number of filters.
        taps: width of a filter, odd.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query. Each query depends on all earlier weights.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: a number is not positive, `taps` is even, or a shape or the mask is not as
            above.

    References:
        github.com/espnet/espnet, espnet/nets/pytorch_backend/rnn/attentions.py, `AttLocRec`.
    """

    def __init__(self, units: int, channels: int = 8, taps: int = 7, **kwargs: Any):
        super().__init__(units, channels, taps, **kwargs)
        self.cell = layers.LSTMCell(
            units,
            recurrent_initializer=PreciseOrthogonal(),
            dtype=self.dtype_policy,
            name="alignment",
        )

    def build_state(self, query_shape: Shape, value_shape: Shape) -> None:
        super().build_state(query_shape, value_shape)
        self.cell.build((None, self.channels))

    def initial_state(self, mask: Array) -> list[Array]:
        """Return uniform weights (B, S) and the two LSTM states, zeros (B, units)."""
        state = zeros_for_each(mask, self.units, self.compute_dtype)
        return [uniform_weights(mask, precise_dtype(self.compute_dtype)), state, state]

    def state_features(self, state: list[Array], mask: Array) -> tuple[Array, list[Array]]:
        weights, *states = state
        features = _largest(ops.relu(self.features(weights, mask)))
        output, states = self.cell(ops.cast(features, self.compute_dtype), states)
        return output[:, None], [weights, *states]

    def next_state(
        self, state: list[Array], weights: Array, query: Array, memory: Memory
    ) -> list[Array]:
        return [weights, *state[1:]]


def _largest(features):
    """Return the largest of features that are at least 0, (B, S, C) → (B, C), or 0 if S is 0."""
    return ops.sum(features, axis=1) if 0 in features.shape else ops.max(features, axis=1)
