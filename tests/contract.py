"""What every layer promises; a layer joins by a line in `tests/layers/test_contract.py`.

A case names a layer, how to make it, and what it is called with; every check takes a case. Sizes
are primes of their own, so that two swapped axes cannot pass. A layer, what it gives and the
functional model around it are made once a case, and no check changes them.
"""

import functools
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from tests.numerics import as_numpy, gradients, gradients_of_weights

B, T, S, Q, K = 2, 3, 5, 7, 11  # batch, queries, keys, and the depths of both
MASK = np.array([[True, True, True, False, False], [True, True, True, True, True]])
WITH_AN_EMPTY_ROW = np.array([MASK[0], [False] * S])


@dataclass(frozen=True)
class LayerCase:
    """A layer called as `layer(query, value, attention_mask=...)`, or as `layer(query)`.

    The query has the `query_shape`; `memory` says whether there is a value (B, S, K) beside it, and
    `masked` whether the layer takes a mask (B, S). Where there is a `weights_shape` it returns
    weights on request. These sum to 1 along `source_axis`, or, where `sums_to_one` is not set, to
    at most 1. A layer that is not `continuous` may choose otherwise when numbers are rounded. One
    that heeds `implicit_masks` is a loop of Keras' own. A layer with `own_code` can only be loaded
    where the module that registers this code was imported. One without a `float32_softmax` rounds
    its weights to the compute dtype, so that they do not sum to 1 in mixed precision.
    """

    name: str
    make: Callable
    query_shape: tuple
    weights_shape: tuple | None = None
    source_axis: int = -1
    memory: bool = True
    masked: bool = True
    sums_to_one: bool = True
    continuous: bool = True
    implicit_masks: bool = False
    own_code: bool = False
    float32_softmax: bool = True

    def __str__(self):
        return self.name

    def inputs(self, seed=0):
        """Draw what the layer is called with: query, value and mask, those that it takes."""
        rng = np.random.default_rng(seed)
        inputs = {"query": rng.normal(size=self.query_shape).astype("float32")}
        if self.memory:
            inputs["value"] = rng.normal(size=(B, S, K)).astype("float32")
        if self.masked:
            inputs["mask"] = MASK
        return inputs

    def call(self, layer, query, value=None, mask=None):
        """Call a layer, also with symbolic tensors: `{"output": ..., "weights": ...}`."""
        arguments = [query] if value is None else [query, value]
        options = {} if mask is None else {"attention_mask": mask}
        if self.weights_shape is None:
            return {"output": layer(*arguments, **options)}
        output, weights = layer(*arguments, **options, return_attention_scores=True)
        return {"output": output, "weights": weights}

    def run(self, layer, **inputs):
        """Call a layer with arrays and return arrays."""
        tensors = {name: ops.convert_to_tensor(x) for name, x in inputs.items()}
        return {name: as_numpy(x) for name, x in self.call(layer, **tensors).items()}


@functools.cache
def layer_of(case):
    """Return a built layer; no check changes its weights."""
    keras.utils.set_random_seed(5)
    layer = case.make()
    case.run(layer, **case.inputs())
    return layer


@functools.cache
def expected_of(case):
    return case.run(layer_of(case), **case.inputs())


@functools.cache
def model_of(case):
    return functional(case, layer_of(case))


def functional(case, layer):
    """Put a layer into a functional model, whose lengths are unknown, with its case's inputs."""
    inputs = {}
    for name, array in case.inputs().items():
        shape = (None,) if name == "mask" else (*(None,) * (array.ndim - 2), array.shape[-1])
        inputs[name] = keras.Input(shape, dtype=str(array.dtype), name=name)
    return keras.Model(inputs, case.call(layer, **inputs))


def call(layer, query, keys, mask):
    """Call an attention with arrays and return its output and weights as arrays."""
    output, weights = layer(
        ops.convert_to_tensor(query),
        ops.convert_to_tensor(keys),
        attention_mask=None if mask is None else ops.convert_to_tensor(mask),
        return_attention_scores=True,
    )
    return as_numpy(output), as_numpy(weights)


def check_called_as_keras_calls_attention(case):
    """As `layer(query, value, key=None)`, in this order or by name; the rest by name alone."""
    layer, inputs = layer_of(case), case.inputs()
    names = list(inspect.signature(layer.call).parameters.values())
    assert [name.name for name in names[1:3]] == ["value", "key"]
    assert all(name.kind is name.KEYWORD_ONLY for name in names[3:])
    query, value = (ops.convert_to_tensor(inputs[name]) for name in ("query", "value"))
    key = ops.flip(value, axis=1) * 2
    mask = {"attention_mask": ops.convert_to_tensor(inputs["mask"])}
    expected = as_numpy(layer(query, value, key, **mask))
    by_name = layer(**{names[0].name: query}, key=key, value=value, **mask)
    np.testing.assert_array_equal(as_numpy(by_name), expected)
    assert (as_numpy(layer(query, key, value, **mask)) != expected).any()
    alone, both = layer(query, value, **mask), layer(query, value, value, **mask)
    np.testing.assert_array_equal(as_numpy(alone), as_numpy(both))


def check_shapes_and_sums(case):
    found = expected_of(case)
    assert found["output"].shape[:-1] == case.query_shape[:-1]
    assert set(found) == ({"output", "weights"} if case.weights_shape else {"output"})
    if case.weights_shape:
        assert found["weights"].shape == case.weights_shape
        check_sums(case, found["weights"])


def check_sums(case, weights):
    assert weights.min() >= 0
    sums = weights.sum(case.source_axis)
    assert sums.max() <= 1 + 1e-5
    if case.sums_to_one:
        assert_same({"sums": sums}, {"sums": np.ones_like(sums)}, 1e-5)


def assert_same(found, expected, tolerance):
    """Require |found − expected| ≤ tolerance everywhere, in every output; an error names it."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=tolerance, err_msg=name)


def arguments_of(kind):
    """Return the names of the arguments of a layer of this package."""
    owner = next(each for each in kind.__mro__ if "__init__" in vars(each))
    if not owner.__module__.startswith("keras_attention"):
        return set()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(owner.__init__).parameters.values()
    return {each.name for each in parameters if each.kind in named} - {"self"}


def check_every_argument_is_in_the_config(layer):
    """Of the layer and all inside it: what is left out would be the default when it is loaded."""
    for part in layer._flatten_layers():
        missing = arguments_of(type(part)) - set(part.get_config())
        assert not missing, f"{type(part).__name__} loses {missing}"


def check_config_round_trip(case):
    """Through JSON, as in a file; a function of one's own is kept as it is."""
    check_every_argument_is_in_the_config(layer_of(case))
    config = keras.saving.serialize_keras_object(layer_of(case))
    config = config if case.own_code else json.loads(json.dumps(config))
    twin = keras.saving.deserialize_keras_object(config)
    assert type(twin) is type(layer_of(case))
    assert config_of(twin) == config_of(layer_of(case))
    case.run(twin, **case.inputs())
    assert [w.shape for w in twin.weights] == [w.shape for w in layer_of(case).weights]
    twin.set_weights(layer_of(case).get_weights())
    assert_same(case.run(twin, **case.inputs()), expected_of(case), 0)


def classes_in(config):
    """Yield the names of the classes in a serialized layer or model, at whatever depth."""
    if isinstance(config, dict):
        if "class_name" in config:
            yield config["class_name"]
        for value in config.values():
            yield from classes_in(value)
    elif isinstance(config, (list, tuple)):
        for value in config:
            yield from classes_in(value)


def config_of(layer):
    return json.dumps(layer.get_config(), sort_keys=True, default=str)


def check_symbolic_equals_eager(case):
    """The layer says which shapes it gives, also of unknown length, and a program gives as much."""
    inputs = case.inputs()
    symbols = {
        name: keras.KerasTensor(array.shape, "bool" if name == "mask" else "float32")
        for name, array in inputs.items()
    }
    shapes = {name: tuple(x.shape) for name, x in case.call(layer_of(case), **symbols).items()}
    assert shapes == {name: x.shape for name, x in expected_of(case).items()}
    assert_same(model_of(case).predict_on_batch(inputs), expected_of(case), 1e-5)


def check_one_sequence_does_not_change_another(case):
    alone = {name: array[1:] for name, array in case.inputs().items()}
    expected = {name: array[1:] for name, array in expected_of(case).items()}
    assert_same(case.run(layer_of(case), **alone), expected, 1e-5)


def check_padding_changes_nothing(case):
    """Neither more of it nor what stands in its place."""
    inputs, expected = case.inputs(), expected_of(case)
    mask, more = inputs["mask"], ((0, 0), (0, 20))
    padded = {
        **inputs,
        "value": np.pad(inputs["value"], (*more, (0, 0)), constant_values=1e3),
        "mask": np.pad(mask, more),
    }
    found = case.run(layer_of(case), **padded)
    kept, added = np.split(found["weights"], [S], axis=case.source_axis)
    assert_same({**found, "weights": kept}, expected, 1e-5)
    assert (added == 0).all()
    changed = np.where(mask[..., None], inputs["value"], 1e3).astype("float32")
    assert_same(case.run(layer_of(case), **{**inputs, "value": changed}), expected, 1e-5)


def check_implicit_masks_change_nothing(case):
    """Neither that of the query nor that of the value; only the explicit mask counts."""

    def embedded(name):
        width = case.inputs()[name].shape[-1]
        embed = keras.layers.Embedding(S + 1, width, mask_zero=True)
        ids = {3: np.array([[1, 2, 0], [3, 2, 1]]), 5: np.array([[1, 2, 3, 0, 0], [1] * S])}
        single = case.inputs()[name].ndim == 2
        found = embed(ids[T if single else case.inputs()[name].shape[1]])
        return found[:, 0] if single else found

    masked = {name: embedded(name) for name in case.inputs() if name != "mask"}
    plain = {name: as_numpy(x) for name, x in masked.items()}
    found = {name: as_numpy(x) for name, x in case.call(layer_of(case), **masked).items()}
    assert_same(found, case.run(layer_of(case), **plain), 1e-6)


def check_nothing_to_look_at(case):
    """Weights 0, and the same output whatever the value is."""
    inputs = {**case.inputs(), "mask": WITH_AN_EMPTY_ROW}
    found = case.run(layer_of(case), **inputs)
    assert (found["weights"][1] == 0).all()
    assert found["weights"][0].sum() > 0
    other = case.run(layer_of(case), **{**inputs, "value": 7 * inputs["value"]})
    np.testing.assert_array_equal(other["output"][1], found["output"][1])


def check_empty(case, axis):
    """No sequence, no query or no key gives empty arrays, or reads of 0, of the right shapes."""
    inputs = {name: without(x, axis) for name, x in case.inputs().items()}
    found = case.run(layer_of(case), **inputs)
    expected = {name: without(x, axis).shape for name, x in expected_of(case).items()}
    assert {name: x.shape for name, x in found.items()} == expected
    assert all(np.isfinite(x).all() for x in found.values())


def without(array, axis):
    """Return zeros like an array whose axis B, T or S has the length 0."""
    lengths = {"T": (T,), "S": (S,)}.get(axis, ())
    shape = [0 if length in lengths else length for length in array.shape]
    return np.zeros((0, *shape[1:]) if axis == "B" else shape, array.dtype)


def check_double_precision(case):
    """Everything is float64, and more exact than float32 could be."""
    layer = with_policy(case, "float64")
    inputs = {name: ops.convert_to_tensor(x) for name, x in case.inputs().items()}
    found = case.call(layer, **inputs)
    assert {keras.backend.standardize_dtype(x.dtype) for x in found.values()} == {"float64"}
    found = {name: ops.convert_to_numpy(x) for name, x in found.items()}
    if case.continuous:
        assert_same(found, expected_of(case), 1e-5)
    if "weights" in found and case.sums_to_one:
        assert abs(found["weights"].sum(case.source_axis) - 1).max() < 1e-13


def with_policy(case, policy):
    """Return a layer with the weights of `layer_of(case)` and another dtype policy."""
    layer = case.make(dtype=keras.DTypePolicy(policy))
    case.run(layer, **case.inputs())
    layer.set_weights(layer_of(case).get_weights())
    return layer


def check_half_precision(case, policy):
    """With weights in half precision too: as in mixed precision, and finite gradients."""
    layer = check_mixed_precision(case, policy)
    tensors = {name: ops.convert_to_tensor(x) for name, x in with_an_empty_row(case).items()}

    def loss():
        output = case.call(layer, **tensors)["output"]
        return ops.sum(ops.square(ops.cast(output, "float32") - 1))

    for path, slope in gradients_of_weights(layer, loss).items():
        assert np.isfinite(slope).all(), path


def check_mixed_precision(case, policy):
    layer = with_policy(case, policy)
    tensors = {name: ops.convert_to_tensor(x) for name, x in case.inputs().items()}
    found = case.call(layer, **tensors)
    dtypes = {name: keras.backend.standardize_dtype(x.dtype) for name, x in found.items()}
    assert dtypes.pop("output") == policy.removeprefix("mixed_")
    assert set(dtypes.values()) <= {"float32"}
    found = {name: as_numpy(x) for name, x in found.items()}
    if case.weights_shape and case.float32_softmax:
        check_sums(case, found["weights"])
    if case.continuous:
        for name, value in found.items():
            tolerance = {"output": 0.1, "weights": 0.02}[name]
            assert_same({name: value}, {name: expected_of(case)[name]}, tolerance)
    return layer


def check_gradients(case):
    """Every weight has a finite gradient, of 0 only where it must be, with an empty row too."""
    tensors = {name: ops.convert_to_tensor(x) for name, x in with_an_empty_row(case).items()}

    def loss():
        return ops.sum(ops.square(case.call(layer_of(case), **tensors)["output"] - 1))

    for path, slope in gradients_of_weights(layer_of(case), loss).items():
        assert np.isfinite(slope).all(), path
        assert (abs(slope).max() > 1e-5) != is_still(path), f"{path}: {abs(slope).max():.3g}"


def with_an_empty_row(case):
    inputs = case.inputs()
    return {**inputs, "mask": WITH_AN_EMPTY_ROW} if "mask" in inputs else inputs


def is_still(path):
    """Say whether a weight learns nothing: it moves all scores of a query alike, or is a seed."""
    return any(name in path for name in ("key/bias", "output_bias", "seed_generator"))


def check_fit_step(case):
    """One compiled step of training changes every weight, and all stay finite."""
    inputs = with_an_empty_row(case)
    model = functional(case, case.make())
    before = model.get_weights()
    compiled, shapes = [], []

    def loss(y_true, y_pred):
        compiled.append(is_compiled(y_pred))
        shapes.append(tuple(y_pred.shape))
        return keras.losses.mean_squared_error(y_true, y_pred)

    model.compile(
        keras.optimizers.SGD(0.1),
        loss={"output": loss, **({"weights": None} if case.weights_shape else {})},
        jit_compile=keras.backend.backend() != "torch",
    )
    targets = np.random.default_rng(3).normal(size=expected_of(case)["output"].shape)
    run = model.train_on_batch if model.trainable_weights else model.test_on_batch
    assert np.isfinite(run(inputs, {"output": targets.astype("float32")}))
    assert all(compiled)
    assert targets.shape in shapes  # static: nothing is compiled again for each batch
    for old, new, weight in zip(before, model.get_weights(), model.weights, strict=True):
        assert np.isfinite(new).all(), weight.path
        assert is_still(weight.path) or (old != new).any(), weight.path


def is_compiled(tensor):
    """Say whether a tensor is part of a program that XLA compiles; on PyTorch nothing is."""
    if keras.backend.backend() == "tensorflow":
        from tensorflow.python.ops import control_flow_util

        return control_flow_util.GraphOrParentsInXlaContext(tensor.graph)
    if keras.backend.backend() == "jax":
        import jax

        return isinstance(tensor, jax.core.Tracer)
    return True


def check_zero_vectors(case):
    """Vectors that are 0 have no direction and no length, but values and gradients."""
    layer, inputs = layer_of(case), case.inputs()
    mask = ops.convert_to_tensor(inputs.pop("mask")) if "mask" in inputs else None
    zeros = [np.zeros_like(x) for x in inputs.values()]

    def loss(*tensors):
        found = case.call(layer, *tensors, mask=mask)
        weights = ops.sum(ops.square(found["weights"])) if "weights" in found else 0.0
        return weights + ops.sum(ops.square(ops.cast(found["output"], "float32") - 1))

    slopes, slopes_of_weights = gradients(layer, loss, *zeros)
    for name, slope in zip(inputs, slopes, strict=True):
        assert np.isfinite(slope).all(), name
    for path, slope in slopes_of_weights.items():
        assert np.isfinite(slope).all(), path


LOAD = """
import sys, numpy as np, keras, keras_attention
for folder in sys.argv[1:]:
    model = keras.saving.load_model(folder + "/model.keras")
    with np.load(folder + "/inputs.npz") as inputs:
        outputs = model(dict(inputs))
    outputs = {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}
    np.savez(folder + "/outputs.npz", **outputs)
"""


def check_fresh_process(cases, folder):
    """Models that were saved give the same in a process that imports nothing but the package."""
    for case in cases:
        (folder / case.name).mkdir()
        model_of(case).save(folder / case.name / "model.keras")
        np.savez(folder / case.name / "inputs.npz", **case.inputs())
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *(str(folder / case.name) for case in cases)],
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for case in cases:
        with np.load(folder / case.name / "outputs.npz") as loaded:
            assert_same(dict(loaded), expected_of(case), 1e-6)
