"""Multi-head attention from dense layers and a reshape, as one would write it on a blackboard.

(B, T, H·K) → (B, T, H, K) → (B, H, T, K);   head = softmax(Q Kᵀ / √K) V;   read = concat(heads) W^O
"""

import math

import keras
from keras import layers, ops

from keras_attention.layers.attention import check_shapes
from keras_attention.ops import dot, lookup

SCALES = ("head", "total")


@keras.saving.register_keras_serializable("keras_attention")
class DenseMultiHeadAttention(keras.layers.Layer):
    """Let each query read a memory through several heads, section 3.2.2 of Vaswani et al. (2017).

    The construction of the lecture notes: one `Dense` layer makes the queries of all heads, and a
    reshape cuts them apart. Given the same weights it equals `MultiHeadAttention`, which wraps
    Keras' own layer. Heads are cut as (B, T, H, K), then transposed: a reshape straight to
    (B, H, T, K) would mix times and heads, and no shape would tell.

    Args:
        num_heads: H.
        width: H · K, the width of all heads together; the notes' d_model = n_head · d_attn.
        scale: what the dot products are divided by the square root of. `"head"`: K, as in the paper
            and in Keras. `"total"`: H · K, as in the tutorial that the notes link to
            (machinelearningmastery.com), which divides once more by √H than the paper does; for
            comparison only.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, D).
        keys: (B, S, E).
        values: (B, S, F). Defaults to the keys.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may look. Where a query has
            nothing to look at, its weights are 0 and its read is the bias of the output projection.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, H, T, S), float32.

    Raises:
        ValueError: a number is not positive, `width` is no multiple of `num_heads`, there is no
            such scale, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> attend = DenseMultiHeadAttention(num_heads=2, width=16)
    >>> query, memory = np.ones((2, 3, 5)), np.ones((2, 7, 11))
    >>> read, weights = attend(query, memory, return_attention_scores=True)
    >>> tuple(read.shape), tuple(weights.shape)
    ((2, 3, 5), (2, 2, 3, 7))

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, num_heads, width, scale="head", **kwargs):
        super().__init__(**kwargs)
        if num_heads < 1 or width < 1 or width % num_heads:
            raise ValueError(
                "num_heads and width must be positive integers and width a multiple of num_heads, "
                f"got {num_heads} and {width}"
            )
        if scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
        self.supports_masking = True
        self.num_heads, self.width, self.scale = num_heads, width, scale
        self.to_query, self.to_key, self.to_value = (
            layers.Dense(width, dtype=self.dtype_policy, name=name)
            for name in ("query", "key", "value")
        )

    def build(self, query_shape, keys_shape, values_shape=None):
        values_shape = values_shape or keys_shape
        check_shapes(query_shape, keys_shape, values_shape)
        self.to_query.build(query_shape)
        self.to_key.build(keys_shape)
        self.to_value.build(values_shape)
        self.to_read = layers.Dense(query_shape[-1], dtype=self.dtype_policy, name="read")
        self.to_read.build((*query_shape[:-1], self.width))

    def call(self, query, keys, values=None, attention_mask=None, return_attention_scores=False):
        values = keys if values is None else values
        check_shapes(query.shape, keys.shape, values.shape)
        query = self._split(self.to_query(query))  # (B, H, T, K)
        keys = self._split(self.to_key(keys))  # (B, H, S, K)
        values = self._split(self.to_value(values))
        depth = self.width // self.num_heads if self.scale == "head" else self.width
        read, weights, _ = lookup(dot(query, keys) / math.sqrt(depth), values, attention_mask)
        read = self.to_read(self._join(read))
        return (read, weights) if return_attention_scores else read

    def _split(self, x):
        """(B, T, H·K) → (B, H, T, K)."""
        x = ops.reshape(x, (-1, ops.shape(x)[1], self.num_heads, self.width // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def _join(self, heads):
        """(B, H, T, K) → (B, T, H·K)."""
        return ops.reshape(
            ops.transpose(heads, (0, 2, 1, 3)), (-1, ops.shape(heads)[2], self.width)
        )

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "width": self.width,
            "scale": self.scale,
        }
