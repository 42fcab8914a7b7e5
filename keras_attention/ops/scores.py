"""Scores: how alike are a query and a key? Every pair of a query and a key gets one number.

dot          s(q, k) = q·k
scaled dot   s(q, k) = q·k / √K
cosine       s(q, k) = β q·k / (‖q‖ ‖k‖)
general      s(q, k) = qᵀ W k
concat       s(q, k) = vᵀ tanh(W [q; k])
additive     s(q, k) = vᵀ tanh(W q + U k)
two-layer    s(q, k) = w₂ᵀ tanh(W₁ [q; k] + b₁) + b₂
location     s(q, j) = (W q)_j

Concat with W = [W | U] is additive, two-layer with zero biases is concat, general with W = I is
dot. Projections have the dtype of the inputs; what is then summed into a score is float32.
"""

import math

from keras import ops

from keras_attention.ops.projections import project

_SHORTEST = 1e-3  # of a vector with a direction: keeps the cosine's gradient finite at the origin


def dot(query, keys):
    """Score by the dot product, "dot" in section 3.1 of Luong et al. (2015).

    Args:
        query: (…, T, K), for instance (B, T, K) or (B, H, T, K).
        keys: (…, S, K).

    Returns:
        Scores (…, T, S), float32.
    """
    query, keys = ops.cast(query, "float32"), ops.cast(keys, "float32")
    return ops.matmul(query, ops.swapaxes(keys, -1, -2))


def scaled_dot(query, keys):
    """Score by the dot product over √K, eq. 1 of Vaswani et al. (2017).

    The dot product of two vectors of K independent numbers of variance 1 has variance K; a softmax
    over such numbers is one-hot, and its gradient vanishes.

    Args:
        query: (…, T, K).
        keys: (…, S, K).

    Returns:
        Scores (…, T, S), float32.
    """
    return dot(ops.cast(query, "float32") / math.sqrt(query.shape[-1]), keys)


def cosine(query, keys, strength=1.0, projected=False):
    """Score by the cosine of the angle, "content-base" in Graves et al. (2014), eq. 5 and 6.

    A vector shorter than 0.001 counts as having that length, so that value and gradient are finite
    at the origin, where the cosine is 0.

    Args:
        query: (…, T, K).
        keys: (…, S, K).
        strength: β > 0, a number or what broadcasts to the scores. Cosines lie between −1 and 1,
            so that without strength no softmax over them is sharp.
        projected: whether the keys are their `direction` already.

    Returns:
        Scores (…, T, S), float32, between −β and β.
    """
    return strength * dot(direction(query), keys if projected else direction(keys))


def direction(vectors):
    """Divide vectors (…, K) by their length, or by 0.001 where they are shorter; float32."""
    vectors = ops.cast(vectors, "float32")
    squared = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(ops.maximum(squared, _SHORTEST**2))


def general(query, keys, kernel):
    """Score by a bilinear form, "general" in section 3.1 of Luong et al. (2015).

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        kernel: W, (Q, K); the widths may differ.

    Returns:
        Scores (B, T, S), float32.
    """
    return dot(project(query, kernel), keys)


def concat(query, keys, kernel, v, projected=False):
    """Score by a network over query and key side by side, "concat" of Luong et al. (2015), 3.1.

    Some prints of the paper leave out v, without which the score would be a vector.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        kernel: W, (Q + K, units).
        v: (units,).
        projected: as for `additive`, by the part of the kernel that belongs to the keys.

    Returns:
        Scores (B, T, S), float32.
    """
    width = query.shape[-1]
    return additive(query, keys, kernel[:width], kernel[width:], v, projected)


def additive(query, keys, query_kernel, key_kernel, v, projected=False):
    """Score by a network with one hidden layer, eq. in appendix A.1.2 of Bahdanau et al. (2015).

    The paper writes s_{i−1} for the query, h_j for a key, W_a, U_a and v_a for the weights.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        query_kernel: W, (Q, units).
        key_kernel: U, (K, units).
        v: (units,).
        projected: whether the keys are U k already, (B, S, units): a decoder that attends to the
            same memory at every step computes them once.

    Returns:
        Scores (B, T, S), float32.
    """
    keys = keys if projected else project(keys, key_kernel)
    return tanh_network(project(query, query_kernel), keys, v)


def two_layer(query, keys, kernel, bias, v, output_bias, projected=False):
    """Score by the two-layer network of the lecture notes, which has biases.

    The notes write s(t−1) for the query, h(t′) for a key, W_1, b_1, W_2 and b_2 for the weights.
    The output bias moves all scores of a query alike, so no weight depends on it.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        kernel: W₁, (Q + K, units).
        bias: b₁, (units,).
        v: w₂, (units,).
        output_bias: b₂, ().
        projected: as for `concat`.

    Returns:
        Scores (B, T, S), float32.
    """
    width = query.shape[-1]
    keys = keys if projected else project(keys, kernel[width:])
    scores = tanh_network(project(query, kernel[:width]) + bias, keys, v)
    return scores + ops.cast(output_bias, "float32")


def tanh_network(projected_query, projected_keys, v):
    """Sum the two halves of a hidden layer for every pair, and read it out: vᵀ tanh(a_t + b_j).

    Args:
        projected_query: (B, T, units).
        projected_keys: (B, S, units).
        v: (units,).

    Returns:
        Scores (B, T, S), float32.
    """
    projected_query = ops.expand_dims(ops.cast(projected_query, "float32"), 2)
    projected_keys = ops.expand_dims(ops.cast(projected_keys, "float32"), 1)
    return ops.sum(ops.tanh(projected_query + projected_keys) * ops.cast(v, "float32"), axis=-1)


def location(query, kernel, length):
    """Score positions by the query alone, "location" in eq. 8 of Luong et al. (2015).

    Args:
        query: (B, T, Q).
        kernel: W, (Q, S_max), a column for each position of the longest memory.
        length: S. Positions from S_max on have no column of their own, and must be masked, see
            `location_mask`.

    Returns:
        Scores (B, T, S), float32.
    """
    scores = ops.cast(project(query, kernel), "float32")
    columns = ops.minimum(ops.arange(length), kernel.shape[-1] - 1)
    return ops.take(scores, columns, axis=-1)


def location_mask(length, longest):
    """Return which of S positions a `location` score of S_max columns reaches: booleans (S,)."""
    return ops.arange(length) < longest
