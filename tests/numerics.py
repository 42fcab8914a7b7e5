"""Numbers of any backend as NumPy: how they are compared, and their gradients."""

import keras
import numpy as np
from keras import ops


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

        gradients = jax.jit(jax.grad(function, argnums=tuple(range(len(inputs)))))(*inputs)
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
    return gradients(layer, function)[1]


def gradients(layer, function, *inputs):
    """Return the gradients of `function(*inputs)`: a list, and those of weights by their paths.

    All are of one program, which JAX compiles in half the time that two take.
    """
    weights = layer.trainable_weights

    def of(*values):
        given, values = values[: len(inputs)], values[len(inputs) :]
        with keras.StatelessScope(state_mapping=list(zip(weights, values, strict=True))):
            return function(*given)

    values = [*inputs, *(as_numpy(weight) for weight in weights)]
    found = gradient(of, *values) if values else []
    paths = [weight.path for weight in weights]
    return found[: len(inputs)], dict(zip(paths, found[len(inputs) :], strict=True))
