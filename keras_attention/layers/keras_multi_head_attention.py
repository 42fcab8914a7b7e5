"""Keras' own multi-head attention, with the masks of this package.

read, weights = keras.layers.MultiHeadAttention(…)(query, value, key, attention_mask)
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.base import check_shapes
from keras_attention.layers.parts import LayerWithParts
from keras_attention.ops import align_mask
from keras_attention.ops.precision import precise
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class KerasMultiHeadAttention(LayerWithParts):
    """`keras.layers.MultiHeadAttention` with the masks of this package.

    Keras' layer uses the implicit masks of its inputs and removes them, so that of two layers over
    one tensor only the first gets them. It gives uniform weights to a query with nothing to attend
    to. Here only the explicit mask counts, and such a query gets weights 0 and a read of 0.
    Everything else is Keras', including the weights and their names.

    Args:
        num_heads: H, the number of heads.
        key_dim: K, the depth of query and key in each head.
        **kwargs: as for `keras.layers.MultiHeadAttention`: `value_dim`, `dropout`, `use_bias`,
            `output_shape`, initializers, regularizers, constraints, `dtype` and `name`.

    Call arguments:
        query, value, key, attention_mask, return_attention_scores, training: as for
            `MultiHeadAttention`.

    Returns:
        The read (B, T, D), and on request the weights (B, H, T, S), float32, after dropout.

    Raises:
        ValueError: if a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> attend = KerasMultiHeadAttention(num_heads=2, key_dim=8)
    >>> tuple(attend(np.ones((2, 3, 5)), np.ones((2, 7, 11))).shape)
    (2, 3, 5)
    """

    def __init__(self, num_heads: int, key_dim: int, **kwargs: Any):
        own = {name: kwargs.pop(name) for name in ("name", "trainable", "dtype") if name in kwargs}
        super().__init__(**own)
        self.supports_masking = True
        self.attention = keras.layers.MultiHeadAttention(
            num_heads, key_dim, dtype=self.dtype_policy, name="attention", **kwargs
        )

    def build(self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None) -> None:
        key_shape = key_shape or value_shape
        check_shapes(query_shape, value_shape, key_shape)
        self.attention.build(query_shape, value_shape, key_shape)

    def call(
        self,
        query: Array,
        value: Array,
        key: Array | None = None,
        *,
        attention_mask: Array | None = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
    ) -> Array | tuple[Array, Array]:
        key = value if key is None else key
        check_shapes(query.shape, value.shape, key.shape)
        # Copy, since an implicit mask stays attached to its own tensor.
        query, value, key = (ops.copy(each) for each in (query, value, key))
        mask = None
        if attention_mask is not None:
            pairs = ops.matmul(query[..., :1], ops.swapaxes(value[..., :1], 1, 2))  # (B, T, S)
            mask = ops.broadcast_to(align_mask(attention_mask, pairs), ops.shape(pairs))
        read, weights = self.attention(
            query,
            value,
            key,
            attention_mask=mask,
            return_attention_scores=True,
            training=training,
        )
        weights = precise(weights)
        if mask is not None:
            attends = ops.any(mask, axis=-1, keepdims=True)
            read = ops.where(attends, read, ops.zeros_like(read))
            weights = ops.where(attends[:, None], weights, ops.zeros_like(weights))
        return (read, weights) if return_attention_scores else read

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return self.attention.compute_output_shape(query_shape, value_shape, key_shape)

    def get_config(self) -> dict[str, Any]:
        return {**self.attention.get_config(), **super().get_config()}
