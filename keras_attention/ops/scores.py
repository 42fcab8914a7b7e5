"""Scores: one number for each pair of a query and a key, which says how well they match.

dot          s(q, k) = q·k
scaled dot   s(q, k) = q·k / √K
cosine       s(q, k) = β q·k / (‖q‖ ‖k‖)
general      s(q, k) = qᵀ W k
concat       s(q, k) = vᵀ tanh(W [q; k])
additive     s(q, k) = vᵀ tanh(W q + U k)
two-layer    s(q, k) = w₂ᵀ tanh(W₁ [q; k] + b₁) + b₂
location     s(q, j) = (W q)_j

Concat with W = [W | U] equals additive, two-layer with zero biases equals concat, and general with
W = I equals dot. Projections keep the dtype of the inputs; scores are summed in float32, or in
float64 for inputs of float64.
"""

import math

from keras import ops

from keras_attention.ops.precision import at_least, matmul, precise, precise_dtype
from keras_attention.ops.projections import project
from keras_attention.types import Array

_SHORTEST = 1e-3  # the least divisor: keeps the cosine's gradient finite at the origin


def dot(query: Array, keys: Array) -> Array:
    """Score by the dot product, "dot" in section 3.1 of Luong et al. (2015).

    Args:
        query: (…, T, K), for instance (B, T, K) or (B, H, T, K).
        keys: (…, S, K).

    Returns:
        Scores (…, T, S), at least float32.
    """
    dtype = precise_dtype(query, keys)
    return matmul(ops.cast(query, dtype), ops.swapaxes(ops.cast(keys, dtype), -1, -2))


def scaled_dot(query: Array, keys: Array) -> Array:
    """Score by the dot product over √K, eq. 1 of Vaswani et al. (2017).

    The dot product of two vectors of K independent numbers of variance 1 has variance K. For large
    K the softmax of such scores is almost one-hot, and its gradient vanishes.

    Args:
        query: (…, T, K).
        keys: (…, S, K).

    Returns:
        Scores (…, T, S), at least float32.
    """
    return dot(precise(query) / math.sqrt(query.shape[-1]), keys)


def cosine(
    query: Array, keys: Array, strength: float | Array = 1.0, projected: bool = False
) -> Array:
    """Score by the cosine of the angle, "content-base" in Graves et al. (2014), eq. 5 and 6.

    Vectors shorter than 0.001 are divided by 0.001, so that value and gradient are finite at the
    origin, where the cosine is 0.

    Args:
        query: (…, T, K).
        keys: (…, S, K).
        strength: β > 0, a number or an array that broadcasts to the scores. Cosines lie between
            −1 and 1, so their softmax is sharp only if β is large.
        projected: whether `keys` are already the output of `direction`.

    Returns:
        Scores (…, T, S), at least float32, between −β and β.
    """
    return strength * dot(direction(query), keys if projected else direction(keys))


def direction(vectors: Array) -> Array:
    """Divide vectors (…, K) by their length, or by 0.001 if they are shorter."""
    vectors = precise(vectors)
    squared = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(at_least(squared, _SHORTEST**2))


def general(query: Array, keys: Array, kernel: Array) -> Array:
    """Score by a bilinear form, "general" in section 3.1 of Luong et al. (2015).

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        kernel: W, (Q, K); the widths may differ.

    Returns:
        Scores (B, T, S), at least float32.
    """
    return dot(project(query, kernel), keys)


def concat(query: Array, keys: Array, kernel: Array, v: Array, projected: bool = False) -> Array:
    """Score by a network over concatenated query and key, "concat" of Luong et al. (2015), 3.1.

    Some versions of the paper omit v, without which the score would be a vector.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        kernel: W, (Q + K, units).
        v: (units,).
        projected: as for `additive`; U is the part of the kernel that multiplies the keys.

    Returns:
        Scores (B, T, S), at least float32.
    """
    width = query.shape[-1]
    return additive(query, keys, kernel[:width], kernel[width:], v, projected)


def additive(
    query: Array,
    keys: Array,
    query_kernel: Array,
    key_kernel: Array,
    v: Array,
    projected: bool = False,
) -> Array:
    """Score by a network with one hidden layer, appendix A.1.2 of Bahdanau et al. (2015).

    The paper writes s_{i−1} for the query, h_j for a key, W_a, U_a and v_a for the weights.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        query_kernel: W, (Q, units).
        key_kernel: U, (K, units).
        v: (units,).
        projected: whether `keys` are already U k, (B, S, units). A decoder that attends to the
            same memory at every step computes them once.

    Returns:
        Scores (B, T, S), at least float32.
    """
    keys = keys if projected else project(keys, key_kernel)
    return tanh_network(project(query, query_kernel), keys, v)


def two_layer(
    query: Array,
    keys: Array,
    kernel: Array,
    bias: Array,
    v: Array,
    output_bias: Array,
    projected: bool = False,
) -> Array:
    """Score by the two-layer network of the lecture notes, which has biases.

    The notes write s(t−1) for the query, h(t′) for a key, W_1, b_1, W_2 and b_2 for the weights.
    The output bias shifts all scores of a query equally, so attention does not depend on it.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        kernel: W₁, (Q + K, units).
        bias: b₁, (units,).
        v: w₂, (units,).
        output_bias: b₂, ().
        projected: as for `concat`.

    Returns:
        Scores (B, T, S), at least float32.
    """
    width = query.shape[-1]
    keys = keys if projected else project(keys, kernel[width:])
    scores = tanh_network(project(query, kernel[:width]) + bias, keys, v)
    return scores + ops.cast(output_bias, scores.dtype)


def tanh_network(projected_query: Array, projected_keys: Array, v: Array) -> Array:
    """Score every pair by a hidden layer that is given in two halves: vᵀ tanh(a_t + b_j).

    Args:
        projected_query: (B, T, units).
        projected_keys: (B, S, units).
        v: (units,).

    Returns:
        Scores (B, T, S), at least float32.
    """
    dtype = precise_dtype(projected_query, projected_keys)
    projected_query = ops.expand_dims(ops.cast(projected_query, dtype), 2)
    projected_keys = ops.expand_dims(ops.cast(projected_keys, dtype), 1)
    return ops.sum(ops.tanh(projected_query + projected_keys) * ops.cast(v, dtype), axis=-1)


def location(query: Array, kernel: Array, length: int) -> Array:
    """Score positions by the query alone, "location" in eq. 8 of Luong et al. (2015).

    Args:
        query: (B, T, Q).
        kernel: W, (Q, S_max), one column for each position of the longest memory.
        length: S. Positions from S_max on have no column of their own; mask them with
            `location_mask`.

    Returns:
        Scores (B, T, S), at least float32.
    """
    scores = precise(project(query, kernel))
    columns = ops.minimum(ops.arange(length), kernel.shape[-1] - 1)
    return ops.take(scores, columns, axis=-1)


def location_mask(length: int, longest: int) -> Array:
    """Return which of S positions a `location` score with S_max columns covers: booleans (S,)."""
    return ops.arange(length) < longest
