"""Attention with a state: earlier weights help to decide where to attend next."""

from keras import ops

from keras_attention.ops.precision import at_least
from keras_attention.ops.projections import project
from keras_attention.types import Array


def uniform_weights(mask: Array, dtype: str = "float32") -> Array:
    """Spread the weight evenly over unmasked positions: booleans (B, S) → weights (B, S)."""
    seen = ops.cast(mask, dtype)
    return seen / at_least(ops.sum(seen, axis=-1, keepdims=True), 1.0)


def coverage(weights: Array) -> Array:
    """Sum the weights of all earlier queries, eq. 10 of See et al. (2017).

    Args:
        weights: (B, T, S).

    Returns:
        c_t = Σ_{t′<t} α_t′, (B, T, S); 0 for the first query.
    """
    return ops.cumsum(weights, axis=1) - weights


def coverage_loss(weights: Array) -> Array:
    """Return the penalty for attending to the same positions again, eq. 12 of See et al. (2017).

    Args:
        weights: (B, T, S); 0 for queries that are padding, which then cost nothing.

    Returns:
        Σ_j min(α_tj, c_tj), (B, T), float32: from 0 (all attention is new) to 1 (none is).
    """
    return ops.sum(ops.minimum(weights, coverage(weights)), axis=-1)


def location_features(weights: Array, kernel: Array, mask: Array) -> Array:
    """Convolve the weights of the previous query over the source, eq. 8 of Chorowski et al. (2015).

    Args:
        weights: α_{t−1}, (B, S).
        kernel: F, (taps, 1, channels), with an odd number of taps.
        mask: booleans (B, S); features of masked positions are 0.

    Returns:
        f_t = F ∗ α_{t−1}, (B, S, channels).
    """
    if 0 in weights.shape:  # not every backend convolves nothing
        return weights[..., None] * kernel[0, 0]
    features = ops.conv(
        ops.expand_dims(weights, -1), kernel, padding="same", data_format="channels_last"
    )
    return ops.where(ops.expand_dims(mask, -1), features, 0.0)


def gated_update(state: Array, inputs: Array, recurrent_kernel: Array) -> Array:
    """Update a state of any rank by a gated recurrent unit, eq. 5 to 8 of Cho et al. (2014).

    `keras.layers.GRUCell` takes only states (B, C); neural coverage has a state for each position.

    Args:
        state: h, (…, C).
        inputs: W_z x + b_z, W_r x + b_r and W_h x + b_h, concatenated, (…, 3 C).
        recurrent_kernel: U_z, U_r and U_h, concatenated, (C, 3 C).

    Returns:
        z h + (1 − z) tanh(W_h x + U_h (r h) + b_h), (…, C), with the gates z and r.
    """
    width = state.shape[-1]
    gates = inputs[..., : 2 * width] + project(state, recurrent_kernel[:, : 2 * width])
    update, reset = ops.sigmoid(gates[..., :width]), ops.sigmoid(gates[..., width:])
    recalled = project(reset * state, recurrent_kernel[:, 2 * width :])
    return update * state + (1 - update) * ops.tanh(inputs[..., 2 * width :] + recalled)
