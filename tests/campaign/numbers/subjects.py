"""The layers and models that are tried, and the conditions under which they are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import keras
import numpy as np

from tests import contract
from tests.layers.test_contract import CASES, why_never_empty
from tests.models.test_dtypes import BUILD, LENGTH

# A place among 4,096 keys, and which of as many numbers is the largest, change with rounding
CHOOSE = ("local_p", "pooling_max")
LONGEST = 100  # tokens for a model; 4,096 of them are for layers
BEYOND = (-1, 10**3, -(10**6))  # ids that no vocabulary has
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
        is_beyond: whether some ids are negative or beyond the vocabulary.
    """

    sizes: tuple = ()
    scale: float = 1.0
    is_empty: bool = False
    is_compared: bool = True
    is_compiled: bool = False
    is_long: bool = False
    is_beyond: bool = False


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
    "ids beyond the vocabulary": Condition(is_beyond=True, is_compiled=True),
}


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


def layers() -> Iterator[tuple[str, Subject]]:
    """Yield every layer that has the contract of layers."""
    axes = {"B": contract.B, "T": contract.T, "S": contract.S}

    def inputs(case, condition, draw):
        if any(size == 0 and why_never_empty(case, axis) for axis, size in condition.sizes):
            return None
        if condition.is_beyond:
            return None  # layers get numbers
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


def builders() -> Iterator[tuple[str, Subject]]:
    """Yield every builder of a model, small."""

    def inputs(build, condition, draw):
        sizes, model = dict(condition.sizes), build()
        if condition.scale != 1 or sizes.get("S", 1) == 0 or sizes.get("T", 1) == 0:
            return None  # ids have no size, and sentences a token
        is_tensorflow = keras.backend.backend() == "tensorflow"
        classes = set(contract.classes_in(keras.saving.serialize_keras_object(model)))
        if sizes.get("B") == 0 and is_tensorflow and classes & {"LSTM", "LSTMCell", "Conv1D"}:
            return None  # which TensorFlow cannot compute, or gives another length
        if condition.is_beyond and not any(each.dtype.startswith("int") for each in model.inputs):
            return None
        length = min(sizes.get("S", sizes.get("T", LENGTH)), LONGEST)
        found = {}
        for each in model.inputs:
            shape = [length if size is None else size for size in each.shape[1:]]
            shape = (sizes.get("B", 2), *shape)
            if each.dtype.startswith("int"):
                found[each.name] = draw.integers(1, 13, shape).astype("int32")
                found[each.name][-1:] *= not condition.is_empty
                if condition.is_beyond:
                    found[each.name][..., 1:4] = BEYOND
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
