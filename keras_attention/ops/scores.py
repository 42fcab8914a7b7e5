"""Scores: how alike are a query and a key? Every pair of a query and a key gets one number.

additive    s(q, k) = vᵀ tanh(W q + U k)
scaled dot  s(q, k) = q·k / √K
"""

import math

from keras import ops


def additive(query, keys, query_kernel, key_kernel, v):
    """Score by a network with one hidden layer, eq. in appendix A.1.2 of Bahdanau et al. (2015).

    The paper writes s_{i−1} for the query, h_j for a key, W_a, U_a and v_a for the weights. The
    hidden layer is summed in float32, whatever the dtype of the inputs.

    Args:
        query: (B, T, Q).
        keys: (B, S, K).
        query_kernel: W, (Q, units).
        key_kernel: U, (K, units).
        v: (units,).

    Returns:
        Scores (B, T, S), float32.
    """
    projected_query = ops.expand_dims(ops.matmul(query, query_kernel), 2)
    projected_keys = ops.expand_dims(ops.matmul(keys, key_kernel), 1)
    hidden = ops.tanh(ops.cast(projected_query + projected_keys, "float32"))
    return ops.sum(hidden * ops.cast(v, "float32"), axis=-1)


def scaled_dot(query, keys):
    """Score by the dot product over √K, eq. 1 of Vaswani et al. (2017).

    Computed in float32, whatever the dtype of the inputs.

    Args:
        query: (…, T, K), for instance (B, H, T, K).
        keys: (…, S, K).

    Returns:
        Scores (…, T, S), float32.
    """
    query = ops.cast(query, "float32") / math.sqrt(query.shape[-1])
    keys = ops.cast(keys, "float32")
    return ops.matmul(query, ops.swapaxes(keys, -1, -2))
