"""Hopfield retrieval: a lookup whose read is the next query.

ξ ← Xᵀ softmax(β X ξ)
"""

import keras

from keras_attention.layers.base import Attention
from keras_attention.ops import retrieve


@keras.saving.register_keras_serializable("keras_attention")
class Hopfield(Attention):
    """Complete queries from stored patterns: an iterated lookup in a context-sensitive memory.

    Eq. 3 of Ramsauer et al. (2020). Our names / theirs: query / ξ, key / X, `strength` / β. It has
    no weights to learn.

    Args:
        strength: β > 0; a large one ends at single patterns, a small one at their mean.
        steps: number of lookups, at least 1.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, K), or (B, K) for a single query: patterns of which a part is missing.
        value: what the last step returns for each pattern, (B, S, D).
        key: the stored patterns, (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True for what counts as stored.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S) of the last step, float32; as for
        every attention layer of the package without T for a single query.

    Raises:
        ValueError: a number is not positive, the widths differ, or a shape or the mask is not as
            above.

    Example:
    >>> import numpy as np
    >>> patterns = np.array([[[1.0, 1, -1, -1], [1, -1, 1, -1]]])
    >>> broken = np.array([[[1.0, 1, 0, 0]]])
    >>> np.round(np.array(Hopfield(strength=8.0, steps=2)(broken, patterns)))[0, 0].tolist()
    [1.0, 1.0, -1.0, -1.0]

    References:
        Ramsauer et al. (2020), Hopfield networks is all you need, arXiv:2008.02217.
    """

    def __init__(self, strength=1.0, steps=3, **kwargs):
        super().__init__(**kwargs)
        if not strength > 0 or steps < 1:
            raise ValueError(f"strength and steps must be positive, got {strength} and {steps}")
        self.strength, self.steps = strength, steps

    def build_parts(self, query_shape, value_shape, key_shape):
        if query_shape[-1] != key_shape[-1]:
            raise ValueError(
                "the queries of a Hopfield memory are as wide as its patterns, got query "
                f"(B, T, K) = {tuple(query_shape)} and key (B, S, K) = {tuple(key_shape)}"
            )

    def attend(self, query, memory, state):
        read, weights, _ = retrieve(
            query, memory.keys, memory.values, self.strength, self.steps, memory.mask
        )
        return read, weights, state

    def get_config(self):
        return {**super().get_config(), "strength": self.strength, "steps": self.steps}
