"""Soft against hard attention: bias and variance of the estimates of one gradient, measured.

L(θ) = Σ_z α_z ℓ_z,   ∇L = α ⊙ (ℓ − α·ℓ)
"""

from functools import partial

import keras
import numpy as np
from keras import ops

from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.ops import (
    hard_lookup,
    log_probability,
    lookup,
    marginal_log_likelihood,
    reinforce,
)
from keras_attention.plotting import plot_curves

SCORES, COSTS = (0.5, -0.3, 0.1), (2.0, 1.0, 4.0)
VALUES = np.eye(3, dtype="float32")[None]  # what is read is who was looked at
PICTURE = "estimators.png"


def cost(read):
    """Return ℓ of what was read, (B, 1, 3) → (B, 1): Σ_z c_z √ℓ_z squared, so ℓ_z of value z."""
    roots = ops.convert_to_tensor(np.sqrt(np.array(COSTS, "float32")))
    return ops.square(ops.sum(ops.cast(read, "float32") * roots, axis=-1))


def expected(scores, noise):
    """The objective itself, by enumeration: what all the others estimate."""
    del noise
    weights = ops.softmax(scores, axis=-1)
    return ops.sum(weights * ops.convert_to_tensor(np.array(COSTS, "float32")), axis=-1)


def soft(scores, noise):
    """Read the mean of the values: no noise, but the cost of a mean is no mean of costs."""
    del noise
    return cost(lookup(scores, ops.convert_to_tensor(VALUES)).read)


def straight_through(scores, noise):
    """Read one value, and pretend for the gradient that the read was soft.

    With this cost its mean is the soft gradient, since the gradient of a square is linear.
    """
    return cost(
        hard_lookup(scores, ops.convert_to_tensor(VALUES), noise=noise, straight_through=True).read
    )


def sampled(scores, noise, baseline):
    """Read one value, and let what it cost say how often to read it again."""
    read, picks, weights = hard_lookup(scores, ops.convert_to_tensor(VALUES), noise=noise)
    return reinforce(cost(read), log_probability(picks, weights), baseline)


def marginal(scores, noise):
    """−log Σ_z α_z p(y | z): exact as well, and the gradient of another objective."""
    del noise
    likelihoods = ops.convert_to_tensor(-np.array(COSTS, "float32"))
    return -marginal_log_likelihood(ops.softmax(scores, axis=-1), likelihoods)


def gradients(surrogates, count, seed):
    """Return `count` independent estimates of the gradient for SCORES, by each surrogate.

    Every example has scores of its own for each surrogate, all equal; one step of gradient descent
    with the learning rate 1 moves each by its own estimate.

    Args:
        surrogates: functions `(scores (B, 1, 3), noise (B, 1, 3)) → (B, 1)` by name.
        count: estimates of each.
        seed: random seed.

    Returns:
        Arrays (count, 3) float64 by name.
    """
    ids, noise = keras.Input((1,), dtype="int32"), keras.Input((1, len(SCORES)))
    scores = {name: _repeated_scores(count) for name in surrogates}
    costs = [_Surrogate(f)([scores[name](ids), noise]) for name, f in surrogates.items()]
    model = keras.Model([ids, noise], keras.layers.Concatenate()(costs))
    model.compile(
        keras.optimizers.SGD(1.0),
        loss=lambda labels, costs: ops.sum(costs),
        jit_compile=keras.backend.backend() != "torch",
    )
    uniform = np.random.default_rng(seed).uniform(size=(count, 1, len(SCORES)))
    before = {name: _numbers(rows) for name, rows in scores.items()}
    places = np.arange(count, dtype="int32")[:, None]
    nothing = np.zeros((count, len(surrogates)), "float32")
    model.train_on_batch([places, uniform.astype("float32")], nothing)
    return {name: before[name] - _numbers(rows) for name, rows in scores.items()}


def _repeated_scores(count):
    """A table of scores, SCORES in each of its rows."""

    def initial(shape, dtype):
        return ops.convert_to_tensor(np.tile(np.array(SCORES), (count, 1)), dtype)

    return keras.layers.Embedding(count, len(SCORES), embeddings_initializer=initial)


def _numbers(rows):
    return ops.convert_to_numpy(rows.embeddings).astype("float64")


class _Surrogate(keras.layers.Layer):
    """What is differentiated, as a layer: (B, 1, 3) scores and noise → (B, 1)."""

    def __init__(self, surrogate):
        super().__init__()
        self.surrogate = surrogate

    def call(self, inputs):
        return self.surrogate(*inputs)


def run(folder, *, seed, quick, verbose):
    """Estimate one gradient in six ways, and compare each with what enumeration gives."""
    count = 2**10 if quick else 2**17
    weights = np.exp(SCORES) / np.exp(SCORES).sum()
    mean_cost = float(weights @ COSTS)
    exact = weights * (np.array(COSTS) - mean_cost)
    estimators = {
        "REINFORCE, b = 0": partial(sampled, baseline=0.0),
        "REINFORCE, b = E[ℓ]": partial(sampled, baseline=mean_cost),
        "straight-through": straight_through,
        "soft": soft,
        "REINFORCE, b = 100": partial(sampled, baseline=100.0),
        "marginal": marginal,
    }
    if verbose:
        print(f"{count:,} estimates of each kind")
    found = gradients({"enumerated": expected, **estimators}, count, seed)
    error = np.abs(found.pop("enumerated") - exact).max()
    figures = [Figure("largest error of the enumerated gradient", float(error), at_most=1e-6)]
    for name, estimates in found.items():
        figures += _figures(name, estimates, exact)
    curves = {name: error_by_number(estimates, exact) for name, estimates in found.items()}
    plot_curves(
        dict(list(curves.items())[:4]),
        xlabel="estimates that are averaged",
        ylabel="error, in lengths of the gradient",
        logarithmic="xy",
        title="Unbiased is not exact, and exact is not unbiased",
        path=folder / PICTURE,
    )
    return figures, [PICTURE]


# What theory says: unbiased or not, and the golden variances of 2 · 10⁵ samples.
_VARIANCES = {
    "REINFORCE, b = 0": 4.34,
    "REINFORCE, b = E[ℓ]": 0.638,
    "REINFORCE, b = 100": 6017,
}


def _figures(name, found, exact):
    """Bias, in lengths of the gradient and in standard errors, and variance of some estimates."""
    length, off = np.linalg.norm(exact), found.mean(0) - exact
    variance = float(found.var(0).sum())
    figures = [Figure(f"{name}: bias", float(np.linalg.norm(off) / length), "of its length")]
    if name not in _VARIANCES:
        return [figures[0]._replace(at_least=0.1), Figure(f"{name}: variance", variance)]
    errors = float(np.linalg.norm(off) / np.sqrt(variance / len(found)))
    about = {"at_least": 0.95 * _VARIANCES[name], "at_most": 1.05 * _VARIANCES[name]}
    return [
        *figures,
        Figure(f"{name}: bias, in standard errors", errors, at_most=4),
        Figure(f"{name}: variance", variance, **about),
    ]


def error_by_number(found, exact):
    """Return numbers of estimates, and the root mean square error of averages of so many."""
    numbers = [2**power for power in range(int(np.log2(len(found))) - 2)]
    means = [found.reshape(-1, number, len(exact)).mean(1) for number in numbers]
    errors = [np.sqrt(np.mean(np.sum((mean - exact) ** 2, axis=-1))) for mean in means]
    return numbers, list(np.array(errors) / np.linalg.norm(exact))


EXPERIMENTS = {
    "estimators": Experiment(
        run=run,
        says="Hard attention learns from unbiased but noisy estimates; soft attention from exact "
        "gradients of something else.",
        source="Xu et al. (2015), section 4; Williams (1992)",
    )
}
