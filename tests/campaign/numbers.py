"""Every layer and every builder with numbers at their limits, on each backend in three precisions.

TensorFlow computes each case in float64 first. Then every backend, in a process of its own and with
the same weights, must come near that, with nothing that is not a number in outputs and gradients.
"""

import json
import math
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tests.campaign.outcome import Outcome

BACKENDS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
TOLERANCES = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}  # of the largest number expected
# A place among 4,096 keys, and which of as many numbers is the largest, change with rounding
CHOOSE = ("local_p", "pooling_max")
LONGEST = 100  # tokens for a model; 4,096 of them are for layers
LARGE = 32.0  # a product of two numbers of this size, over some dimensions, is up to 1e4


@dataclass(frozen=True)
class Condition:
    """What the inputs of a layer are like.

    Attributes:
        sizes: other lengths of the axes B, T and S.
        scale: what the numbers are multiplied by.
        is_empty: whether the last row is all padding.
        is_compared: whether rounding leaves the result near that of float64. Scores of 1e4 differ
            by whole units in half precision, and with them the weights.
        is_compiled: whether XLA computes it as well.
        is_long: whether, where there is XLA, it alone computes it, and no gradient.
    """

    sizes: tuple = ()
    scale: float = 1.0
    is_empty: bool = False
    is_compared: bool = True
    is_compiled: bool = False
    is_long: bool = False


CONDITIONS = {
    "usual": Condition(is_compiled=True),
    "a masked row": Condition(is_empty=True, is_compiled=True),
    "scores to 1e4": Condition(scale=LARGE, is_compared=False, is_compiled=True),
    "no sequence": Condition(sizes=(("B", 0),)),
    "one sequence": Condition(sizes=(("B", 1),)),
    "no query": Condition(sizes=(("T", 0),)),
    "one query": Condition(sizes=(("T", 1),)),
    "no key": Condition(sizes=(("S", 0),)),
    "one key": Condition(sizes=(("S", 1),)),
    "4,096 keys": Condition(sizes=(("S", 4096),), is_long=True),
}


def run(cases: int, number: int, folder: Path, say: Callable) -> list[Outcome]:
    """Compute this many layers and models, drawn by the seed, on every backend."""
    outcomes: dict[str, Outcome] = {}
    errors = defaultdict(dict)
    for backend, name in BACKENDS.items():
        if not find_spec(backend):
            say(f"{name}: left out, since it is not installed")
            continue
        for each in _on(backend, cases, number, folder):
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


def _on(backend, cases, number, folder) -> Iterator[dict]:
    """Yield what a process with another backend says, a line for each layer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.campaign.numbers", str(folder), str(number), str(cases)],
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


# In a process with one backend


@dataclass
class Subject:
    """A layer or a model.

    Attributes:
        make: a function of the dtype.
        inputs: draws what it is called with under a `Condition`, or says None where that is
            nothing for it.
        call: calls it with tensors by name, for tensors by name.
        check: raises AssertionError if an array in what it gave is wrong.
        is_continuous: whether rounding cannot make it choose otherwise.
    """

    make: Callable
    inputs: Callable
    call: Callable
    check: Callable = lambda arrays: None
    is_continuous: bool = True


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
    import keras

    folder, number, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    subjects = {**dict(_layers()), **dict(_builders())}
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
    from keras import ops

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
    from keras import ops

    from tests.numerics import gradients_of_weights

    def loss():
        outputs = subject.call(layer, _tensors(inputs)).values()
        return sum(_mean_square(ops.cast(each, "float32") - 1) for each in outputs)

    for path, slope in gradients_of_weights(layer, loss).items():
        assert np.isfinite(slope).all(), f"the gradient of {path} has what is not a number"


def _mean_square(x):
    from keras import ops

    return ops.sum(ops.square(x)) / max(math.prod(x.shape), 1)


def _ways(call, condition):
    """Return the ways to compute a condition.

    JAX computes in programs only: without them it would compile every operation by itself.
    """
    import keras

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
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(call, jit_compile=True)
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(call)
    return None


def _tensors(inputs):
    from keras import ops

    return {name: ops.convert_to_tensor(array) for name, array in inputs.items()}


def _arrays(tensors):
    from tests.numerics import as_numpy

    return {name: as_numpy(tensor) for name, tensor in tensors.items()}


def _layers() -> Iterator[tuple[str, Subject]]:
    """Yield every layer that has the contract of layers."""
    import keras

    from tests import contract
    from tests.layers.test_contract import CASES, why_never_empty

    axes = {"B": contract.B, "T": contract.T, "S": contract.S}

    def inputs(case, condition, draw):
        if any(size == 0 and why_never_empty(case, axis) for axis, size in condition.sizes):
            return None
        sizes = {axes[axis]: size for axis, size in condition.sizes}
        found = {}
        for name, array in case.inputs().items():
            shape = [sizes.get(length, length) for length in array.shape]
            if name == "mask":
                lengths = draw.integers(1, max(shape[1], 1) + 1, shape[0])
                lengths[-1:] *= not condition.is_empty
                found[name] = np.arange(shape[1]) < lengths[:, None]
            else:
                found[name] = condition.scale * draw.normal(size=shape).astype("float32")
        return found

    def make(case, dtype):
        return case.make(dtype=keras.DTypePolicy(dtype))

    def check(case, arrays):
        weights = arrays.get("weights")
        if weights is not None:
            assert weights.min(initial=0) >= 0, "a weight is negative"
            largest = weights.sum(case.source_axis).max(initial=0)
            assert largest < 1.01, f"weights sum to {largest}"

    for case in CASES:
        yield (
            f"layer {case}",
            Subject(
                make=partial(make, case),
                inputs=partial(inputs, case),
                call=lambda layer, tensors, case=case: case.call(layer, **tensors),
                check=partial(check, case),
                is_continuous=case.continuous and case.name not in CHOOSE,
            ),
        )


def _builders() -> Iterator[tuple[str, Subject]]:
    """Yield every builder of a model, small."""
    import keras

    from tests import contract
    from tests.models.test_dtypes import BUILD, LENGTH

    def inputs(build, condition, draw):
        sizes, model = dict(condition.sizes), build()
        if condition.scale != 1 or sizes.get("S", 1) == 0 or sizes.get("T", 1) == 0:
            return None  # ids have no size, and sentences a token
        is_tensorflow = keras.backend.backend() == "tensorflow"
        classes = set(contract.classes_in(keras.saving.serialize_keras_object(model)))
        if sizes.get("B") == 0 and is_tensorflow and classes & {"LSTM", "LSTMCell", "Conv1D"}:
            return None  # which TensorFlow cannot compute, or gives another length
        length = min(sizes.get("S", sizes.get("T", LENGTH)), LONGEST)
        found = {}
        for each in model.inputs:
            shape = [length if size is None else size for size in each.shape[1:]]
            shape = (sizes.get("B", 2), *shape)
            if each.dtype.startswith("int"):
                found[each.name] = draw.integers(1, 13, shape).astype("int32")
                found[each.name][-1:] *= not condition.is_empty
            else:
                found[each.name] = draw.normal(size=shape).astype("float32")
        return found

    def call(model, tensors):
        alone = next(iter(tensors.values()))
        outputs = keras.tree.flatten(model(tensors if len(tensors) > 1 else alone))
        return {f"output {place}": each for place, each in enumerate(outputs)}

    def make(build, dtype):
        """With weights in float32: Keras draws no orthogonal ones in half precision."""
        return build(dtype=f"mixed_{dtype}" if dtype.endswith("16") else dtype)

    for name, build in BUILD.items():
        yield f"model {name}", Subject(partial(make, build), partial(inputs, build), call)


if __name__ == "__main__":
    main()
