"""Hard attention: look at one position, and learn where although the choice has no gradient.

z ~ Cat(α),   read = values_z;   ∇ E[ℓ_z] = E[(ℓ_z − b) ∇ log α_z]   (REINFORCE),
−log Σ_z α_z p(y | z)   where the sum over all positions can be computed
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attention.ops.masks import UNREACHABLE, align_mask, masked_softmax

_SMALLEST = 1e-30  # of a probability whose logarithm is taken; a normal float32


class HardLookup(NamedTuple):
    """What a hard lookup found: `read` (B, T, D), one-hot `weights` and `distribution` (B, T, S).

    The distribution is the softmax that positions are drawn from; both are float32.
    """

    read: Any
    weights: Any
    distribution: Any


def hard_lookup(scores, values, mask=None, noise=None, straight_through=False):
    """Read exactly one value for each query.

    Args:
        scores: (B, T, S).
        values: (B, S, D).
        mask: booleans (B, S) or (B, T, S), True where a query may attend; None: everywhere.
        noise: numbers from (0, 1), (B, T, S), which draw a position from the softmax of the scores
            by the Gumbel-max trick; None takes the likeliest position.
        straight_through: whether gradients flow as if the read had been soft (Bengio et al., 2013);
            the value is hard in any case.

    Returns:
        A `HardLookup` whose weights are one-hot, or 0 where there is nothing to attend to. They
        have no gradient, unless `straight_through`.
    """
    mask = None if mask is None else align_mask(mask, scores)
    soft = masked_softmax(scores, mask)
    preference = soft if noise is None else ops.log(ops.maximum(soft, _SMALLEST)) + _gumbel(noise)
    if mask is not None:  # noise must not lift a masked position above those that may be seen
        preference = ops.where(mask, preference, UNREACHABLE)
    picks = ops.one_hot(ops.argmax(preference, axis=-1), ops.shape(scores)[-1], dtype="float32")
    if mask is not None:
        picks = ops.where(mask, picks, 0.0)
    picks = ops.stop_gradient(picks)
    weights = picks + (soft - ops.stop_gradient(soft)) if straight_through else picks
    return HardLookup(ops.matmul(ops.cast(weights, values.dtype), values), weights, soft)


def _gumbel(noise):
    noise = ops.clip(ops.cast(noise, "float32"), 1e-7, 1 - 1e-7)
    return -ops.log(-ops.log(noise))


def log_probability(picks, weights):
    """Return log α_z of what was picked: (B, T, S) one-hot and (B, T, S) weights → (B, T)."""
    return ops.log(ops.maximum(ops.sum(picks * weights, axis=-1), _SMALLEST))


def entropy(weights):
    """Return −Σ_j α_j log α_j of weights (B, T, S), in nats: (B, T)."""
    return -ops.sum(weights * ops.log(ops.maximum(weights, _SMALLEST)), axis=-1)


def reinforce(losses, log_probabilities, baseline=0.0):
    """Return a number whose gradient is the REINFORCE estimate (Williams, 1992).

    Its value means nothing; add it to the loss. The estimate is unbiased for every baseline that
    does not depend on the pick; near E[ℓ] it varies least.

    Args:
        losses: ℓ_z of each example after its picks, (B,) or (B, T).
        log_probabilities: log α_z of the picks, of the same shape.
        baseline: b, a number or of the same shape.

    Returns:
        (ℓ_z − b) log α_z, with no gradient through ℓ and b; of the shape of the losses.
    """
    return ops.stop_gradient(losses - baseline) * log_probabilities


def marginal_log_likelihood(weights, log_likelihoods):
    """Return log Σ_z α_z p(y | z): the exact objective of hard attention.

    By Jensen's inequality it is at least Σ_z α_z log p(y | z), the bound that sampling optimises.

    Args:
        weights: α, (…, S); where all are 0 the result is very small, not NaN.
        log_likelihoods: log p(y | z) of each position, (…, S).

    Returns:
        (…), float32, in nats.
    """
    weights = ops.cast(weights, "float32")
    log_weights = ops.log(ops.maximum(weights, _SMALLEST))
    log_weights = ops.where(weights > 0, log_weights, UNREACHABLE)
    return ops.logsumexp(log_weights + ops.cast(log_likelihoods, "float32"), axis=-1)
