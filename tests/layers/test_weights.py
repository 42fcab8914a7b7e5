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


# Layers that hold others, and tables

X = (B, T, 6)
HOLDERS = {
    "feed_forward": (lambda **options: layers.FeedForward(13, **options), [X]),
    "glimpses": (lambda **options: layers.GlimpseNetwork(6, 2, **options), [(B, 5, 7, 1)]),
    "memory_hop": (lambda **options: layers.MemoryHop(mapped=True, **options), [X, X]),
    "turing_machine": (lambda **options: layers.NTMCell(5, 7, 3, **options), [(B, 6)]),
    "transformer_encoder": (
        lambda **options: layers.TransformerEncoderLayer(2, 3, 13, **options),
        [X],
    ),
    "transformer_decoder": (
        lambda **options: layers.TransformerDecoderLayer(2, 3, 13, **options),
        [X, X],
    ),
}
each_holder = pytest.mark.parametrize(("make", "shapes"), HOLDERS.values(), ids=HOLDERS)
TABLES = {
    "bag_of_words": (lambda **options: layers.BagOfWords(11, 6, **options), (B, T)),
    "learned_positions": (lambda **options: layers.LearnedPositions(7, **options), X),
    "positional_embedding": (
        lambda **options: layers.PositionalEmbedding(11, 6, **options),
        (B, T),
    ),
}


def twin_of(layer):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    return keras.saving.deserialize_keras_object(config)


@each_holder
def test_a_layer_hands_the_options_to_what_it_holds(make, shapes):
    layer = make(**OPTIONS)
    twin = twin_of(layer)
    assert json.dumps(twin.get_config()) == json.dumps(layer.get_config())
    for one in (layer, twin):
        one.build(*shapes)
        values = {"kernel": KERNEL, "bias": BIAS}
        found = [(w.path.split("/")[-1], as_numpy(w)) for w in one.trainable_weights]
        found = [(name, value) for name, value in found if name in values]
        assert {name for name, _ in found} >= {"kernel"}
        for name, value in found:
            assert (value == values[name]).all()
        assert sum(as_numpy(loss) for loss in one.losses) > 0


@pytest.mark.parametrize(("make", "shape"), TABLES.values(), ids=TABLES)
def test_a_table_takes_the_options_of_an_embedding(make, shape):
    layer = make(
        embeddings_initializer=keras.initializers.Constant(KERNEL),
        embeddings_regularizer=keras.regularizers.L2(0.1),
        embeddings_constraint=keras.constraints.MaxNorm(LARGEST),
    )
    twin = twin_of(layer)
    assert json.dumps(twin.get_config()) == json.dumps(layer.get_config())
    for one in (layer, twin):
        one.build(shape)
        (table,) = one.trainable_weights
        assert (as_numpy(table) == KERNEL).all()
        assert isinstance(table.constraint, keras.constraints.MaxNorm)
        expected = 0.1 * KERNEL**2 * as_numpy(table).size
        assert as_numpy(sum(one.losses)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["additive", "coverage", "local_p", "TwoLayerScore"])
def test_vectors_may_be_drawn_as_orthogonal_columns(name):
    layer = built(MAKE[name](kernel_initializer="orthogonal"))
    vectors = [as_numpy(w) for w in layer.trainable_weights if w.path.endswith("v")]
    np.testing.assert_allclose([np.linalg.norm(vector) for vector in vectors], 1, rtol=1e-5)
    assert vectors
