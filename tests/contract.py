"""What every layer promises; a layer joins by a line in `tests/layers/test_contract.py`.

A case names a layer, how to make it, and the axes of its query and keys; every check takes a case.
Sizes are primes of their own, so that two swapped axes cannot pass.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

B, T, S, Q, K = 2, 3, 5, 7, 11  # batch, queries, keys, and the depths of both
MASK = np.array([[True, True, True, False, False], [True, True, True, True, True]])


@dataclass(frozen=True)
class LayerCase:
    """A layer called as `layer(query, keys, attention_mask=...)`, and with weights on request.

    The weights sum to 1 along `source_axis`, or, where `sums_to_one` is not set, to at most 1. A
    layer that is not `continuous` may choose otherwise when numbers are rounded. A layer with
    `own_code` can only be loaded where the module that registers this code was imported.
    """

    name: str
    make: Callable
    query_shape: tuple
    weights_shape: tuple
    source_axis: int = -1
    sums_to_one: bool = True
    continuous: bool = True
    own_code: bool = False

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class SequenceCase:
    """A layer called as `layer(x)`, with x and the output (B, S, width): no memory beside x.

    Where there is a `weights_shape`, it returns weights on request, and where it is `masked`, it
    takes an `attention_mask`.
    """

    name: str
    make: Callable
    weights_shape: tuple | None = None
    masked: bool = False
    width: int = Q

    def __str__(self):
        return self.name

    def array(self):
        return np.random.default_rng(0).normal(size=(B, S, self.width)).astype("float32")

    def call(self, layer, x, mask=None):
        """Call a layer, also with symbolic tensors: `{"output": ..., "weights": ...}`."""
        arguments = {"attention_mask": mask} if self.masked else {}
        if self.weights_shape is None:
            return {"output": layer(x, **arguments)}
        output, weights = layer(x, **arguments, return_attention_scores=True)
        return {"output": output, "weights": weights}


def arrays(case, seed=0):
    """Draw a query, keys and the mask of a case."""
    rng = np.random.default_rng(seed)
    query, keys = rng.normal(size=case.query_shape), rng.normal(size=(B, S, K))
    return query.astype("float32"), keys.astype("float32"), MASK


def call(layer, query, keys, mask):
    """Call a layer and return output and weights as NumPy."""
    output, weights = layer(
        ops.convert_to_tensor(query),
        ops.convert_to_tensor(keys),
        attention_mask=None if mask is None else ops.convert_to_tensor(mask),
        return_attention_scores=True,
    )
    return as_numpy(output), as_numpy(weights)


def as_numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def assert_close(actual, expected, tolerance=1e-6):
    """Require max |actual − expected| ≤ tolerance · max |expected|, against a float64 oracle."""
    actual, expected = np.asarray(as_numpy(actual), "float64"), np.asarray(expected, "float64")
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    assert np.isfinite(actual).all(), "not everything is finite"
    largest, error = abs(expected).max(initial=0), abs(actual - expected).max(initial=0)
    assert error <= tolerance * largest, (
        f"error {error:.3g} of numbers up to {largest:.3g}: {error / max(largest, 1e-300):.3g} "
        f"relative, at most {tolerance:.3g} allowed"
    )


def gradient(function, *inputs):
    """Return the gradients of a scalar function of tensors, as NumPy; 0 where there is none."""
    inputs = [ops.convert_to_tensor(x, "float32") for x in inputs]
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = function(*inputs)
        gradients = tape.gradient(value, inputs, unconnected_gradients="zero")
    elif backend == "jax":
        import jax

        gradients = jax.grad(function, argnums=tuple(range(len(inputs))))(*inputs)
    else:
        import torch

        inputs = [x.detach().clone().requires_grad_() for x in inputs]
        value = function(*inputs)
        gradients = inputs  # stands for a value that depends on none of them
        if value.requires_grad:
            gradients = torch.autograd.grad(value, inputs, allow_unused=True)
        gradients = [
            torch.zeros_like(x) if g is None or g is x else g
            for g, x in zip(gradients, inputs, strict=True)
        ]
    return [as_numpy(g) for g in gradients]


def gradients_of_weights(layer, function):
    """Return the gradients of `function()`, a scalar, by the path of each trainable weight."""
    weights = layer.trainable_weights

    def of(*values):
        with keras.StatelessScope(state_mapping=list(zip(weights, values, strict=True))):
            return function()

    gradients = gradient(of, *(as_numpy(weight) for weight in weights)) if weights else []
    return {weight.path: g for weight, g in zip(weights, gradients, strict=True)}


def watch_dropouts(monkeypatch):
    """Return a list to which, from now on, every call of a dropout adds whether it drops."""
    drops, original = [], keras.layers.Dropout.call

    def call(self, inputs, training=False):
        drops.append(bool(training))
        return original(self, inputs, training=training)

    monkeypatch.setattr(keras.layers.Dropout, "call", call)
    return drops


def model_of(case):
    """Put a layer into a functional model with the inputs query, keys and mask, or x and mask."""
    if isinstance(case, SequenceCase):
        symbols = {
            "x": keras.Input((None, case.width), name="x"),
            "mask": keras.Input((None,), dtype="bool", name="mask"),
        }
        names = ["x", "mask"] if case.masked else ["x"]
        symbols = {name: symbols[name] for name in names}
        model = keras.Model(symbols, case.call(case.make(), *symbols.values()))
        return model, {name: {"x": case.array(), "mask": MASK}[name] for name in names}
    query, keys, mask = arrays(case)
    inputs = {
        "query": keras.Input((*(None,) * (query.ndim - 2), query.shape[-1]), name="query"),
        "keys": keras.Input((None, K), name="keys"),
        "mask": keras.Input((None,), dtype="bool", name="mask"),
    }
    output, weights = case.make()(
        inputs["query"], inputs["keys"], attention_mask=inputs["mask"], return_attention_scores=True
    )
    model = keras.Model(inputs, {"output": output, "weights": weights})
    return model, {"query": query, "keys": keys, "mask": mask}


def check_shapes_and_sums(case):
    output, weights = call(case.make(), *arrays(case))
    assert output.shape[: len(case.query_shape) - 1] == case.query_shape[:-1]
    assert weights.shape == case.weights_shape
    check_sums(case, weights)
    assert (weights >= 0).all()


def check_sums(case, weights):
    sums = weights.sum(case.source_axis)
    assert (sums <= 1 + 1e-5).all()
    if case.sums_to_one:
        np.testing.assert_allclose(sums, 1, rtol=1e-5)


def check_config_round_trip(case):
    layer = case.make()
    config = keras.saving.serialize_keras_object(layer)
    twin = keras.saving.deserialize_keras_object(config)
    assert type(twin) is type(layer)
    assert twin.get_config() == layer.get_config()
    inputs = arrays(case)
    call(layer, *inputs), call(twin, *inputs)
    assert [w.shape for w in twin.weights] == [w.shape for w in layer.weights]
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(call(twin, *inputs)[0], call(layer, *inputs)[0])


def check_json_round_trip(case):
    model, inputs = model_of(case)
    twin = keras.models.model_from_json(model.to_json())
    twin.set_weights(model.get_weights())
    for name, value in twin(inputs).items():
        np.testing.assert_allclose(as_numpy(value), as_numpy(model(inputs)[name]), atol=1e-6)


def check_symbolic_equals_eager(case):
    model, inputs = model_of(case)
    symbolic = case.make()
    query, keys, _ = arrays(case)
    spec = symbolic(
        keras.KerasTensor(query.shape),
        keras.KerasTensor(keys.shape),
        return_attention_scores=True,
    )
    eager = call(symbolic, query, keys, None)
    assert [tuple(s.shape) for s in spec] == [e.shape for e in eager]
    predicted = model.predict_on_batch(inputs)
    for name, value in model(inputs).items():
        np.testing.assert_allclose(predicted[name], as_numpy(value), atol=1e-5)


def check_padding_changes_nothing(case):
    layer = case.make()
    query, keys, mask = arrays(case)
    output, weights = call(layer, query, keys, mask)
    noise = np.full((B, 20, K), 1e3, dtype="float32")
    padded = np.concatenate([keys, noise], axis=1)
    unseen = np.concatenate([mask, np.zeros((B, 20), dtype=bool)], axis=1)
    padded_output, padded_weights = call(layer, query, padded, unseen)
    np.testing.assert_allclose(padded_output, output, atol=1e-5)
    kept, added = np.split(padded_weights, [S], axis=case.source_axis)
    np.testing.assert_allclose(kept, weights, atol=1e-6)
    assert (added == 0).all()
    changed = np.where(mask[..., None], keys, 1e3).astype("float32")
    np.testing.assert_allclose(call(layer, query, changed, mask)[0], output, atol=1e-5)


def check_implicit_masks_change_nothing(case):
    """Neither that of the query nor that of the keys; only the explicit mask counts."""
    layer = case.make()
    keys = keras.layers.Embedding(S + 1, K, mask_zero=True)(np.array([[1, 2, 3, 0, 0], [1] * S]))
    width = case.query_shape[-1]
    query = keras.layers.Embedding(T + 1, width, mask_zero=True)(np.array([[1, 2, 0], [3, 2, 1]]))
    if len(case.query_shape) == 2:
        query = query[:, 0]
    expected, expected_weights = call(layer, as_numpy(query), as_numpy(keys), None)
    output, weights = layer(query, keys, return_attention_scores=True)
    np.testing.assert_allclose(as_numpy(output), expected, atol=1e-6)
    np.testing.assert_allclose(as_numpy(weights), expected_weights, atol=1e-6)


def check_nothing_to_look_at(case):
    """Weights 0; and the same output whatever the keys are, in value and, through fit, gradient."""
    layer = case.make()
    query, keys, mask = arrays(case)
    mask = np.array([mask[0], [False] * S])
    output, weights = call(layer, query, keys, mask)
    assert (weights[1] == 0).all()
    assert weights[0].sum() > 0
    np.testing.assert_array_equal(call(layer, query, 7 * keys, mask)[0][1], output[1])


def check_mixed_precision(case, policy):
    exact = case.make()
    inputs = arrays(case)
    expected, expected_weights = call(exact, *inputs)
    layer = case.make(dtype=keras.DTypePolicy(policy))
    call(layer, *inputs)
    layer.set_weights(exact.get_weights())
    output, weights = layer(
        *map(ops.convert_to_tensor, inputs[:2]),
        attention_mask=ops.convert_to_tensor(inputs[2]),
        return_attention_scores=True,
    )
    assert keras.backend.standardize_dtype(output.dtype) == policy.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    check_sums(case, as_numpy(weights))
    if case.continuous:
        np.testing.assert_allclose(as_numpy(output), expected, atol=0.1)
        np.testing.assert_allclose(as_numpy(weights), expected_weights, atol=0.02)


def check_fit_step(case):
    """One compiled step changes every weight, and all stay finite, with an empty row."""
    model, inputs = model_of(case)
    inputs["mask"] = np.array([inputs["mask"][0], [False] * S])
    before = model.get_weights()
    compiled, shapes = [], []

    def loss(y_true, y_pred):
        compiled.append(is_compiled(y_pred))
        shapes.append(tuple(y_pred.shape))
        return keras.losses.mean_squared_error(y_true, y_pred)

    model.compile(
        keras.optimizers.SGD(0.1),
        loss={"output": loss, "weights": None},
        jit_compile=keras.backend.backend() != "torch",
    )
    targets = np.random.default_rng(3).normal(size=model(inputs)["output"].shape)
    run = model.train_on_batch if model.trainable_weights else model.test_on_batch
    value = run(inputs, {"output": targets.astype("float32")})
    assert np.isfinite(value)
    assert all(compiled)
    assert targets.shape in shapes  # static: nothing is compiled again for each batch
    for old, new, weight in zip(before, model.get_weights(), model.weights, strict=True):
        assert np.isfinite(new).all(), weight.path
        # a bias of the keys moves all scores of a query alike, so its gradient is 0
        still = ("key/bias", "output_bias", "seed_generator")
        assert any(name in weight.path for name in still) or (old != new).any(), weight.path


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
    """A query and keys that are 0 have no direction and no length, but value and gradients."""
    layer = case.make()
    query, keys, mask = arrays(case)
    inputs = [np.zeros_like(query), np.zeros_like(keys)]
    call(layer, *inputs, mask)
    mask = ops.convert_to_tensor(mask)

    def loss(query, keys):
        output, weights = layer(query, keys, attention_mask=mask, return_attention_scores=True)
        return ops.sum(ops.square(ops.cast(output, "float32") - 1)) + ops.sum(ops.square(weights))

    for name, value in zip(("query", "keys"), gradient(loss, *inputs), strict=True):
        assert np.isfinite(value).all(), name
    zeros = [ops.convert_to_tensor(x) for x in inputs]
    for path, value in gradients_of_weights(layer, lambda: loss(*zeros)).items():
        assert np.isfinite(value).all(), path


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
    expected = {}
    for case in cases:
        model, inputs = model_of(case)
        place = folder / case.name
        place.mkdir()
        model.save(place / "model.keras")
        np.savez(place / "inputs.npz", **inputs)
        expected[place] = {name: as_numpy(value) for name, value in model(inputs).items()}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *map(str, expected)],
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for place, outputs in expected.items():
        with np.load(place / "outputs.npz") as loaded:
            for name, value in outputs.items():
                np.testing.assert_allclose(loaded[name], value, atol=1e-6, err_msg=place.name)
