"""Lookup: mask and normalise the scores, then read the weighted sum of the values.

read_t = Σ_j weights_tj values_j
"""

from typing import NamedTuple

from keras import ops

from keras_attention.ops.masks import align_mask, masked_softmax
from keras_attention.ops.precision import matmul
from keras_attention.ops.scores import dot
from keras_attention.types import Array


class Lookup(NamedTuple):
    """The result of a lookup: `read` (…, T, D), `weights` and `scores` (…, T, S)."""

    read: Array
    weights: Array
    scores: Array


def lookup(
    scores: Array, values: Array, mask: Array | None = None, temperature: float = 1.0
) -> Lookup:
    """Read a memory softly: every value contributes by the weight of its key.

    Args:
        scores: (B, T, S), or (B, H, T, S) with heads.
        values: (B, S, D), or (B, H, S, D) with heads.
        mask: booleans (B, S) or (B, T, S), True where a query may attend; None: everywhere.
        temperature: divisor of the scores; below 1 weights are sharper, above 1 flatter.

    Returns:
        A `Lookup`: the read (…, T, D) in the dtype of the values, the weights and the scores. A
        query with nothing to attend to gets weights 0 and reads 0.
    """
    mask = None if mask is None else align_mask(mask, scores)
    weights = masked_softmax(scores, mask, temperature=temperature)
    return Lookup(matmul(ops.cast(weights, values.dtype), values), weights, scores)


def retrieve(
    query: Array,
    patterns: Array,
    values: Array | None = None,
    strength: float = 1.0,
    steps: int = 1,
    mask: Array | None = None,
) -> Lookup:
    """Retrieve stored patterns by repeated lookup: ξ ← Xᵀ softmax(β X ξ).

    This is the update of a modern Hopfield network, eq. 3 of Ramsauer et al. (2020): a lookup whose
    keys are its values, and whose read is the next query.

    Args:
        query: ξ, (B, T, K), for instance incomplete patterns.
        patterns: X, (B, S, K).
        values: what the last step reads for each pattern, (B, S, D); None: the patterns.
        strength: β; a large one retrieves single patterns, a small one their mean.
        steps: number of lookups, at least 1.
        mask: booleans (B, S) or (B, T, S), True for stored patterns; None: all are stored.

    Returns:
        A `Lookup` of the last step.
    """
    for _ in range(steps - 1):
        query = lookup(strength * dot(query, patterns), patterns, mask).read
    values = patterns if values is None else values
    return lookup(strength * dot(query, patterns), values, mask)
