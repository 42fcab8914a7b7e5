"""Initializers, regularizers and constraints, for every layer that makes kernels and biases."""

import json

import keras
import numpy as np
import pytest

from keras_attention import layers
from keras_attention.layers import scores
from keras_attention.layers.weights import DEFAULTS
from tests.contract import B, K, S, T
from tests.numerics import as_numpy

KERNEL, BIAS, LARGEST = 0.25, 0.5, 2.0
OPTIONS = {
    "kernel_initializer": keras.initializers.Constant(KERNEL),
    "bias_initializer": keras.initializers.Constant(BIAS),
    "kernel_regularizer": keras.regularizers.L2(0.1),
    "bias_regularizer": keras.regularizers.L1(0.3),
    "kernel_constraint": keras.constraints.MaxNorm(LARGEST),
    "bias_constraint": keras.constraints.NonNeg(),
}


def scored(score):
    return lambda **options: layers.ContextSensitiveMemory(score(**options))


MAKE = {
    "additive": lambda **options: layers.AdditiveAttention(13, **options),
    "coverage": lambda **options: layers.CoverageAttention(13, **options),
    "dense_multi_head": lambda **options: layers.DenseMultiHeadAttention(2, 26, **options),
    "local_p": lambda **options: layers.PredictiveLocalAttention(2, "dot", **options),
    "location_aware": lambda **options: layers.LocationAwareAttention(13, **options),
    "luong": lambda **options: layers.LuongAttention(layers.Hopfield(), **options),
    "memory": lambda **options: layers.ContextSensitiveMemory("dot", 1.0, 13, 17, **options),
    "multi_head": lambda **options: layers.MultiHeadAttention(2, 13, **options),
    "neural_coverage": lambda **options: layers.NeuralCoverageAttention(13, **options),
    **{
        score.__name__: scored(score)
        for score in (
            scores.AdditiveScore,
            scores.ConcatScore,
            scores.GeneralScore,
            scores.LocationScore,
            scores.TwoLayerScore,
        )
    },
}
each = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


def built(layer):
    rng = np.random.default_rng(0)
    layer(*(rng.normal(size=(B, length, K)).astype("float32") for length in (T, S)))
    return layer


def kinds(layer):
    """Return the values of kernels, and those of biases."""
    weights = [(weight, as_numpy(weight)) for weight in layer.trainable_weights]
    kernels = [value for _, value in weights if (value == KERNEL).all()]
    biases = [value for _, value in weights if (value == BIAS).all()]
    assert len(kernels) + len(biases) == len(weights)
    return kernels, biases


@each
def test_every_weight_is_initialized_as_one_asks(make):
    kernels, biases = kinds(built(make(**OPTIONS)))
    assert kernels
    assert all("bias" not in w.path for w in built(make(**OPTIONS)).trainable_weights) or biases


@each
def test_every_weight_is_regularized_and_constrained(make):
    layer = built(make(**OPTIONS))
    kernels, biases = kinds(layer)
    expected = 0.1 * sum((w**2).sum() for w in kernels) + 0.3 * sum(abs(w).sum() for w in biases)
    assert sum(as_numpy(loss) for loss in layer.losses) == pytest.approx(expected, rel=1e-5)
    for weight in layer.trainable_weights:
        is_bias = as_numpy(weight).max() == BIAS
        assert type(weight.constraint) is type(
            OPTIONS["bias_constraint" if is_bias else "kernel_constraint"]
        )


@each
def test_the_options_survive_a_file(make):
    layer = make(**OPTIONS)
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    twin = keras.saving.deserialize_keras_object(config)
    assert json.dumps(twin.get_config()) == json.dumps(layer.get_config())
    assert [w.shape for w in built(twin).weights] == [w.shape for w in built(layer).weights]
    kinds(twin)


@each
def test_by_default_they_are_those_of_a_dense_layer(make):
    """And no two kernels of one layer begin as the same numbers."""
    keras.utils.set_random_seed(0)
    layer = built(make())
    dense = keras.layers.Dense(1).get_config()
    own = layer.get_config() if "kernel_initializer" in layer.get_config() else None
    own = own or layer.score.get_config()
    assert {name: own[name] for name in DEFAULTS} == {name: dense[name] for name in DEFAULTS}
    first = [round(float(as_numpy(w).ravel()[0]), 6) for w in layer.trainable_weights]
    drawn = [number for number in first if number]
    assert len(set(drawn)) == len(drawn) > 0


@pytest.mark.parametrize("kind", ["multi_head", "dense_multi_head"])
def test_projections_without_biases_have_none(kind):
    layer = built(MAKE[kind](use_bias=False))
    assert len(layer.weights) == 4
    assert len(built(MAKE[kind]()).weights) == 8
    assert json.dumps(type(layer).from_config(layer.get_config()).get_config()) == json.dumps(
        layer.get_config()
    )
