"""Context-sensitive memory: a Python dict whose keys need not match exactly.

α_tj = softmax_j(score(q_t, k_j) / τ),   c_t = Σ_j α_tj v_j
"""

from collections.abc import Callable
from typing import Any

import keras

from keras_attention.layers.base import Memory, ScoredAttention
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import lookup, project
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class ContextSensitiveMemory(WeightedLayer, ScoredAttention):
    """Look queries up in a soft dictionary of keys and values.

    The query is compared with every key, and every value counts by the weight of its key. With
    sharp scores or a low temperature it works like a Python dict: in the limit, a query that equals
    exactly one key returns its value, and equal keys return the mean of their values. It always
    returns something, even if no key matches.

    The lecture notes write lookup(q, M), M = {(k_t, v_t)} and α(q, k).

    Args:
        score: the name of a score (`keras_attention.layers.scores.SCORES`), a layer of that module,
            or a function `(query, keys) → scores (B, T, S)`.
        temperature: τ > 0; below 1 weights are sharper, above 1 flatter.
        key_dim: width of the learned projections W_Q and W_K of query and keys; None: none.
        value_dim: width of the learned projection W_V of the values; None: none.
        **kwargs: initializers, regularizers and constraints of the projections, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), or (B, D) for a single query, with D = `value_dim` if given; and on
        request the weights (B, T, S), or (B, S, 1) for a single query, float32.

    Raises:
        ValueError: if the score is unknown, a number is not positive, or a shape or the mask is not
            as above.

    Example:
    >>> import numpy as np
    >>> memory = ContextSensitiveMemory(score="dot", temperature=0.01)
    >>> keys, values = np.eye(3)[None], np.array([[[1.0], [10.0], [100.0]]])
    >>> read = memory(keys[:, 1:2], values, keys)  # {k1: 1, k2: 10, k3: 100}[k2]
    >>> float(read[0, 0, 0])
    10.0

    References:
        Graves, Wayne, Danihelka (2014), Neural Turing machines, arXiv:1410.5401; Vaswani et al.
        (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(
        self,
        score: str | Callable[..., Array] = "scaled_dot",
        temperature: float = 1.0,
        key_dim: int | None = None,
        value_dim: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(score=score, **kwargs)
        for name, number in (
            ("temperature", temperature),
            ("key_dim", key_dim),
            ("value_dim", value_dim),
        ):
            if number is not None and not number > 0:
                raise ValueError(f"{name} must be positive, got {number}")
        self.temperature, self.key_dim, self.value_dim = temperature, key_dim, value_dim

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        self.query_kernel = self._kernel("query_kernel", query_shape[-1], self.key_dim)
        self.key_kernel = self._kernel("key_kernel", key_shape[-1], self.key_dim)
        self.value_kernel = self._kernel("value_kernel", value_shape[-1], self.value_dim)
        if self.key_dim is not None:
            query_shape = (*query_shape[:-1], self.key_dim)
            key_shape = (*key_shape[:-1], self.key_dim)
        super().build_parts(query_shape, value_shape, key_shape)

    def _kernel(self, name, width, projected_width):
        if projected_width is None:
            return None
        return self.add_kernel(name, (width, projected_width))

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return (*query_shape[:-1], self.value_dim or value_shape[-1])

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        key = value if key is None else key
        if self.key_kernel is not None:
            key = project(key, self.key_kernel)
        if self.value_kernel is not None:
            value = project(value, self.value_kernel)
        return super().project_memory(value, key, attention_mask)

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        if self.query_kernel is not None:
            query = project(query, self.query_kernel)
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = lookup(scores, memory.values, memory.mask, self.temperature)
        return read, weights, state

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "temperature": self.temperature,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
        }
