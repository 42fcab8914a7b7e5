"""Intervene in a model while it computes: change attention weights, or follow a gradient.

The methods of some layers are replaced for the length of a block. The model must be called in it
as it is (`model(inputs)`), since a compiled program keeps the methods that it was compiled with.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
from keras import ops

from keras_attention.layers import MultiHeadAttention
from keras_attention.types import Array


@contextmanager
def replaced(objects: Iterable[Any], name: str, make: Callable[[int, Any, Any], Any]) -> Iterator:
    """Replace a method of some objects.

    Args:
        objects: objects that have the method.
        name: its name.
        make: a function, (number of the object, the object, its method) → the other method.
    """
    objects = list(objects)
    for number, each in enumerate(objects):
        # Past Keras, which would track a function as a part of the layer
        object.__setattr__(each, name, make(number, each, getattr(each, name)))
    try:
        yield
    finally:
        for each in objects:
            object.__delattr__(each, name)


def edited(attentions: Iterable[MultiHeadAttention], edit: Callable[[int, Array], Array]) -> Any:
    """Let multi-head attentions read their values with other weights.

    Args:
        attentions: the layers.
        edit: a function, (number of the layer, its weights (B, H, T, S)) → the weights to read
            with.

    Returns:
        A context manager.
    """

    def make(number, layer, attend):
        def edited_attend(query, memory, state):
            _, weights, state = attend(query, memory, state)
            weights = edit(number, weights)
            read = ops.matmul(ops.cast(weights, memory.values.dtype), memory.values)
            return layer.project_read(ops.swapaxes(read, 1, 2)), weights, state

        return edited_attend

    return replaced(attentions, "attend", make)


def values_and_gradient(function: Callable[[Array], Array], at: Array) -> tuple[Array, Array]:
    """Return what a function gives for a tensor, and the gradient of its sum.

    Raises:
        ValueError: the backend has no gradients.
    """
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        values, pulled_back = jax.vjp(function, ops.convert_to_tensor(at))
        return values, pulled_back(ops.ones_like(values))[0]
    if backend == "torch":
        import torch

        x = ops.convert_to_tensor(at).detach().requires_grad_()
        with torch.enable_grad():
            values = function(x)
        return values.detach(), torch.autograd.grad(values.sum(), x)[0]
    if backend != "tensorflow":
        raise ValueError(f"a gradient needs tensorflow, jax or torch, got the backend {backend}")
    import tensorflow as tf

    x = ops.convert_to_tensor(at)
    with tf.GradientTape() as tape:
        tape.watch(x)
        values = function(x)
    return values, tape.gradient(values, x)
