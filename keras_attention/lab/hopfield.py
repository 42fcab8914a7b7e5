"""Hopfield retrieval: a pattern comes back from a part of it, and what that has to do with scores.

ξ ← Xᵀ softmax(β X ξ)   beside   ξ ← sign(Xᵀ X ξ)
"""

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


def modern(patterns, broken):
    """A lookup again and again, eq. 3 of Ramsauer et al.: numbers (S, K), (T, K) → (T, K)."""
    layer = Hopfield(strength=1.0, steps=STEPS)
    read = layer(ops.convert_to_tensor(broken[None]), ops.convert_to_tensor(patterns[None]))
    return ops.convert_to_numpy(read)[0]


def classical(patterns, broken):
    """Hopfield (1982): the patterns are added up in one matrix, without self-connections.

    All signs change at once, where Hopfield's take turns.
    """
    connections = patterns.T @ patterns / patterns.shape[1]
    np.fill_diagonal(connections, 0)
    for _ in range(STEPS):
        broken = np.where(broken @ connections >= 0, 1.0, -1.0).astype("float32")
    return broken


RULES = {"attention, again and again": modern, "Hopfield 1982": classical}


def half_erased(patterns):
    """Set the second half of each pattern to 0."""
    return np.where(np.arange(patterns.shape[1]) < patterns.shape[1] // 2, patterns, 0.0).astype(
        "float32"
    )


def share_restored(rule, patterns, asked=200):
    """Return the share of half-erased patterns (±1) whose every sign comes back."""
    wanted = patterns[:asked]
    return float(np.mean(np.all(np.sign(rule(patterns, half_erased(wanted))) == wanted, axis=1)))


def run(folder, *, seed, quick, verbose):
    """Store ever more patterns, erase half of each, and ask for the whole."""
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
        ylabel="share wholly restored from a half",
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
    figures += [
        Figure(
            f"{name}: of ten digits restored",
            float(np.sum(np.all(np.sign(found) == patterns, axis=1))),
            **({"at_least": 10} if name in list(RULES)[:1] else {"at_most": 5}),
        )
        for name, found in restored.items()
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
        says="A lookup whose read is the next query completes a pattern of which half is gone.",
        source="Ramsauer et al. (2020), eq. 3; Hopfield (1982)",
    )
}
