from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import menu
from keras_attention import ops as formulas
from keras_attention.layers import AdditiveAttention, ContextSensitiveMemory, scores
from tests.contract import B, K, Q, S, T
from tests.numerics import as_numpy, assert_close

UNITS = 13
SAME_WIDTH = ("dot", "scaled_dot", "cosine")


def inputs(name=None):
    rng = np.random.default_rng(0)
    width = K if name in SAME_WIDTH else Q
    query, keys = rng.normal(size=(B, T, width)), rng.normal(size=(B, S, K))
    return [ops.convert_to_tensor(x, "float32") for x in (query, keys)]


def filled(name):
    """Make a score layer, and give every weight, biases too, numbers of its own."""
    layer = scores.SCORES[name](name=name)
    layer(*inputs(name))
    rng = np.random.default_rng(1)
    layer.set_weights([rng.normal(size=w.shape).astype("float32") for w in layer.weights])
    return layer, {w.name: ops.convert_to_tensor(as_numpy(w)) for w in layer.weights}


def formula(name, weights, query, keys):
    """Return what the function of `ops` gives with the weights of the layer."""
    function = getattr(formulas, name)
    if name == "cosine":
        return function(query, keys, ops.softplus(weights["raw_strength"]))
    if name == "location":
        return function(query, weights["kernel"], S)
    order = {
        "general": ["kernel"],
        "concat": ["kernel", "v"],
        "additive": ["query_kernel", "key_kernel", "v"],
        "two_layer": ["kernel", "bias", "v", "output_bias"],
    }
    return function(query, keys, *(weights[key] for key in order.get(name, ())))


@pytest.mark.parametrize("name", scores.SCORES)
def test_a_score_equals_its_formula_with_its_own_weights(name):
    layer, weights = filled(name)
    assert_close(layer(*inputs(name)), as_numpy(formula(name, weights, *inputs(name))))


@pytest.mark.parametrize("name", scores.SCORES)
def test_a_score_is_its_comparison_with_the_projected_keys(name):
    layer, _ = filled(name)
    query, keys = inputs(name)
    projected = layer.project(keys)
    for t in range(T):  # projected once, compared as often as there are queries
        step = layer.compare(query[:, t : t + 1], projected)
        assert_close(step[:, 0], as_numpy(layer(query, keys))[:, t])


@pytest.mark.parametrize("name", scores.SCORES)
def test_scores_are_float32_in_mixed_precision(name):
    exact, _ = filled(name)
    layer = scores.SCORES[name](dtype="mixed_bfloat16", name=name)
    layer(*inputs(name))
    layer.set_weights(exact.get_weights())
    found = layer(*inputs(name))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    assert_close(found, as_numpy(exact(*inputs(name))), 0.02)


def test_the_weights_of_a_score_have_the_documented_shapes():
    shapes = {
        "dot": {},
        "scaled_dot": {},
        "cosine": {"raw_strength": ()},
        "general": {"kernel": (Q, K)},
        "concat": {"kernel": (Q + K, Q), "v": (Q,)},
        "additive": {"query_kernel": (Q, Q), "key_kernel": (K, Q), "v": (Q,)},
        "two_layer": {"kernel": (Q + K, Q), "bias": (Q,), "v": (Q,), "output_bias": ()},
        "location": {"kernel": (Q, 64)},
    }
    assert set(shapes) == set(scores.SCORES)
    for name, expected in shapes.items():
        assert {w.name: tuple(w.shape) for w in filled(name)[0].weights} == expected


@pytest.mark.parametrize("strength", [0.01, 1.0, 29.0, 31.0, 300.0])
def test_the_strength_of_the_cosine_before_training_is_what_was_asked_for(strength):
    layer = scores.CosineScore(strength)
    x = ops.ones((1, 1, K))
    assert_close(layer(x, x), [[[strength]]], 2e-6)  # through softplus and its inverse


def test_an_unknown_name_lists_the_scores_that_exist():
    with pytest.raises(ValueError, match="score must be one of") as error:
        ContextSensitiveMemory("consine")
    assert "'consine'" in str(error.value)
    assert all(name in str(error.value) for name in scores.SCORES)


@pytest.mark.parametrize("wrong", [None, 7, ["dot"], scores.DotScore])
def test_what_is_neither_a_name_nor_a_score_nor_a_function_is_refused(wrong):
    with pytest.raises(ValueError, match="score must be one of"):
        ContextSensitiveMemory(wrong)


@pytest.mark.parametrize("name", SAME_WIDTH)
def test_different_widths_are_refused_with_both_shapes(name):
    query, keys = np.ones((B, T, Q), "float32"), np.ones((B, S, K), "float32")
    message = rf"same width, got query .*= \(.*, {Q}\) and keys .*= \(.*, {K}\)"
    with pytest.raises(ValueError, match=message):
        scores.SCORES[name]().build(query.shape, keys.shape)
    with pytest.raises(ValueError, match=message):
        ContextSensitiveMemory(name)(query, keys)
    with pytest.raises(ValueError, match=message):
        ContextSensitiveMemory(name)(keras.Input((None, Q)), keras.Input((None, K)))


def test_numbers_that_must_be_positive_are():
    for make in (scores.ConcatScore, scores.AdditiveScore, scores.TwoLayerScore):
        with pytest.raises(ValueError, match="units must be a positive integer, got 0"):
            make(0)
    with pytest.raises(ValueError, match="strength must be positive, got -1"):
        scores.CosineScore(-1)
    with pytest.raises(ValueError, match="longest must be a positive integer, got 0"):
        scores.LocationScore(0)


def test_a_location_score_is_refused_for_a_memory_it_does_not_reach():
    with pytest.raises(ValueError, match=r"reaches 3 positions, got keys .*\(2, 5, 11\)"):
        scores.LocationScore(3)(*inputs())
    tall = np.ones((B, T, Q), "float32"), np.ones((B, Q, S), "float32")  # longer than wide
    with pytest.raises(ValueError, match="reaches 6 positions"):
        scores.LocationScore(6)(*tall)


def test_a_location_score_may_reach_one_position():
    query, keys = np.ones((B, T, Q), "float32"), np.ones((B, 1, K), "float32")
    assert tuple(scores.LocationScore(1)(query, keys).shape) == (B, T, 1)


def squared_distance(query, keys):
    return -ops.sum(ops.square(query[:, :, None] - keys[:, None]), axis=-1)


def test_a_function_of_ones_own_is_a_score():
    query, keys = np.random.default_rng(0).normal(size=(2, B, T, K)).astype("float32")
    layer = ContextSensitiveMemory(squared_distance)
    _, weights = layer(query, keys, return_attention_scores=True)
    expected = np.zeros((B, T, T))
    for b, t, s in np.ndindex(B, T, T):
        expected[b, t, s] = np.exp(-((query[b, t].astype(float) - keys[b, s]) ** 2).sum())
    # exponents near -20, whose rounding the exponential enlarges twentyfold
    assert_close(weights, expected / expected.sum(-1, keepdims=True), 1e-5)


@keras.saving.register_keras_serializable("tests")
class Difference(keras.layers.Layer):
    """A layer of one's own, with a weight: w (q_1 − k_1)."""

    def build(self, query_shape, keys_shape):
        self.w = self.add_weight(shape=(), initializer="ones", name="w")

    def call(self, query, keys):
        return self.w * (query[:, :, :1] - ops.swapaxes(keys[:, :, :1], 1, 2))


def test_a_layer_of_ones_own_is_a_score_whose_weights_are_those_of_the_attention():
    query, keys = inputs()
    layer = ContextSensitiveMemory(Difference())
    _, weights = layer(query, keys, return_attention_scores=True)
    assert len(layer.trainable_weights) == 1
    shares = np.exp(as_numpy(query)[:, :, :1] - as_numpy(keys)[:, None, :, 0].astype(float))
    assert_close(weights, shares / shares.sum(-1, keepdims=True))
    twin = ContextSensitiveMemory.from_config(layer.get_config())
    twin(query, keys)
    assert [tuple(w.shape) for w in twin.trainable_weights] == [()]


def test_a_layer_with_a_build_of_keras_own_is_a_score():
    class Nearness(keras.layers.Layer):
        def call(self, query, keys):
            return -ops.abs(query[:, :, :1] - ops.swapaxes(keys[:, :, :1], 1, 2))

    query, keys = inputs()
    assert tuple(ContextSensitiveMemory(Nearness())(query, keys).shape) == (B, T, K)


def test_a_function_without_a_name_cannot_be_saved():
    layer = ContextSensitiveMemory(partial(formulas.dot))
    with pytest.raises(ValueError, match="must be registered"):
        layer.get_config()


@pytest.mark.parametrize("make", [lambda: scores.AdditiveScore(UNITS), lambda: Difference()])
def test_a_shared_score_is_shared_by_a_loaded_model_too(make, tmp_path):
    query, keys = inputs()
    score = make()
    queries, memory = keras.Input((None, Q)), keras.Input((None, K))
    read = ContextSensitiveMemory(score, value_dim=Q)(queries, memory)
    model = keras.Model([queries, memory], ContextSensitiveMemory(score)(read, memory))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [w.shape for w in loaded.weights] == [w.shape for w in model.weights]
    expected = as_numpy(model([query, keys]))
    np.testing.assert_array_equal(as_numpy(loaded([query, keys])), expected)


def test_a_score_layer_of_the_menu_can_be_given_as_it_is():
    query, keys = inputs()
    layer = ContextSensitiveMemory(scores.AdditiveScore(UNITS))
    layer(query, keys)
    twin = AdditiveAttention(UNITS)
    twin(query, keys)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(as_numpy(twin(query, keys)), as_numpy(layer(query, keys)))


@pytest.mark.parametrize("name", menu.SCORES)
def test_the_menu_has_the_equation_of_the_layer(name):
    assert scores.SCORES[name].__doc__.startswith(menu.SCORES[name].equation)
