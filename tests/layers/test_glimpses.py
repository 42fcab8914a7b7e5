"""The glimpse network against its equation, and the network that chooses them."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import GlimpseNetwork, GlimpseRNN
from keras_attention.ops import glimpse
from tests.numerics import as_numpy, gradients_of_weights

B, H, W, C, G, K, UNITS, T = 2, 17, 19, 3, 4, 2, 11, 5


def pictures(seed=0):
    return np.random.default_rng(seed).uniform(size=(B, H, W, C)).astype("float32")


def places():
    return np.array([[0.25, -0.5], [0.9, 0.1]], "float32")


def make(locator=True, **options):
    keras.utils.set_random_seed(3)
    return GlimpseRNN(
        GlimpseNetwork(UNITS, G, K),
        keras.layers.SimpleRNNCell(7),
        T,
        locator=keras.layers.LSTMCell(13) if locator else None,
        **{"seed": 1, **options},
    )


def tensor(x):
    return ops.convert_to_tensor(x)


@pytest.mark.parametrize(("hidden", "width"), [(5, 5), (None, 6)])
@pytest.mark.parametrize("merge", ["add", "multiply"])
def test_the_network_is_its_equation(merge, hidden, width):
    layer = GlimpseNetwork(UNITS, G, K, hidden, merge)
    found = as_numpy(layer(tensor(pictures()), tensor(places())))
    patches = as_numpy(glimpse(pictures(), places(), G, K)).reshape(B, -1).astype(float)

    def dense(part, x):
        kernel, bias = map(as_numpy, part.weights)
        return x @ kernel.astype(float) + bias

    what = dense(layer.what, np.maximum(dense(layer.see, patches), 0))
    where = dense(layer.where, np.maximum(dense(layer.place, places()), 0))
    both = what + where if merge == "add" else np.maximum(what, 0) * np.maximum(where, 0)
    np.testing.assert_allclose(found, np.maximum(both, 0), atol=1e-5)
    assert (layer.what.kernel.shape[0], layer.where.kernel.shape[0]) == (width, width)


@pytest.mark.parametrize("locator", [False, True])
def test_what_looks_leave_is_that_of_one_look_after_the_other(locator):
    layer, x = make(locator, deviation=0.05), tensor(pictures())
    glimpses = layer(x, training=True)
    outputs, states, locations, densities = map(as_numpy, glimpses)
    core, above = [ops.zeros((B, 7))], [ops.zeros((B, 13))] * 2
    kernel, bias = map(as_numpy, layer.choose.weights)
    for t in range(T):
        state = as_numpy((above if locator else core)[0])
        np.testing.assert_allclose(states[:, t], state, atol=1e-6)
        off = locations[:, t] - np.tanh(state @ kernel + bias)  # from the mean
        density = -(off.astype(float) ** 2).sum(-1) / (2 * 0.05**2) - np.log(2 * np.pi * 0.05**2)
        np.testing.assert_allclose(densities[:, t], density, atol=1e-3)
        output, core = layer.cell(layer.network(x, glimpses.locations[:, t]), core)
        np.testing.assert_allclose(outputs[:, t], as_numpy(output), atol=1e-6)
        if locator:
            _, above = layer.locator(output, above)
    for each, width in zip(glimpses[:3], (7, 13 if locator else 7, 2), strict=True):
        assert tuple(each.shape) == (B, T, width)


def test_it_goes_to_the_mean_unless_it_is_training():
    layer, x = make(), tensor(pictures())
    one, other = layer(x), layer(x)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(as_numpy(a), as_numpy(b))
    states, kernel = as_numpy(one.states), as_numpy(layer.choose.kernel)
    np.testing.assert_allclose(as_numpy(one.locations), np.tanh(states @ kernel), atol=1e-6)
    np.testing.assert_array_equal(as_numpy(one.locations)[:, 0], 0)  # it starts in the middle
    sure = -np.log(2 * np.pi * layer.deviation**2)
    np.testing.assert_allclose(as_numpy(one.log_probabilities), sure, rtol=1e-5)


def test_in_training_places_are_drawn_around_the_mean_and_again_from_the_same_seed():
    x = tensor(np.repeat(pictures()[:1], 997, axis=0))
    layer = make(deviation=0.2)
    first, second, again = layer(x, training=True), layer(x, training=True), make(deviation=0.2)
    locations = as_numpy(first.locations)
    assert (locations != as_numpy(second.locations)).any()
    repeated = again(x, training=True).locations
    np.testing.assert_array_equal(as_numpy(repeated), locations)
    np.testing.assert_allclose(locations[:, 0].std(), 0.2, atol=0.02)
    distance = locations[:, 0] / 0.2  # of the first glimpses, whose mean is 0, none was clipped
    expected = -(distance**2).sum(-1) / 2 - np.log(2 * np.pi * 0.2**2)
    np.testing.assert_allclose(as_numpy(first.log_probabilities)[:, 0], expected, atol=1e-4)


def test_it_looks_within_the_picture_and_the_density_is_that_before_the_clipping():
    x = tensor(np.repeat(pictures()[:1], 31, axis=0))
    glimpses = make(deviation=3.0)(x, training=True)
    assert abs(as_numpy(glimpses.locations)).max() == 1
    at_the_edge = (abs(as_numpy(glimpses.locations)) == 1).any(-1)
    density = as_numpy(glimpses.log_probabilities)
    distance = as_numpy(glimpses.locations) / 3
    clipped = -(distance**2).sum(-1) / 2 - np.log(2 * np.pi * 9)
    assert at_the_edge[:, 0].any()
    assert (density[:, 0][at_the_edge[:, 0]] < clipped[:, 0][at_the_edge[:, 0]]).all()


@pytest.mark.parametrize("locator", [False, True])
def test_the_gradient_of_the_choice_stops_before_the_core(locator):
    layer, x = make(locator), tensor(pictures())
    layer(x)

    def chosen():
        layer.generator.seed = 1
        return ops.sum(layer(x, training=True).log_probabilities)

    for path, slope in gradients_of_weights(layer, chosen).items():
        of_the_choice = "choose" in path or "lstm_cell" in path
        assert (slope != 0).any() == of_the_choice, path


def test_the_gradient_of_what_was_seen_does_not_reach_the_choice():
    layer, x = make(), tensor(pictures())
    layer(x)
    slopes = gradients_of_weights(layer, lambda: ops.sum(layer(x, training=True).outputs))
    for path, slope in slopes.items():
        assert (slope != 0).any() != ("choose" in path or "lstm_cell" in path), path


def test_the_first_state_says_where_to_begin():
    layer, x = make(), tensor(pictures())
    layer(x, tensor(np.zeros((B, 13), "float32")))
    state = np.random.default_rng(5).normal(size=(B, 13)).astype("float32")
    first = as_numpy(layer(x, tensor(state)).locations)[:, 0]
    np.testing.assert_allclose(first, np.tanh(state @ as_numpy(layer.choose.kernel)), atol=1e-6)


def test_who_does_not_choose_looks_at_the_middle_or_anywhere():
    x = tensor(pictures())
    middle, anywhere = make(policy="centre"), make(policy="random")
    np.testing.assert_array_equal(as_numpy(middle(x, training=True).locations), 0)
    assert (as_numpy(anywhere(x).locations) != as_numpy(anywhere(x).locations)).all()
    np.testing.assert_array_equal(as_numpy(anywhere(x, training=True).log_probabilities), 0)
    assert not any("choose" in weight.path for weight in middle.trainable_weights)
    drawn = as_numpy(anywhere(tensor(np.repeat(pictures()[:1], 997, axis=0))).locations)
    assert abs(drawn).max() <= 1
    np.testing.assert_allclose(drawn.mean((0, 1)), 0, atol=0.05)
    np.testing.assert_allclose(drawn.std((0, 1)), 3**-0.5, atol=0.03)


@pytest.mark.parametrize("locator", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_model_survives_saving_and_a_compiled_step(tmp_path, locator):
    inputs = keras.Input((H, W, C))
    glimpses = make(locator)(inputs)
    outputs = {"outputs": glimpses.outputs, "log_probabilities": glimpses.log_probabilities}
    model = keras.Model(inputs, {**outputs, "locations": glimpses.locations})
    model.compile(
        "sgd",
        loss={"outputs": "mse", "log_probabilities": "mse", "locations": None},
        jit_compile=keras.backend.backend() != "torch",
    )
    target = {"outputs": np.ones((B, T, 7)), "log_probabilities": np.ones((B, T))}
    before = {weight.path: as_numpy(weight) for weight in model.trainable_weights}
    assert np.isfinite(model.fit(pictures(), target, verbose=0).history["loss"][0])
    for weight in model.trainable_weights:
        assert (as_numpy(weight) != before[weight.path]).any(), weight.path
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    expected, found = model.predict(pictures(), verbose=0), loaded.predict(pictures(), verbose=0)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=name)
    config, twin = (each.layers[-1].get_config() for each in (model, loaded))
    for name in ("num_glimpses", "policy", "deviation", "seed"):
        assert config[name] == twin[name]


def test_mixed_precision_keeps_places_in_float32():
    exact = make()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = make()
    finally:
        keras.config.set_dtype_policy("float32")
    for training in (False, True):  # with the same draws
        expected, glimpses = (
            layer(tensor(pictures()), training=training) for layer in (exact, half)
        )
        dtypes = [keras.backend.standardize_dtype(each.dtype) for each in glimpses]
        assert dtypes == ["bfloat16", "bfloat16", "float32", "float32"]
        np.testing.assert_allclose(
            as_numpy(glimpses.locations), as_numpy(expected.locations), atol=0.02
        )
        np.testing.assert_allclose(
            as_numpy(glimpses.outputs), as_numpy(expected.outputs), atol=0.02
        )


def test_each_call_drops_anew_for_any_number_of_pictures():
    core, locator = (keras.layers.LSTMCell(units, dropout=0.5) for units in (7, 13))
    layer = GlimpseRNN(GlimpseNetwork(UNITS, G, K), core, T, locator, policy="centre")
    first, second = (as_numpy(layer(tensor(pictures()), training=True).outputs) for _ in range(2))
    assert (first != second).any()
    more = tensor(np.concatenate([pictures(), pictures()]))
    assert layer(more, training=True).outputs.shape[0] == 2 * B
    quiet = [as_numpy(layer(tensor(pictures())).outputs) for _ in range(2)]
    np.testing.assert_array_equal(*quiet)


def test_bad_arguments_say_what_was_received():
    stack = keras.layers.StackedRNNCells([keras.layers.LSTMCell(7)])
    with pytest.raises(ValueError, match="must be a single recurrent cell, got StackedRNNCells"):
        GlimpseRNN(GlimpseNetwork(5, 4), stack, T)
    with pytest.raises(ValueError, match="units and hidden must be positive, got 0 and None"):
        GlimpseNetwork(0, 4)
    with pytest.raises(ValueError, match="merge must be one of add, multiply, got 'mean'"):
        GlimpseNetwork(5, 4, merge="mean")
    with pytest.raises(
        ValueError, match="num_glimpses and deviation must be positive, got 5 and 0"
    ):
        make(deviation=0)
    with pytest.raises(ValueError, match="policy must be one of learned, centre, random, got 'a'"):
        make(policy="a")
    with pytest.raises(ValueError, match="must not be larger than the picture"):
        GlimpseNetwork(5, 16, 2)(tensor(pictures()), tensor(places()))
    with pytest.raises(ValueError, match="first_state needs a locator, got locator=None"):
        make(locator=False)(tensor(pictures()), tensor(np.zeros((B, 7), "float32")))
