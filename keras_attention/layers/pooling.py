"""Pooling over time: one summary of the memory, the same for every query.

last  c = v_S;   mean  c = Σ_j v_j / S;   max  c_d = max_j v_jd
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.base import Attention, Memory, full_mask
from keras_attention.ops import uniform_weights
from keras_attention.ops.masks import LOWEST
from keras_attention.ops.precision import at_least, precise_dtype
from keras_attention.types import Array

POOLINGS = ("last", "max", "mean")


@keras.saving.register_keras_serializable("keras_attention")
class Pooling(Attention):
    """Read the same summary of the memory for every query, as a baseline for attention.

    These are the baselines of the lecture notes. The weight of a position is its fraction of the
    summary. For `"max"` this is the fraction of the D numbers that come from the position;
    positions with equal maxima split them evenly.

    Args:
        mode: `"last"`, the last position that is not padding; `"max"` or `"mean"` over all.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query; its values are ignored.
        value: (B, S, D).
        key: (B, S, K), ignored.
        attention_mask: booleans (B, S), True for pooled positions; padding comes last.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), the same for every query; on request the weights (B, T, S), float32.

    Raises:
        ValueError: if the mode is unknown, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> values = np.array([[[1.0, 5.0], [3.0, 2.0], [9.0, 9.0]]])
    >>> mask = np.array([[True, True, False]])
    >>> np.array(Pooling("max")(np.zeros((1, 1, 4)), values, attention_mask=mask)).tolist()
    [[[3.0, 5.0]]]
    """

    def __init__(self, mode: str = "last", **kwargs: Any):
        super().__init__(**kwargs)
        if mode not in POOLINGS:
            raise ValueError(f"mode must be one of {', '.join(POOLINGS)}, got {mode!r}")
        self.mode = mode

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        mask = full_mask(value, attention_mask)
        shares = self._shares(value, mask)
        summary = ops.sum(ops.cast(shares, value.dtype) * value, axis=1, keepdims=True)
        return Memory(
            ops.expand_dims(ops.sum(shares, axis=-1) / shares.shape[-1], 1), summary, mask
        )

    def _shares(self, value, mask):
        """Return each position's fraction of each number of the summary, (B, S, D) or (B, S, 1).

        Fractions sum to 1 over the positions, and summary = Σ_j fraction_j · value_j.
        """
        dtype = precise_dtype(value)
        if self.mode == "max" and 0 not in value.shape:  # nothing has no maximum
            seen = ops.where(mask[..., None], ops.cast(value, dtype), LOWEST)
            largest = ops.cast(seen == ops.max(seen, axis=1, keepdims=True), dtype)
            largest = ops.where(mask[..., None], largest, 0.0)
            return largest / at_least(ops.sum(largest, axis=1, keepdims=True), 1.0)
        if self.mode == "last":
            after = ops.pad(mask[:, 1:], ((0, 0), (0, 1)))
            mask = ops.logical_and(mask, ops.logical_not(after))
        return uniform_weights(mask, dtype)[..., None]

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        each = ops.ones_like(query[..., :1])  # XLA cannot compile a repeat's gradient in a loop
        read = ops.cast(each, memory.values.dtype) * memory.values
        return read, ops.cast(each, memory.keys.dtype) * memory.keys, state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mode": self.mode}
