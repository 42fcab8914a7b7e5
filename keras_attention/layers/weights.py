"""How a layer makes its weights: the arguments of `keras.layers.Dense`, for layers with others.

A kernel multiplies what comes in, a bias is added to it; of embeddings there is one for each id.
"""

from typing import ClassVar

import keras

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


class WeightedLayer(keras.layers.Layer):
    """A layer whose weights are initialized, regularized and constrained as one asks.

    Args:
        **kwargs: `kernel_initializer`, `bias_initializer`, `kernel_regularizer`,
            `bias_regularizer`, `kernel_constraint` and `bias_constraint`, as for
            `keras.layers.Dense`; the rest as for every Keras layer.
    """

    options: ClassVar = DEFAULTS

    def __init__(self, **kwargs):
        chosen = {name: kwargs.pop(name, default) for name, default in self.options.items()}
        super().__init__(**kwargs)
        for name, value in chosen.items():
            setattr(self, name, _kind(name).get(value))

    def add_kernel(self, name, shape):
        """Make a weight that multiplies."""
        return self._add("kernel", name, shape)

    def add_bias(self, name, shape):
        """Make a weight that is added."""
        return self._add("bias", name, shape)

    def add_embeddings(self, name, shape):
        """Make a table of embeddings."""
        return self._add("embeddings", name, shape)

    def _add(self, part, name, shape):
        options = {kind: getattr(self, f"{part}_{kind}") for kind in KINDS}
        options["initializer"] = _fresh(options["initializer"])
        return self.add_weight(shape=shape, name=name, **options)

    def weight_options(self):
        """Return the arguments, for a layer that makes weights on behalf of this one."""
        return {name: _fresh(getattr(self, name)) for name in self.options}

    def get_config(self):
        options = {name: _kind(name).serialize(getattr(self, name)) for name in self.options}
        return {**super().get_config(), **options}


class EmbeddingLayer(WeightedLayer):
    """The same for a layer whose weight is a table of embeddings.

    Args:
        **kwargs: `embeddings_initializer`, `embeddings_regularizer` and `embeddings_constraint`, as
            for `keras.layers.Embedding`; the rest as for every Keras layer.
    """

    options: ClassVar = EMBEDDINGS


def _kind(name):
    return KINDS[name.split("_")[1]]


def _fresh(value):
    """Return a copy of an initializer: one without a seed draws the same whenever it is called."""
    return value.clone() if isinstance(value, keras.initializers.Initializer) else value
