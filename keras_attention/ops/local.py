"""Local attention: a query looks only at a window around one position of the source.

|j − p_t| ≤ D,   and predicted positions are favoured by exp(−(j − p_t)² / 2σ²) with σ = D / 2
"""

from keras import ops

from keras_attention.ops.masks import align_mask
from keras_attention.ops.projections import project
from keras_attention.ops.soft import Lookup, lookup


def predicted_centres(query, kernel, v, lengths):
    """Predict where to look, eq. 9 of Luong et al. (2015): p_t = S sigmoid(vᵀ tanh(W q_t)).

    Args:
        query: (B, T, Q).
        kernel: W_p, (Q, units).
        v: v_p, (units,).
        lengths: S of each sentence, without padding, (B, 1) or (B, T).

    Returns:
        Centres p (B, T), float32, between 0 and S. Positions count from 0.
    """
    hidden = ops.cast(ops.tanh(project(query, kernel)), "float32")
    share = ops.sigmoid(ops.sum(hidden * ops.cast(v, "float32"), axis=-1))
    return ops.cast(lengths, "float32") * share


def window(centres, length, half_width):
    """Say which positions lie at most D from a centre.

    Args:
        centres: p (B, T).
        length: S.
        half_width: D.

    Returns:
        Booleans (B, T, S).
    """
    return ops.abs(_distances(centres, length)) <= half_width


def gaussian(centres, length, half_width):
    """Favour positions near a centre: exp(−(j − p_t)² / 2σ²), σ = D / 2, eq. 10 of Luong et al.

    Args:
        centres: p (B, T).
        length: S.
        half_width: D, above 0.

    Returns:
        Numbers (B, T, S), float32, 1 at the centre.
    """
    return ops.exp(-0.5 * ops.square(_distances(centres, length) / (half_width / 2)))


def _distances(centres, length):
    positions = ops.cast(ops.arange(length), "float32")
    return positions - ops.expand_dims(ops.cast(centres, "float32"), -1)


def local_lookup(scores, values, centres, half_width, mask=None, favour=None):
    """Read softly from the window around each centre.

    Args:
        scores: (B, T, S).
        values: (B, S, D).
        centres: p (B, T).
        half_width: D.
        mask: booleans (B, S) or (B, T, S), True where a query may attend; None: everywhere.
        favour: whether and how positions near the centre count for more. None: only the window, as
            in local-m. `"weights"`: the Gaussian multiplies the weights after their softmax, as in
            eq. 10 of the paper, so that they sum to less than 1. `"scores"`: it multiplies the
            scores before, as in the authors' later code, and the weights sum to 1.

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
        read = ops.matmul(ops.cast(weights, values.dtype), values)
    return Lookup(read, weights, scores)
