"""Attention with a past: what earlier weights tell about where to look next."""

from keras import ops


def uniform_weights(mask):
    """Spread the weight evenly over what may be looked at: booleans (B, S) → weights (B, S)."""
    seen = ops.cast(mask, "float32")
    return seen / ops.maximum(ops.sum(seen, axis=-1, keepdims=True), 1.0)


def coverage(weights):
    """Sum what every query before has looked at, eq. 10 of See et al. (2017).

    Args:
        weights: (B, T, S).

    Returns:
        c_t = Σ_{t′<t} α_t′, (B, T, S); 0 for the first query.
    """
    return ops.cumsum(weights, axis=1) - weights


def coverage_loss(weights):
    """Return the price of looking again at what was seen, eq. 12 of See et al. (2017).

    Args:
        weights: (B, T, S); 0 for queries that are padding, which then cost nothing.

    Returns:
        Σ_j min(α_tj, c_tj), (B, T), float32: between 0, everything new, and 1, nothing new.
    """
    return ops.sum(ops.minimum(weights, coverage(weights)), axis=-1)


def location_features(weights, kernel, mask):
    """Convolve the weights of the query before over the source, eq. 8 of Chorowski et al. (2015).

    Args:
        weights: α_{t−1}, (B, S).
        kernel: F, (taps, 1, channels), with an odd number of taps.
        mask: booleans (B, S); features of masked positions are 0.

    Returns:
        f_t = F ∗ α_{t−1}, (B, S, channels).
    """
    features = ops.conv(
        ops.expand_dims(weights, -1), kernel, padding="same", data_format="channels_last"
    )
    return ops.where(ops.expand_dims(mask, -1), features, 0.0)
