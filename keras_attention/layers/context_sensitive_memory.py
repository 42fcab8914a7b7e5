"""Context-sensitive memory: a Python dict whose keys need not match exactly.

α_tj = softmax_j(score(q_t, k_j) / τ),   c_t = Σ_j α_tj v_j
"""

import keras

from keras_attention.layers.base import ScoredAttention
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import lookup, project


@keras.saving.register_keras_serializable("keras_attention")
class ContextSensitiveMemory(WeightedLayer, ScoredAttention):
    """Look queries up in a soft dictionary of keys and values.

    Every key is compared with the query, every value counts by the weight of its key. The sharper
    the scores, or the lower the temperature, the more it is a Python dict: in the limit a query
    that equals exactly one key returns its value, and equal keys return the mean of theirs. It
    always returns something, also where no key matches.

    The lecture notes write lookup(q, M), M = {(k_t, v_t)} and α(q, k).

    Args:
        score: as for every attention layer of the package: a name of
            `keras_attention.layers.scores.SCORES`, a layer of that module, or a function
            `(query, keys) → scores (B, T, S)`.
        temperature: τ > 0; below 1 sharper, above 1 flatter.
        key_dim: width of the learned projections W_Q and W_K of query and keys; None: none.
        value_dim: width of the learned projection W_V of the values; None: none.
        **kwargs: initializers, regularizers and constraints of the projections, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), D being `value_dim` where it is given, or (B, D) for a single query; and
        on request the weights (B, T, S), or (B, S, 1) for a single query, float32.

    Raises:
        ValueError: there is no such score, a number is not positive, or a shape or the mask is not
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

    def __init__(self, score="scaled_dot", temperature=1.0, key_dim=None, value_dim=None, **kwargs):
        super().__init__(score=score, **kwargs)
        for name, number in (
            ("temperature", temperature),
            ("key_dim", key_dim),
            ("value_dim", value_dim),
        ):
            if number is not None and not number > 0:
                raise ValueError(f"{name} must be positive, got {number}")
        self.temperature, self.key_dim, self.value_dim = temperature, key_dim, value_dim

    def build_parts(self, query_shape, value_shape, key_shape):
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

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        return (*query_shape[:-1], self.value_dim or value_shape[-1])

    def project_memory(self, value, key=None, attention_mask=None):
        key = value if key is None else key
        if self.key_kernel is not None:
            key = project(key, self.key_kernel)
        if self.value_kernel is not None:
            value = project(value, self.value_kernel)
        return super().project_memory(value, key, attention_mask)

    def attend(self, query, memory, state):
        if self.query_kernel is not None:
            query = project(query, self.query_kernel)
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = lookup(scores, memory.values, memory.mask, self.temperature)
        return read, weights, state

    def get_config(self):
        return {
            **super().get_config(),
            "temperature": self.temperature,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
        }
