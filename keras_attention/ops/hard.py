"""Hard attention: choose one position, and learn the choice although it has no gradient.

z ~ Cat(α),   read = values_z;   ∇ E[ℓ_z] = E[(ℓ_z − b) ∇ log α_z]   (REINFORCE),
−log Σ_z α_z p(y | z)   if the sum over all positions is tractable
"""

from typing import NamedTuple

from keras import ops

from keras_attention.ops.masks import UNREACHABLE, align_mask, masked_softmax
from keras_attention.ops.precision import at_least, matmul, precise
from keras_attention.types import Array

_SMALLEST = 1e-30  # keeps the logarithm of a probability finite; a normal float32


class HardLookup(NamedTuple):
    """The result of a hard lookup.

    `read` (B, T, D), one-hot `weights` (B, T, S), and `distribution` (B, T, S), the softmax from
    which positions are drawn.
    """

    read: Array
    weights: Array
    distribution: Array


def hard_lookup(
    scores: Array,
    values: Array,
    mask: Array | None = None,
    noise: Array | None = None,
    straight_through: bool = False,
) -> HardLookup:
    """Read exactly one value for each query.

    Args:
        scores: (B, T, S).
        values: (B, S, D).
        mask: booleans (B, S) or (B, T, S), True where a query may attend; None: everywhere.
        noise: uniform numbers in (0, 1), (B, T, S). The Gumbel-max trick uses them to sample a
            position from the softmax of the scores. None: take the most likely position.
        straight_through: whether gradients flow as if the read were soft (Bengio et al., 2013);
            the value is hard in any case.

    Returns:
        A `HardLookup` whose weights are one-hot, or 0 where there is nothing to attend to. They
        have a gradient only with `straight_through`.
    """
    mask = None if mask is None else align_mask(mask, scores)
    soft = masked_softmax(scores, mask)
    preference = soft if noise is None else _log(soft) + _gumbel(noise, soft.dtype)
    if mask is not None:  # noise must not lift a masked position above an unmasked one
        preference = ops.where(mask, preference, UNREACHABLE)
    picks = preference if 0 in scores.shape else _one_hot_argmax(preference)
    if mask is not None:
        picks = ops.where(mask, picks, 0.0)
    picks = ops.stop_gradient(picks)
    weights = picks + (soft - ops.stop_gradient(soft)) if straight_through else picks
    return HardLookup(matmul(ops.cast(weights, values.dtype), values), weights, soft)


def _one_hot_argmax(preference):
    likeliest = ops.argmax(preference, axis=-1)
    return ops.one_hot(likeliest, ops.shape(preference)[-1], dtype=preference.dtype)


def _gumbel(noise, dtype):
    noise = ops.clip(ops.cast(noise, dtype), 1e-7, 1 - 1e-7)
    return -ops.log(-ops.log(noise))


def log_probability(picks: Array, weights: Array) -> Array:
    """Return log α_z of the chosen positions: one-hot picks and weights, (B, T, S) → (B, T)."""
    return _log(ops.sum(picks * weights, axis=-1))


def entropy(weights: Array) -> Array:
    """Return −Σ_j α_j log α_j of weights (B, T, S), in nats: (B, T)."""
    return -ops.sum(weights * _log(weights), axis=-1)


def reinforce(losses: Array, log_probabilities: Array, baseline: float | Array = 0.0) -> Array:
    """Return terms whose gradient is the REINFORCE estimate (Williams, 1992).

    Add them to the loss; their value has no meaning. The estimate is unbiased for every baseline
    that does not depend on the pick. Its variance is lowest for baselines near E[ℓ].

    Args:
        losses: ℓ_z of each example given its picks, (B,) or (B, T).
        log_probabilities: log α_z of the picks, same shape.
        baseline: b, a number or an array of the same shape.

    Returns:
        (ℓ_z − b) log α_z, in the shape of the losses; no gradient flows through ℓ and b.
    """
    return ops.stop_gradient(losses - baseline) * log_probabilities


def marginal_log_likelihood(weights: Array, log_likelihoods: Array) -> Array:
    """Return log Σ_z α_z p(y | z): the exact objective of hard attention.

    By Jensen's inequality it is at least Σ_z α_z log p(y | z), the bound that sampling optimises.

    Args:
        weights: α, (…, S). If all are 0, the result is a large negative number, not NaN.
        log_likelihoods: log p(y | z) of each position, (…, S).

    Returns:
        (…), at least float32, in nats.
    """
    weights = precise(weights)
    log_weights = ops.where(weights > 0, _log(weights), UNREACHABLE)
    return ops.logsumexp(log_weights + ops.cast(log_likelihoods, weights.dtype), axis=-1)


def _log(probabilities):
    return ops.log(at_least(probabilities, _SMALLEST))
