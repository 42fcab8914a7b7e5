"""Local attention: a query attends only to a window around one position of the source.

|j − p_t| ≤ D;   around a predicted p_t a factor exp(−(j − p_t)² / 2σ²) with σ = D / 2
"""

from keras import ops

from keras_attention.ops.masks import align_mask
from keras_attention.ops.precision import matmul, precise_dtype
from keras_attention.ops.projections import project
from keras_attention.ops.soft import Lookup, lookup
from keras_attention.types import Array


def predicted_centres(query: Array, kernel: Array, v: Array, lengths: Array) -> Array:
    """Predict window centres, eq. 9 of Luong et al. (2015): p_t = S sigmoid(vᵀ tanh(W q_t)).

    Args:
        query: (B, T, Q).
        kernel: W_p, (Q, units).
        v: v_p, (units,).
        lengths: S of each sentence, without padding, (B, 1) or (B, T).

    Returns:
        Centres p (B, T), at least float32, between 0 and S. Positions count from 0.
    """
    hidden = ops.tanh(project(query, kernel))
    dtype = precise_dtype(hidden)
    share = ops.sigmoid(ops.sum(ops.cast(hidden, dtype) * ops.cast(v, dtype), axis=-1))
    return ops.cast(lengths, dtype) * share


def window(centres: Array, length: int, half_width: float) -> Array:
    """Return which positions lie at most D from a centre.

    Args:
        centres: p (B, T).
        length: S.
        half_width: D.

    Returns:
        Booleans (B, T, S).
    """
    return ops.abs(_distances(centres, length)) <= half_width


def gaussian(centres: Array, length: int, half_width: float) -> Array:
    """Favour positions near a centre: exp(−(j − p_t)² / 2σ²), σ = D / 2, eq. 10 of Luong et al.

    Args:
        centres: p (B, T).
        length: S.
        half_width: D > 0.

    Returns:
        Factors (B, T, S), at least float32, 1 at the centre.
    """
    return ops.exp(-0.5 * ops.square(_distances(centres, length) / (half_width / 2)))


def _distances(centres, length):
    dtype = precise_dtype(centres)
    return ops.cast(ops.arange(length), dtype) - ops.expand_dims(ops.cast(centres, dtype), -1)


def local_lookup(
    scores: Array,
    values: Array,
    centres: Array,
    half_width: float,
    mask: Array | None = None,
    favour: str | None = None,
) -> Lookup:
    """Read softly from the window around each centre.

    Args:
        scores: (B, T, S).
        values: (B, S, D).
        centres: p (B, T).
        half_width: D.
        mask: booleans (B, S) or (B, T, S), True where a query may attend; None: everywhere.
        favour: how positions near the centre gain weight. None: they do not, as in local-m.
            `"weights"`: the Gaussian multiplies the weights after the softmax, as in eq. 10 of the
            paper; they then sum to less than 1. `"scores"`: it multiplies the scores before the
            softmax, as in the authors' later code; the weights then sum to 1.

    Returns:
        A `Lookup`. A query with an empty window reads 0 with weights 0.
    """
    length = ops.shape(scores)[-1]
    seen = window(centres, length, half_width)
    if mask is not None:
        seen = ops.logical_and(seen, align_mask(mask, scores))
    if favour == "scores":
        scores = scores * gaussian(centres, length, half_width)
    read, weights, scores = lookup(scores, values, seen)
    if favour == "weights":
        weights = weights * gaussian(centres, length, half_width)
        read = matmul(ops.cast(weights, values.dtype), values)
    return Lookup(read, weights, scores)
