"""Additive attention: score every key by a small network, then read the values.

s_tj = vᵀ tanh(W q_t + U k_j),   α_t = softmax_j(s_t),   c_t = Σ_j α_tj v_j
"""

from typing import Any

import keras

from keras_attention.layers.base import ScoredAttention
from keras_attention.layers.scores import AdditiveScore
from keras_attention.layers.weights import DEFAULTS


@keras.saving.register_keras_serializable("keras_attention")
class AdditiveAttention(ScoredAttention):
    """Read a weighted sum of the values for each query, scored by a network with one hidden layer.

    See eq. 5 and 6 and appendix A.1.2 of Bahdanau et al. (2015). Our names / theirs: query /
    s_{i−1}, key and value / h_j, weights / α_ij, read / c_i; in the score, `query_kernel` / W_a,
    `key_kernel` / U_a, `v` / v_a. Unlike `keras.layers.AdditiveAttention`, which adds query and key
    directly, this layer has W and U.

    A single query (B, Q) is the decoder step of the lecture's model: its weights are (B, S, 1), and
    their softmax runs along axis 1, the source positions.

    Args:
        units: width of the hidden layer.
        **kwargs: initializers, regularizers and constraints of W, U and v, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend. Implicit Keras
            masks are ignored, so mask the padding here. A query with nothing to attend to gets
            weights 0 and a read of 0.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), or (B, D) for a single query; and on request the weights (B, T, S), or
        (B, S, 1) for a single query, float32.

    Raises:
        ValueError: if `units` is not positive, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> attend = AdditiveAttention(units=8)
    >>> query, memory = np.ones((2, 3, 5)), np.ones((2, 7, 11))
    >>> read, weights = attend(query, memory, return_attention_scores=True)
    >>> tuple(read.shape), tuple(weights.shape)
    ((2, 3, 11), (2, 3, 7))

    References:
        Bahdanau, Cho, Bengio (2015), Neural machine translation by jointly learning to align and
        translate, arXiv:1409.0473.
    """

    def __init__(self, units: int, **kwargs: Any):
        of_weights = {name: kwargs.pop(name) for name in DEFAULTS if name in kwargs}
        score = AdditiveScore(units, dtype=kwargs.get("dtype"), name="score", **of_weights)
        super().__init__(score, **kwargs)
        self.units = units

    def get_config(self) -> dict[str, Any]:
        config, of_score = super().get_config(), self.score.get_config()
        del config["score"]
        return {**config, "units": self.units, **{name: of_score[name] for name in DEFAULTS}}
