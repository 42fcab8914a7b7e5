"""Keras' own multi-head attention, with the masks of this package.

read, weights = keras.layers.MultiHeadAttention(…)(query, value, key, attention_mask)
"""

import keras
from keras import ops

from keras_attention.layers.base import check_shapes
from keras_attention.ops import align_mask


@keras.saving.register_keras_serializable("keras_attention")
class KerasMultiHeadAttention(keras.layers.Layer):
    """`keras.layers.MultiHeadAttention` with the masks of this package.

    Keras' layer heeds the implicit masks of its inputs, and takes them off, so that of two layers
    over one tensor only the first sees them; and it gives a query that may attend to nothing a
    uniform row. Here only the explicit mask counts, and such a query gets weights 0 and a read of
    0. Everything else, the weights and their names included, is Keras'.

    Args:
        num_heads: number of heads, H.
        key_dim: depth of the query and key of one head, K.
        **kwargs: as for `keras.layers.MultiHeadAttention`: `value_dim`, `dropout`, `use_bias`,
            `output_shape`, initializers, regularizers, constraints, `dtype` and `name`.

    Call arguments:
        query, value, key, attention_mask, return_attention_scores, training: as for
            `MultiHeadAttention`.

    Returns:
        The read (B, T, D), and on request the weights (B, H, T, S), float32, after dropout.

    Raises:
        ValueError: a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> attend = KerasMultiHeadAttention(num_heads=2, key_dim=8)
    >>> tuple(attend(np.ones((2, 3, 5)), np.ones((2, 7, 11))).shape)
    (2, 3, 5)
    """

    def __init__(self, num_heads, key_dim, **kwargs):
        own = {name: kwargs.pop(name) for name in ("name", "trainable", "dtype") if name in kwargs}
        super().__init__(**own)
        self.supports_masking = True
        self.attention = keras.layers.MultiHeadAttention(
            num_heads, key_dim, dtype=self.dtype_policy, name="attention", **kwargs
        )

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = key_shape or value_shape
        check_shapes(query_shape, value_shape, key_shape)
        self.attention.build(query_shape, value_shape, key_shape)

    def call(
        self,
        query,
        value,
        key=None,
        *,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        key = value if key is None else key
        check_shapes(query.shape, value.shape, key.shape)
        # Copies, since an implicit mask stays with the tensor that it was given to.
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
        weights = ops.cast(weights, "float32")
        if mask is not None:
            attends = ops.any(mask, axis=-1, keepdims=True)
            read = ops.where(attends, read, ops.zeros_like(read))
            weights = ops.where(attends[:, None], weights, ops.zeros_like(weights))
        return (read, weights) if return_attention_scores else read

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        return self.attention.compute_output_shape(query_shape, value_shape, key_shape)

    def compute_output_spec(self, *args, **kwargs):
        # By tracing `call`, since Keras would take `compute_output_shape` for all that is returned.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def get_config(self):
        return {**self.attention.get_config(), **super().get_config()}
