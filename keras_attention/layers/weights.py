"""Weights with the options of `keras.layers.Dense` and `keras.layers.Embedding`.

A kernel multiplies the input, a bias is added to the product, and embeddings have a row per id.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import keras
from keras import ops

from keras_attention.layers.parts import LayerWithParts
from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array, Shape

DEFAULTS = {
    "kernel_initializer": "glorot_uniform",
    "bias_initializer": "zeros",
    "kernel_regularizer": None,
    "bias_regularizer": None,
    "kernel_constraint": None,
    "bias_constraint": None,
}
KINDS = {
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}


EMBEDDINGS = {
    "embeddings_initializer": "uniform",
    "embeddings_regularizer": None,
    "embeddings_constraint": None,
}


class WeightedLayer(LayerWithParts):
    """A layer whose weights take initializers, regularizers and constraints.

    Args:
        **kwargs: `kernel_initializer`, `bias_initializer`, `kernel_regularizer`,
            `bias_regularizer`, `kernel_constraint` and `bias_constraint`, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.
    """

    options: ClassVar[Mapping[str, str | None]] = DEFAULTS

    def __init__(self, **kwargs: Any):
        chosen = {name: kwargs.pop(name, default) for name, default in self.options.items()}
        super().__init__(**kwargs)
        for name, value in chosen.items():
            setattr(self, name, _kind(name).get(value))

    def add_kernel(self, name: str, shape: Shape) -> Array:
        """Make a weight that multiplies the input."""
        return self._add("kernel", name, shape)

    def add_bias(self, name: str, shape: Shape) -> Array:
        """Make a weight that is added."""
        return self._add("bias", name, shape)

    def add_embeddings(self, name: str, shape: Shape) -> Array:
        """Make a table of embeddings."""
        return self._add("embeddings", name, shape)

    def _add(self, part, name, shape):
        options = {kind: getattr(self, f"{part}_{kind}") for kind in KINDS}
        options["initializer"] = _fresh(options["initializer"])
        if len(shape) == 1 and isinstance(options["initializer"], keras.initializers.Orthogonal):
            options["initializer"] = _column_of(options["initializer"])
        return self.add_weight(shape=shape, name=name, **options)

    def weight_options(self) -> dict[str, Any]:
        """Return the options, for a layer that makes weights on behalf of this one."""
        return {name: _fresh(getattr(self, name)) for name in self.options}

    def get_config(self) -> dict[str, Any]:
        options = {name: _kind(name).serialize(getattr(self, name)) for name in self.options}
        return {**super().get_config(), **options}


class EmbeddingLayer(WeightedLayer):
    """A `WeightedLayer` whose weight is a table of embeddings.

    Args:
        **kwargs: `embeddings_initializer`, `embeddings_regularizer` and `embeddings_constraint`, as
            for `keras.layers.Embedding`, and arguments of `keras.layers.Layer`.
    """

    options: ClassVar[Mapping[str, str | None]] = EMBEDDINGS


@keras.saving.register_keras_serializable("keras_attention")
class PreciseOrthogonal(keras.initializers.Orthogonal):
    """Draw an orthogonal matrix in float32: no backend can decompose one in half precision."""

    def __call__(self, shape: Shape, dtype: str | None = None) -> Array:
        dtype = keras.backend.standardize_dtype(dtype)
        return ops.cast(super().__call__(shape, dtype=precise_dtype(dtype)), dtype)


def _kind(name):
    return KINDS[name.split("_")[1]]


def _column_of(initializer):
    """Return an initializer of vectors that draws them as matrices of one column."""
    return lambda shape, dtype=None: ops.reshape(initializer((*shape, 1), dtype=dtype), shape)


def _fresh(value):
    """Copy an initializer: one without a seed returns the same numbers whenever it is called."""
    return value.clone() if isinstance(value, keras.initializers.Initializer) else value
