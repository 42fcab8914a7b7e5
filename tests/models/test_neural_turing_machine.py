"""The machine as a model, and its view with the tapes."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.models import build_neural_turing_machine, tapes
from tests.models.training import each_way
from tests.numerics import as_numpy, gradients_of_weights

B, T, F, BITS = 2, 5, 7, 3
SIZES = {
    "channels": F,
    "bits": BITS,
    "rows": 13,
    "width": 11,
    "units": 17,
    "read_heads": 1,
    "write_heads": 2,
}

each_controller = pytest.mark.parametrize(
    "controller", ["feed_forward", pytest.param("lstm", marks=pytest.mark.thorough)]
)


def build(**changes):
    keras.utils.set_random_seed(3)
    return build_neural_turing_machine(**{**SIZES, **changes})


def draw(length=T):
    return np.random.default_rng(0).normal(size=(B, length, F)).astype("float32")


def outputs_of(model, x):
    return {name: as_numpy(value) for name, value in model(ops.convert_to_tensor(x)).items()}


def test_has_the_parameters_of_the_paper_s_sizes():
    machine = build_neural_turing_machine()
    controller, places = (9 + 20 + 1) * 100, 20 + 2 * 128
    heads, logits = 101 * (26 + 66), (100 + 20 + 1) * 8  # M + 6 and 3 M + 6 numbers
    assert machine.count_params() == controller + places + heads + logits


def test_the_tapes_are_a_view_over_the_same_layers():
    model = build()
    seen, x = outputs_of(tapes(model), draw()), draw()
    np.testing.assert_allclose(as_numpy(model(ops.convert_to_tensor(x))), seen["logits"], atol=1e-6)
    assert seen["logits"].shape == (B, T, BITS)
    assert seen["read_weights"].shape == (B, T, 1, 13)
    assert seen["write_weights"].shape == (B, T, 2, 13)
    for name in ("read_weights", "write_weights"):
        np.testing.assert_allclose(seen[name].sum(-1), 1, rtol=1e-5, err_msg=name)
    assert tapes(model).count_params() == model.count_params()


@each_controller
def test_is_the_same_after_saving_and_as_json(controller, tmp_path):
    biases = {"gate_bias": -1.0, "stay_bias": 1.0, "sharp_bias": 1.0}
    settings = {"start": "first_row", "focus": 2.0, **biases}
    model = build(controller=controller, learned_memory=True, **settings)
    expected = outputs_of(tapes(model), draw())
    model.save(tmp_path / "machine.keras")
    twin = keras.models.model_from_json(model.to_json())
    twin.set_weights(model.get_weights())
    for other in (keras.saving.load_model(tmp_path / "machine.keras"), twin):
        for name, value in outputs_of(tapes(other), draw()).items():
            np.testing.assert_allclose(value, expected[name], atol=1e-6, err_msg=name)


def test_what_comes_later_changes_nothing():
    view = tapes(build())
    short, long = (
        outputs_of(view, draw()),
        outputs_of(view, np.pad(draw(), [(0, 0), (0, 4), (0, 0)])),
    )
    for name, value in short.items():
        np.testing.assert_allclose(long[name][:, :T], value, atol=1e-6, err_msg=name)


@each_controller
def test_the_gradient_reaches_every_weight(controller):
    model = build(controller=controller, learned_memory=True)
    x = ops.convert_to_tensor(draw())
    model(x)
    gradients = gradients_of_weights(model, lambda: ops.sum(ops.square(model(x) - 1.0)))
    for path, value in gradients.items():
        assert np.isfinite(value).all(), path
        assert (value != 0).any(), path


@each_way
def test_fit_learns(how):
    model = build()
    target = np.random.default_rng(1).integers(0, 2, size=(B, T, BITS)).astype("float32")
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss=loss, **how)
    losses = model.fit(draw(), target, epochs=5, batch_size=B, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="channels must be positive, got 0"):
        build(channels=0)
    with pytest.raises(ValueError, match="bits must be positive, got 0"):
        build(bits=0)
    with pytest.raises(ValueError, match="rows must be positive, got 0"):
        build(rows=0)
