"""Hopfield retrieval: a lookup whose read is the next query.

ξ ← Xᵀ softmax(β X ξ)
"""

from typing import Any

import keras

from keras_attention.layers.base import Attention, Memory
from keras_attention.ops import retrieve
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class Hopfield(Attention):
    """Complete queries from stored patterns by iterated lookup in a context-sensitive memory.

    See eq. 3 of Ramsauer et al. (2020). Our names / theirs: query / ξ, key / X, `strength` / β. The
    layer has no weights.

    Args:
        strength: β > 0; a large one retrieves single patterns, a small one their mean.
        steps: number of lookups, at least 1.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        query: incomplete patterns, (B, T, K), or (B, K) for a single query.
        value: what the last step returns for each pattern, (B, S, D).
        key: the stored patterns, (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True for stored patterns.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), or (B, D) for a single query; and on request the weights (B, T, S), or
        (B, S, 1) for a single query, of the last step, float32.

    Raises:
        ValueError: if a number is not positive, the widths of query and key differ, or a shape or
            the mask is not as above.

    Example:
    >>> import numpy as np
    >>> patterns = np.array([[[1.0, 1, -1, -1], [1, -1, 1, -1]]])
    >>> broken = np.array([[[1.0, 1, 0, 0]]])
    >>> np.round(np.array(Hopfield(strength=8.0, steps=2)(broken, patterns)))[0, 0].tolist()
    [1.0, 1.0, -1.0, -1.0]

    References:
        Ramsauer et al. (2020), Hopfield networks is all you need, arXiv:2008.02217.
    """

    def __init__(self, strength: float = 1.0, steps: int = 3, **kwargs: Any):
        super().__init__(**kwargs)
        if not strength > 0 or steps < 1:
            raise ValueError(f"strength and steps must be positive, got {strength} and {steps}")
        self.strength, self.steps = strength, steps

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        if query_shape[-1] != key_shape[-1]:
            raise ValueError(
                "query and key of a Hopfield memory must have the same width, got query "
                f"(B, T, K) = {tuple(query_shape)} and key (B, S, K) = {tuple(key_shape)}"
            )

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        read, weights, _ = retrieve(
            query, memory.keys, memory.values, self.strength, self.steps, memory.mask
        )
        return read, weights, state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "strength": self.strength, "steps": self.steps}
