"""Additive attention: score every key by a small network, then read the values.

s_tj = vᵀ tanh(W q_t + U k_j),   α_t = softmax_j(s_t),   c_t = Σ_j α_tj v_j
"""

import keras
from keras import ops

from keras_attention.ops import additive, align_mask, lookup, masked_softmax


@keras.saving.register_keras_serializable("keras_attention")
class AdditiveAttention(keras.layers.Layer):
    """Let each query read a weighted sum of the values, scored by a network with one hidden layer.

    The equations are eq. 5 and 6 and appendix A.1.2 of Bahdanau et al. (2015). Our names / theirs:
    query / s_{i−1}, keys and values / h_j, weights / α_ij, read / c_i, `query_kernel` / W_a,
    `key_kernel` / U_a, `v` / v_a. Unlike `keras.layers.AdditiveAttention`, which adds the query
    and the key as they are, this layer has W and U.

    A single query (B, Q) is the decoder step of the lecture's model: its weights are (B, S, 1), and
    their softmax runs along axis 1, the source positions.

    Args:
        units: width of the hidden layer.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        keys: (B, S, K).
        values: (B, S, D). Defaults to the keys.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may look. Padding is seen
            unless it is masked here; implicit Keras masks are not consulted. The argument is not
            called `mask`, since Keras takes that one for the mask of the first argument, the
            query. Where a query has nothing to look at, weights and read are 0.
        return_attention_scores: whether to return `(read, weights)`; the argument keeps Keras'
            name, what comes is after the softmax.

    Returns:
        The read (B, T, D), or (B, D) for a single query; and on request the weights (B, T, S), or
        (B, S, 1) for a single query, float32.

    Raises:
        ValueError: `units` is not positive, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> attend = AdditiveAttention(units=8)
    >>> query, keys = np.ones((2, 3, 5)), np.ones((2, 7, 11))
    >>> read, weights = attend(query, keys, return_attention_scores=True)
    >>> tuple(read.shape), tuple(weights.shape)
    ((2, 3, 11), (2, 3, 7))

    References:
        Bahdanau, Cho, Bengio (2015), Neural machine translation by jointly learning to align and
        translate, arXiv:1409.0473.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        if units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        self.supports_masking = True
        self.units = units

    def build(self, query_shape, keys_shape):
        if len(query_shape) not in (2, 3) or len(keys_shape) != 3:
            raise ValueError(
                "query must have shape (B, T, Q) or (B, Q) and keys (B, S, K), "
                f"got {tuple(query_shape)} and {tuple(keys_shape)}"
            )
        self.query_kernel = self.add_weight(
            shape=(query_shape[-1], self.units), initializer="glorot_uniform", name="query_kernel"
        )
        self.key_kernel = self.add_weight(
            shape=(keys_shape[-1], self.units), initializer="glorot_uniform", name="key_kernel"
        )
        self.v = self.add_weight(shape=(self.units,), initializer="glorot_uniform", name="v")

    def call(self, query, keys, values=None, attention_mask=None, return_attention_scores=False):
        values = keys if values is None else values
        if len(query.shape) == 2:
            read, weights = self._read_once(query, keys, values, attention_mask)
        else:
            read, weights, _ = lookup(self._score(query, keys), values, attention_mask)
        return (read, weights) if return_attention_scores else read

    def _read_once(self, query, keys, values, mask):
        """Answer one query a sentence, with the source on axis 1 as in the lecture's model."""
        scores = self._score(ops.expand_dims(query, 1), keys)
        if mask is not None:
            mask = ops.swapaxes(align_mask(mask, scores), 1, 2)
        weights = masked_softmax(ops.swapaxes(scores, 1, 2), mask, axis=1)
        return ops.sum(ops.cast(weights, values.dtype) * values, axis=1), weights

    def _score(self, query, keys):
        return additive(query, keys, self.query_kernel, self.key_kernel, self.v)

    def get_config(self):
        return {**super().get_config(), "units": self.units}
