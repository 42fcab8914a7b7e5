"""Soft and hard attention compared: measured bias and variance of estimates of one gradient.

L(θ) = Σ_z α_z ℓ_z,   ∇L = α ⊙ (ℓ − α·ℓ)
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

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
from keras_attention.types import Array

SCORES, COSTS = (0.5, -0.3, 0.1), (2.0, 1.0, 4.0)
VALUES = np.eye(3, dtype="float32")[None]  # a read is the weights themselves
PICTURE = "estimators.png"


def cost(read: Array) -> Array:
    """Return the cost of a read c, (B, 1, 3) → (B, 1): (Σ_z c_z √ℓ_z)², which is ℓ_z of value z."""
    roots = ops.convert_to_tensor(np.sqrt(np.array(COSTS, "float32")))
    return ops.square(ops.sum(ops.cast(read, "float32") * roots, axis=-1))


def expected(scores: Array, noise: Array) -> Array:
    """Return the objective itself, by enumeration; the other functions estimate it."""
    del noise
    weights = ops.softmax(scores, axis=-1)
    return ops.sum(weights * ops.convert_to_tensor(np.array(COSTS, "float32")), axis=-1)


def soft(scores: Array, noise: Array) -> Array:
    """Read the mean of the values: no noise, but the cost of a mean is not the mean cost."""
    del noise
    return cost(lookup(scores, ops.convert_to_tensor(VALUES)).read)


def straight_through(scores: Array, noise: Array) -> Array:
    """Read one value, but differentiate as if the read were soft.

    With this cost the mean is the soft gradient, because the gradient of a square is linear.
    """
    return cost(
        hard_lookup(scores, ops.convert_to_tensor(VALUES), noise=noise, straight_through=True).read
    )


def sampled(scores: Array, noise: Array, baseline: float) -> Array:
    """Read one value; its cost makes it more or less likely to be read again (REINFORCE)."""
    read, picks, weights = hard_lookup(scores, ops.convert_to_tensor(VALUES), noise=noise)
    return reinforce(cost(read), log_probability(picks, weights), baseline)


def marginal(scores: Array, noise: Array) -> Array:
    """Return −log Σ_z α_z p(y | z), whose gradient is exact too, but for another objective."""
    del noise
    likelihoods = ops.convert_to_tensor(-np.array(COSTS, "float32"))
    return -marginal_log_likelihood(ops.softmax(scores, axis=-1), likelihoods)


def gradients(
    surrogates: Mapping[str, Callable[[Array, Array], Array]], count: int, seed: int
) -> dict[str, np.ndarray]:
    """Return `count` independent estimates of the gradient at SCORES from each surrogate.

    For each surrogate every example has its own copy of the scores. One step of gradient descent
    with learning rate 1 moves each copy by its own estimate.

    Args:
        surrogates: functions `(scores (B, 1, 3), noise (B, 1, 3)) → (B, 1)` by name.
        count: estimates per surrogate.
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
    """Return an embedding with SCORES in each row."""

    def initial(shape, dtype):
        return ops.convert_to_tensor(np.tile(np.array(SCORES), (count, 1)), dtype)

    return keras.layers.Embedding(count, len(SCORES), embeddings_initializer=initial)


def _numbers(rows):
    return ops.convert_to_numpy(rows.embeddings).astype("float64")


class _Surrogate(keras.layers.Layer):
    """A surrogate as a layer: scores and noise, both (B, 1, 3) → (B, 1)."""

    def __init__(self, surrogate):
        super().__init__()
        self.surrogate = surrogate

    def call(self, inputs):
        return self.surrogate(*inputs)


def run(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Estimate one gradient in six ways, and compare each with the exact gradient."""
    count = 2**10 if quick else 2**17
    weights = np.exp(SCORES) / np.exp(SCORES).sum()
    mean_cost = float(weights @ COSTS)
    exact = weights * (np.array(COSTS) - mean_cost)
    estimators: dict[str, Callable[[Array, Array], Array]] = {
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
        xlabel="estimates in the average",
        ylabel="error, relative to the length of the gradient",
        logarithmic="xy",
        title="Unbiased is not exact, and exact is not unbiased",
        path=folder / PICTURE,
    )
    return figures, [PICTURE]


# In theory the estimators named here are unbiased; golden variances from 2 · 10⁵ samples.
_VARIANCES = {
    "REINFORCE, b = 0": 4.34,
    "REINFORCE, b = E[ℓ]": 0.638,
    "REINFORCE, b = 100": 6017,
}


def _figures(name, found, exact):
    """Return the bias, relative and in standard errors, and the variance of some estimates."""
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


def error_by_number(found: np.ndarray, exact: np.ndarray) -> tuple[list[int], list[float]]:
    """Return numbers of estimates, and the root mean square error of averages of that many."""
    numbers = [2**power for power in range(int(np.log2(len(found))) - 2)]
    means = [found.reshape(-1, number, len(exact)).mean(1) for number in numbers]
    errors = [np.sqrt(np.mean(np.sum((mean - exact) ** 2, axis=-1))) for mean in means]
    return numbers, list(np.array(errors) / np.linalg.norm(exact))


EXPERIMENTS = {
    "estimators": Experiment(
        run=run,
        says="Hard attention learns from unbiased but noisy estimates; soft attention learns "
        "from exact gradients of another objective.",
        source="Xu et al. (2015), section 4; Williams (1992)",
    )
}
