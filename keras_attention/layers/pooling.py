"""Pooling over time: one summary of the memory, whatever is asked.

last  c = v_S;   mean  c = Σ_j v_j / S;   max  c_d = max_j v_jd
"""

import keras
from keras import ops

from keras_attention.layers.base import Attention, Memory, full_mask
from keras_attention.ops import uniform_weights
from keras_attention.ops.masks import UNREACHABLE

POOLINGS = ("last", "max", "mean")


@keras.saving.register_keras_serializable("keras_attention")
class Pooling(Attention):
    """Read the same summary of the memory for every query: what attention is compared with.

    The lecture notes' baselines. In place of attention weights come the shares that the positions
    have in the summary; for `"max"` that is the share of its D numbers which come from a position
    (equal maxima share theirs).

    Args:
        mode: `"last"`, the last position that is not padding; `"max"` or `"mean"` over all.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query; its numbers count for nothing.
        value: (B, S, D).
        key: (B, S, K), ignored.
        attention_mask: booleans (B, S), True for what is pooled; padding comes last.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), the same for every query, and on request the shares (B, T, S), float32.

    Raises:
        ValueError: there is no such mode, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> values = np.array([[[1.0, 5.0], [3.0, 2.0], [9.0, 9.0]]])
    >>> mask = np.array([[True, True, False]])
    >>> np.array(Pooling("max")(np.zeros((1, 1, 4)), values, attention_mask=mask)).tolist()
    [[[3.0, 5.0]]]
    """

    def __init__(self, mode="last", **kwargs):
        super().__init__(**kwargs)
        if mode not in POOLINGS:
            raise ValueError(f"mode must be one of {', '.join(POOLINGS)}, got {mode!r}")
        self.mode = mode

    def project_memory(self, value, key=None, attention_mask=None):
        mask = full_mask(value, attention_mask)
        shares = self._shares(value, mask)
        summary = ops.sum(ops.cast(shares, value.dtype) * value, axis=1, keepdims=True)
        return Memory(ops.expand_dims(ops.mean(shares, axis=-1), 1), summary, mask)

    def _shares(self, value, mask):
        """Return the share of each position in each number of the summary, (B, S, D) or (B, S, 1).

        They sum to 1 over the positions, so that summary = Σ_j shares_j · value_j.
        """
        if self.mode == "max":
            seen = ops.where(mask[..., None], ops.cast(value, "float32"), UNREACHABLE)
            largest = ops.cast(seen == ops.max(seen, axis=1, keepdims=True), "float32")
            largest = ops.where(mask[..., None], largest, 0.0)
            return largest / ops.maximum(ops.sum(largest, axis=1, keepdims=True), 1.0)
        if self.mode == "last":
            after = ops.pad(mask[:, 1:], ((0, 0), (0, 1)))
            mask = ops.logical_and(mask, ops.logical_not(after))
        return uniform_weights(mask)[..., None]

    def attend(self, query, memory, state):
        each = ops.ones_like(query[..., :1])  # XLA compiles no gradient of a repeat within a loop
        read = ops.cast(each, memory.values.dtype) * memory.values
        return read, ops.cast(each, "float32") * memory.keys, state

    def get_config(self):
        return {**super().get_config(), "mode": self.mode}
