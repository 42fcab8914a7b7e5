"""What one backend computes: `python -m tests.campaign.numbers CASES SEED FOLDER ONLY`.

Prints a line of JSON for each layer and model.
"""

import json
import math
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import keras
import numpy as np
from keras import ops

from tests.campaign.numbers.subjects import CONDITIONS, builders, layers
from tests.numerics import as_numpy, gradients_of_weights

TOLERANCES = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}  # of the largest number expected


@dataclass
class Found:
    """What came out for a layer or a model: its failures, and the largest error by precision."""

    what: str
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def main() -> None:
    """Compute every case, and print a line of JSON for each layer and builder."""
    cases, number, folder, only = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    subjects = {what: each for what, each in (*layers(), *builders()) if only in what}
    drawn = set(random.Random(number).sample(sorted(subjects), min(cases, len(subjects))))
    for what, subject in subjects.items():
        if what not in drawn:
            continue
        found, begun = Found(what), time.monotonic()
        keras.utils.set_random_seed(number)
        try:
            expected = _expected(subject, folder / f"{what.replace(' ', '-')}.npz", number)
            for dtype in TOLERANCES:
                _compute(subject, dtype, expected, found, number)
        except Exception as error:
            found.failures.append(f"{type(error).__name__}: {str(error)[:200]}")
        found.seconds = time.monotonic() - begun
        print(json.dumps(asdict(found)), flush=True)
        if keras.backend.backend() == "jax":  # whose programs take memory
            sys.modules["jax"].clear_caches()


def _expected(subject, path, number):
    """Return what the first process computed, or compute it in that."""
    if not path.exists():
        np.savez(path, **_exact(subject, number))
    with np.load(path) as arrays:
        return dict(arrays)


def _exact(subject, number):
    """Return the weights, and what they give in float64."""
    layer = subject.make("float64")
    subject.call(layer, _tensors(_drawn(subject, CONDITIONS["usual"], number)))  # builds it
    refused: list[str] = []
    arrays = {f"weights {place}": array for place, array in enumerate(layer.get_weights())}
    for name, condition in CONDITIONS.items():
        (call, *_) = _ways(partial(subject.call, layer), condition).values()
        inputs = _drawn(subject, condition, number)
        if inputs is not None and condition.is_compared:
            try:
                for output, tensor in call(_tensors(inputs)).items():
                    arrays[f"{name} {output}"] = ops.convert_to_numpy(tensor)
            except ValueError:  # the layer says that it is too much; every backend must say so
                refused.append(name)
    return {**arrays, "refused": np.array(refused, dtype=str)}


def _compute(subject, dtype, expected, found, number):
    """Compute every case in one precision."""
    layer = subject.make(dtype)
    subject.call(layer, _tensors(_drawn(subject, CONDITIONS["usual"], number)))  # builds it
    layer.set_weights([expected[f"weights {place}"] for place in range(len(layer.weights))])
    for name, condition in CONDITIONS.items():
        ways = _ways(partial(subject.call, layer), condition)
        inputs = _drawn(subject, condition, number)
        if inputs is None:
            continue
        for place, (way, call) in enumerate(ways.items()):
            found.cases += 1
            try:
                with np.errstate(all="ignore"):
                    arrays = _arrays(call(_tensors(inputs)))
                    assert name not in expected["refused"], "in float64 it is an error"
                    _check(subject, arrays, name, dtype, expected, found)
                    if place == 0 and not condition.is_long:
                        _check_gradients(subject, layer, inputs)
            except Exception as error:
                if isinstance(error, ValueError) and name in expected["refused"]:
                    continue
                what = f"{type(error).__name__}: {str(error)[:200]}"
                found.failures.append(f"{dtype}, {name}, {way}: {what}")


def _drawn(subject, condition, number):
    """Draw the same inputs on every backend; None if the condition is none for it."""
    return subject.inputs(condition, np.random.default_rng(number))


def _check(subject, arrays, name, dtype, expected, found):
    """Require numbers, near those of float64."""
    for output, array in arrays.items():
        assert np.isfinite(array).all(), f"{output} has what is not a number"
    subject.check(arrays)
    if not CONDITIONS[name].is_compared or not (subject.is_continuous or dtype == "float32"):
        return
    for output, array in arrays.items():
        exact = expected.get(f"{name} {output}")
        if exact is None:  # nothing that the first process could compute
            continue
        assert array.shape == exact.shape, f"{output}: shapes {array.shape} and {exact.shape}"
        error = abs(array - exact).max(initial=0) / max(abs(exact).max(initial=0), 1.0)
        found.errors[dtype] = max(found.errors.get(dtype, 0.0), float(error))
        assert error <= TOLERANCES[dtype], f"{output} is off by {error:.1e}"


def _check_gradients(subject, layer, inputs):
    """Require that no gradient of a weight is infinite or not a number."""

    def loss():
        outputs = subject.call(layer, _tensors(inputs)).values()
        return sum(_mean_square(ops.cast(each, "float32") - 1) for each in outputs)

    for path, slope in gradients_of_weights(layer, loss).items():
        assert np.isfinite(slope).all(), f"the gradient of {path} has what is not a number"


def _mean_square(x):
    return ops.sum(ops.square(x)) / max(math.prod(x.shape), 1)


def _ways(call, condition):
    """Return the ways to compute a condition.

    JAX computes in programs only: without them it would compile every operation by itself.
    """
    program = _compiled(call)
    ways = {"eager": call, "compiled": program}
    if program is None:
        del ways["compiled"]
    elif condition.is_long or keras.backend.backend() == "jax":
        del ways["eager"]
    elif not condition.is_compiled:
        del ways["compiled"]
    return ways


def _compiled(call):
    """Return a program of XLA, or None on PyTorch, which has none."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(call, jit_compile=True)
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(call)
    return None


def _tensors(inputs):
    return {name: ops.convert_to_tensor(array) for name, array in inputs.items()}


def _arrays(tensors):
    return {name: as_numpy(tensor) for name, tensor in tensors.items()}


if __name__ == "__main__":
    main()
