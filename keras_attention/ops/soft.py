"""Lookup: mask and normalise the scores, then read the weighted sum of the values.

read_t = Σ_j weights_tj values_j
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attention.ops.masks import align_mask, masked_softmax
from keras_attention.ops.scores import dot


class Lookup(NamedTuple):
    """What a lookup found: `read` (…, T, D), `weights` and `scores` (…, T, S), both float32."""

    read: Any
    weights: Any
    scores: Any


def lookup(scores, values, mask=None, temperature=1.0):
    """Read a memory softly: every value contributes by the weight of its key.

    Args:
        scores: (B, T, S), or (B, H, T, S) with heads.
        values: (B, S, D), or (B, H, S, D) with heads.
        mask: booleans (B, S) or (B, T, S), True where a query may attend; None: everywhere.
        temperature: what the scores are divided by: below 1 sharper, above 1 flatter.

    Returns:
        A `Lookup`: the read (…, T, D) in the dtype of the values, and weights and scores. A query
        with nothing to attend to reads 0 with weights 0.
    """
    mask = None if mask is None else align_mask(mask, scores)
    weights = masked_softmax(scores, mask, temperature=temperature)
    return Lookup(ops.matmul(ops.cast(weights, values.dtype), values), weights, scores)


def retrieve(query, patterns, values=None, strength=1.0, steps=1, mask=None):
    """Retrieve stored patterns by looking them up again and again: ξ ← Xᵀ softmax(β X ξ).

    The update of a modern Hopfield network, eq. 3 of Ramsauer et al. (2020): a lookup whose keys
    are its values, and whose read is the next query.

    Args:
        query: ξ, (B, T, K), for instance patterns of which a part is missing.
        patterns: X, (B, S, K).
        values: what the last step reads for each pattern, (B, S, D); None: the patterns.
        strength: β; a large one ends at single patterns, a small one at their mean.
        steps: number of lookups, at least 1.
        mask: booleans (B, S) or (B, T, S), True for what counts as stored; None: everything.

    Returns:
        A `Lookup` of the last step.
    """
    for _ in range(steps - 1):
        query = lookup(strength * dot(query, patterns), patterns, mask).read
    values = patterns if values is None else values
    return lookup(strength * dot(query, patterns), values, mask)
