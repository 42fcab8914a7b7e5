"""Multi-head attention: several small lookups in parallel, each with its own projections.

head_h = lookup(query W_h^Q, key W_h^K, value W_h^V),   read = Σ_h head_h W_h^O
"""

import math
from typing import Any

import keras
from keras import layers, ops

from keras_attention.kernels import kernel_for_lookup, kernel_with_gradient
from keras_attention.layers.base import Attention, Memory
from keras_attention.layers.dropout import Dropout
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import align_mask, masked_softmax, scaled_dot
from keras_attention.ops.precision import matmul
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class MultiHeadAttention(WeightedLayer, Attention):
    """Let each query attend to a memory with several heads, section 3.2.2 of Vaswani et al. (2017).

    Its weights have the same names, order and shapes as those of
    `keras.layers.MultiHeadAttention`, so `set_weights(other.get_weights())` transfers them in both
    directions; `KerasMultiHeadAttention` wraps the Keras layer itself. The two differ between the
    projections: here only the explicit mask counts, the softmax runs in float32, and the result is
    the same whether or not the weights are returned. Our names / the paper's: query, key, value /
    Q, K, V, `num_heads` / h, `key_dim` / d_k, `value_dim` / d_v.

    Args:
        num_heads: number of heads, H.
        key_dim: depth of the query and key of one head, K.
        value_dim: depth of the value of one head; None: `key_dim`.
        dropout: fraction of the weights to drop in training.
        use_bias: whether the projections have biases.
        **kwargs: initializers, regularizers and constraints of the projections, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, D).
        value: (B, S, F).
        key: (B, S, E). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend. A query that
            may attend to nothing has weights 0, and its read is the bias of the last projection.
            Implicit Keras masks are ignored.
        return_attention_scores: whether to return `(read, weights)`. The name is that of
            Keras; the weights are those after the softmax.
        training: whether to drop weights.

    Returns:
        The read (B, T, D), and on request the weights (B, H, T, S), float32, before dropout.

    Raises:
        ValueError: a number is not positive, the dropout is not in [0, 1), or a shape or the mask
            is not as above.

    Example:
    >>> import numpy as np
    >>> attend = MultiHeadAttention(num_heads=2, key_dim=8)
    >>> query, memory = np.ones((2, 3, 5)), np.ones((2, 7, 11))
    >>> read, weights = attend(query, memory, return_attention_scores=True)
    >>> tuple(read.shape), tuple(weights.shape)
    ((2, 3, 5), (2, 2, 3, 7))

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    query_ranks = (3,)

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        value_dim = key_dim if value_dim is None else value_dim
        if min(num_heads, key_dim, value_dim) < 1:
            raise ValueError(
                "num_heads, key_dim and value_dim must be positive integers, "
                f"got {num_heads}, {key_dim} and {value_dim}"
            )
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim
        self.dropout, self.use_bias = dropout, use_bias
        self.project_query = self._projection("query", (None, num_heads, key_dim))
        self.project_key = self._projection("key", (None, num_heads, key_dim))
        self.project_value = self._projection("value", (None, num_heads, value_dim))
        self.drop = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def _projection(self, name, output_shape, equation="btd,dhk->bthk", bias_axes="hk"):
        projection = _Projection(
            equation,
            output_shape,
            bias_axes=bias_axes if self.use_bias else None,
            **self.weight_options(),
            dtype=self.dtype_policy,
            name=name,
        )
        projection.supports_masking = True  # else Keras warns of an implicit mask
        return projection

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        self.project_read = self._projection(
            "attention_output", (None, query_shape[-1]), "bthk,hkd->btd", "d"
        )
        self.project_query.build(query_shape)
        self.project_key.build(key_shape)
        self.project_value.build(value_shape)
        self.project_read.build((*query_shape[:2], self.num_heads, self.value_dim))

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        """Project value and key for all heads: `values` (B, H, S, K), `keys` (B, H, K, S).

        In this layout, products with queries and with weights read contiguous memory.
        """
        key = value if key is None else key
        keys = ops.transpose(self.project_key(key), (0, 2, 3, 1))
        return Memory(keys, ops.swapaxes(self.project_value(value), 1, 2), attention_mask)

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        query = self.project_query(query)
        scores = scaled_dot(ops.swapaxes(query, 1, 2), ops.swapaxes(memory.keys, 2, 3))
        mask = None if memory.mask is None else align_mask(memory.mask, scores)
        softmax = kernel_with_gradient("masked_softmax") or masked_softmax
        weights = softmax(scores, mask)
        kernel = kernel_for_lookup(query.shape[1], memory.keys.shape[3], query.dtype)
        if kernel is not None:
            # XLA computes none of the above unless the weights are asked for
            return self.project_read(self._read_with(kernel, query, memory)), weights, state
        # Drops only if the current call is training
        dropped = self.drop(weights) if self.dropout > 0 else weights
        read = matmul(ops.cast(dropped, memory.values.dtype), memory.values)
        return self.project_read(ops.swapaxes(read, 1, 2)), weights, state

    def _read_with(self, kernel, query, memory):
        """Return what `fused_lookup` reads for queries (B, T, H, K): (B, T, H, V)."""
        keys = ops.transpose(memory.keys, (0, 3, 1, 2))
        factors = None
        if self.dropout > 0:
            ones = ops.ones_like(query[..., :1])
            factors = self.drop(ops.repeat(ones, keys.shape[1], axis=-1))
        return kernel(query, keys, ops.swapaxes(memory.values, 1, 2), memory.mask, factors)

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return tuple(query_shape)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
        }


class _Projection(layers.EinsumDense):
    """`EinsumDense` from (B, T, …) to (B, T, …) as a single product of two matrices."""

    def call(self, inputs: Array, training: bool | None = None) -> Array:
        batch, length, *read = ops.shape(inputs)
        written = self.partial_output_shape[1:]
        rows = ops.reshape(inputs, (-1, math.prod(read)))
        outputs = matmul(rows, ops.reshape(self.kernel, (-1, math.prod(written))))
        if self.bias is not None:
            outputs = ops.add(outputs, ops.reshape(self.bias, (-1,)))
        return ops.reshape(outputs, (batch, length, *written))

    def quantize(self, mode: str | None = None, type_check: bool = True, **options: Any) -> None:
        del type_check  # Keras would refuse a subclass, since it may compute something else
        super().quantize(mode, type_check=False, **options)
