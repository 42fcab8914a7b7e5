"""Lookup: mask and normalise the scores, then read the weighted sum of the values.

read_t = Σ_j weights_tj values_j
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attention.ops.masks import align_mask, masked_softmax


class Lookup(NamedTuple):
    """What a lookup found: `read` (…, T, D), `weights` and `scores` (…, T, S), both float32."""

    read: Any
    weights: Any
    scores: Any


def lookup(scores, values, mask=None):
    """Read a memory softly: every value contributes by the weight of its key.

    Args:
        scores: (B, T, S), or (B, H, T, S) with heads.
        values: (B, S, D), or (B, H, S, D) with heads.
        mask: booleans (B, S) or (B, T, S), True where a query may look; None: everywhere.

    Returns:
        A `Lookup`: the read (…, T, D) in the dtype of the values, and weights and scores. A query
        with nothing to look at reads 0 with weights 0.
    """
    weights = masked_softmax(scores, None if mask is None else align_mask(mask, scores))
    return Lookup(ops.matmul(ops.cast(weights, values.dtype), values), weights, scores)
