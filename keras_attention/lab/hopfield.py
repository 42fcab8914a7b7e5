"""Hopfield retrieval: attention completes a pattern from a part of it.

ξ ← Xᵀ softmax(β X ξ)   compared with   ξ ← sign(Xᵀ X ξ)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks.digits import load_digits
from keras_attention.layers import Hopfield
from keras_attention.plotting import plot_curves, plot_patterns

CURVES, PICTURE = "retrieval.png", "digits.png"
WIDTH, STEPS = 64, 5
NUMBERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


def modern(patterns: np.ndarray, broken: np.ndarray) -> np.ndarray:
    """Repeat a lookup, eq. 3 of Ramsauer et al. (2020): patterns (S, K), (T, K) → (T, K)."""
    layer = Hopfield(strength=1.0, steps=STEPS)
    read = layer(ops.convert_to_tensor(broken[None]), ops.convert_to_tensor(patterns[None]))
    return ops.convert_to_numpy(read)[0]


def classical(patterns: np.ndarray, broken: np.ndarray) -> np.ndarray:
    """Retrieve as in Hopfield (1982): one matrix sums the patterns, without self-connections.

    All signs are updated at once; Hopfield updates one at a time.
    """
    connections = patterns.T @ patterns / patterns.shape[1]
    np.fill_diagonal(connections, 0)
    for _ in range(STEPS):
        broken = np.where(broken @ connections >= 0, 1.0, -1.0).astype("float32")
    return broken


RULES = {"attention, again and again": modern, "Hopfield 1982": classical}


def half_erased(patterns: np.ndarray) -> np.ndarray:
    """Set the second half of each pattern to 0."""
    return np.where(np.arange(patterns.shape[1]) < patterns.shape[1] // 2, patterns, 0.0).astype(
        "float32"
    )


def share_restored(
    rule: Callable[[np.ndarray, np.ndarray], np.ndarray], patterns: np.ndarray, asked: int = 200
) -> float:
    """Return the fraction of the first `asked` patterns (±1) that are restored from a half."""
    wanted = patterns[:asked]
    return float(np.mean(np.all(np.sign(rule(patterns, half_erased(wanted))) == wanted, axis=1)))


def run(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Store more and more patterns, and retrieve each from one half of it."""
    rng = np.random.default_rng([seed, 0])
    numbers, draws = (NUMBERS[:6], 1) if quick else (NUMBERS, 10)
    curves = {}
    for name, rule in RULES.items():
        if verbose:
            print(f"{name}: {numbers[0]} to {numbers[-1]} patterns of {WIDTH} signs")
        shares = [
            np.mean([share_restored(rule, _signs(rng, number)) for _ in range(draws)])
            for number in numbers
        ]
        curves[name] = numbers, [float(share) for share in shares]
    plot_curves(
        curves,
        xlabel=f"stored patterns of {WIDTH} random signs",
        ylabel="fraction restored from one half",
        logarithmic="x",
        path=folder / CURVES,
    )
    (pictures, labels), _ = load_digits()
    chosen = [rng.choice(np.flatnonzero(labels == digit)) for digit in range(10)]
    patterns = np.where(pictures[chosen].reshape(10, -1) > 0.5, 1.0, -1.0).astype("float32")
    broken = half_erased(patterns)
    restored = {name: rule(patterns, broken) for name, rule in RULES.items()}
    plot_patterns(
        {"stored": patterns, "asked": broken, **restored},
        shape=pictures.shape[1:],
        path=folder / PICTURE,
    )
    figures = [
        Figure(f"{name}: {number} patterns restored", share, **_bar(name, number))
        for name, (_, shares) in curves.items()
        for number, share in zip(numbers, shares, strict=True)
        if number in (4, 32, 256, 2048)
    ]
    bars: tuple[dict[str, Any], ...] = ({"at_least": 10}, {"at_most": 5})
    figures += [
        Figure(
            f"{name}: of ten digits restored",
            float(np.sum(np.all(np.sign(found) == patterns, axis=1))),
            **bar,
        )
        for (name, found), bar in zip(restored.items(), bars, strict=True)
    ]
    return figures, [CURVES, PICTURE]


def _signs(rng, number):
    return np.where(rng.random((number, WIDTH)) < 0.5, -1.0, 1.0).astype("float32")


def _bar(name, number):
    if RULES[name] is modern:
        return {"at_least": 0.99} if number <= 256 else {}
    return {"at_most": 0.1} if number >= 32 else {}


EXPERIMENTS = {
    "hopfield": Experiment(
        run=run,
        says="A lookup whose read becomes the next query completes a half-erased pattern.",
        source="Ramsauer et al. (2020), eq. 3; Hopfield (1982)",
    )
}
