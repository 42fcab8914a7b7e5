"""Every layer and every builder with numbers at their limits, on each backend in three precisions.

TensorFlow computes each case in float64 first. Then every backend, in a process of its own and with
the same weights, must come near that, with nothing that is not a number in outputs and gradients.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.campaign.outcome import Outcome

BACKENDS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}


def run(cases: int, number: int, folder: Path, say: Callable, only: str) -> list[Outcome]:
    """Compute this many layers and models, drawn by the seed, on every backend."""
    outcomes: dict[str, Outcome] = {}
    errors = defaultdict(dict)
    for backend, name in BACKENDS.items():
        if not find_spec(backend):
            say(f"{name}: left out, since it is not installed")
            continue
        for each in _on(backend, cases, number, folder, only):
            outcome = outcomes.setdefault(each["what"], Outcome("numbers", each["what"]))
            outcome.cases += each["cases"]
            outcome.seconds += each["seconds"]
            for failure in each["failures"]:
                outcome.fail(f"{name}: {failure}")
            errors[outcome.what][name] = each["errors"]
            say(f"{name}, {outcome.what}: {each['cases']} cases, {len(each['failures'])} failures")
    for what, outcome in outcomes.items():
        outcome.figures = "; ".join(
            f"{name} {', '.join(f'{error:.0e}' for error in found.values())}"
            for name, found in errors[what].items()
        )
    return list(outcomes.values())


def _on(backend, *arguments) -> Iterator[dict]:
    """Yield what a process with another backend says, a line for each layer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.campaign.numbers", *map(str, arguments)],
        env={**os.environ, **QUIET, "KERAS_BACKEND": backend},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        for line in process.stdout or ():
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        raise RuntimeError(f"{backend}: the process ended with {process.returncode}")
