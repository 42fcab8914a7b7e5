"""Multi-head attention: several small lookups side by side, each with projections of its own.

head_h = lookup(query W_h^Q, keys W_h^K, values W_h^V),   read = Σ_h head_h W_h^O
"""

import math

import keras
from keras import ops

from keras_attention.layers.attention import check_shapes
from keras_attention.ops import lookup, scaled_dot


@keras.saving.register_keras_serializable("keras_attention")
class MultiHeadAttention(keras.layers.Layer):
    """Let each query read a memory through several heads, section 3.2.2 of Vaswani et al. (2017).

    A wrapper around `keras.layers.MultiHeadAttention`: its projections, names and weights, and
    between them the lookup of this package. Keras computes a row with nothing to look at
    differently with and without scores, and the softmax in the compute dtype; it heeds implicit
    masks, and takes them off its inputs, so that only the first of two layers over one tensor sees
    them. Here only the explicit mask counts. Our names / the paper's: query, keys, values / Q, K,
    V, `num_heads` / h, `key_dim` / d_k.

    A call is two movements: `remember` projects the keys and values, once, and `look` reads them,
    as often as there are queries. What is remembered may be kept, as a decoder's cache is.

    Args:
        num_heads: number of heads, H.
        key_dim: depth of the query, key and value of one head, K.
        dropout: share of the weights that is dropped in training.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, D).
        keys: (B, S, E).
        values: (B, S, F). Defaults to the keys.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may look. Where a query
            has nothing to look at, its weights are 0 and its read is the bias of the output
            projection, whether or not the weights are returned. Implicit Keras masks are not
            consulted.
        return_attention_scores: whether to return `(read, weights)`; the argument keeps Keras'
            name, what comes is after the softmax.

    Returns:
        The read (B, T, D), and on request the weights (B, H, T, S), float32, before dropout.

    Raises:
        ValueError: a number is not positive, the dropout is no share, or a shape or the mask is not
            as above.

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

    def __init__(self, num_heads, key_dim, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        if num_heads < 1 or key_dim < 1:
            raise ValueError(
                f"num_heads and key_dim must be positive integers, got {num_heads} and {key_dim}"
            )
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        self.supports_masking = True
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        self.projections = keras.layers.MultiHeadAttention(
            num_heads, key_dim, dropout=dropout, dtype=self.dtype_policy, name="projections"
        )

    def build(self, query_shape, keys_shape, values_shape=None):
        values_shape = values_shape or keys_shape
        check_shapes(query_shape, keys_shape, values_shape)
        self.projections.build(query_shape, values_shape, keys_shape)
        # Keras' own `call` takes an implicit mask off before it projects; otherwise it would warn.
        for name in ("_query_dense", "_key_dense", "_value_dense"):
            getattr(self.projections, name).supports_masking = True

    def remember(self, keys, values=None):
        """Project keys and values for all heads: (B, S, E), (B, S, F) → (B, H, K, S), (B, H, S, K).

        So the products with a query, and with its weights, run along memory as it lies.
        """
        values = keys if values is None else values
        keys = ops.transpose(self.projections._key_dense(keys), (0, 2, 3, 1))
        return keys, ops.swapaxes(self.projections._value_dense(values), 1, 2)

    def look(self, query, keys, values, attention_mask=None, training=None):
        """Read with a query (B, T, D) what was remembered → the read (B, T, D), and the weights."""
        scores = _scores(ops.swapaxes(self.projections._query_dense(query), 1, 2), keys)
        read, weights, _ = lookup(scores, values, attention_mask)
        if self.dropout > 0:
            # Keras takes `training=None` for "off"; not given, it asks the call that is under way.
            asked = {} if training is None else {"training": training}
            dropped = self.projections._dropout_layer(weights, **asked)
            read = ops.matmul(ops.cast(dropped, values.dtype), values)
        return self.projections._output_dense(ops.swapaxes(read, 1, 2)), weights

    def call(
        self,
        query,
        keys,
        values=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        values = keys if values is None else values
        check_shapes(query.shape, keys.shape, values.shape)
        remembered = self.remember(keys, values)
        read, weights = self.look(query, *remembered, attention_mask, training)
        return (read, weights) if return_attention_scores else read

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "dropout": self.dropout,
        }


def _scores(query, keys):
    """Score queries (B, H, T, K) and remembered keys (B, H, K, S) → (B, H, T, S), float32."""
    if query.shape[2] != 1:
        return scaled_dot(query, ops.swapaxes(keys, 2, 3))
    # One token at a time: B·H products of a row and a matrix, which XLA takes one by one on a CPU;
    # as one sum it reads a long cache in 0.6 of the time.
    query = ops.swapaxes(ops.cast(query, "float32"), 2, 3) / math.sqrt(query.shape[3])
    return ops.sum(query * ops.cast(keys, "float32"), axis=2, keepdims=True)
