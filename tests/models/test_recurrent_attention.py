"""The recurrent attention model: what it is made of, files, and what its training reaches."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.models import Reinforced, build_recurrent_attention
from tests.models.training import ONE_STEP, check_a_step_changes_every_weight, each_way
from tests.numerics import as_numpy, gradient

B, H, W, V, T, UNITS = 7, 17, 19, 5, 3, 11
SIZES = {"labels": V, "num_glimpses": T, "size": 4, "scales": 2, "units": UNITS}


def build(how=ONE_STEP, **options):
    keras.utils.set_random_seed(2)
    model = build_recurrent_attention((H, W, 1), **{**SIZES, **options})
    model.compile(keras.optimizers.SGD(1.0), **how)
    return model


def examples():
    rng = np.random.default_rng(0)
    return rng.uniform(size=(B, H, W, 1)).astype("float32"), np.arange(B) % V


def test_the_last_look_says_the_label_and_every_state_has_a_baseline():
    model, (pictures, _) = build(), examples()
    outputs = {name: as_numpy(x) for name, x in model(ops.convert_to_tensor(pictures)).items()}
    glimpses = model.get_layer("glimpses")(ops.convert_to_tensor(pictures))
    kernel, bias = map(as_numpy, model.get_layer("logits").weights)
    last = as_numpy(glimpses.outputs)[:, -1]
    np.testing.assert_allclose(outputs.pop("logits"), last @ kernel + bias, atol=1e-6)
    kernel, bias = map(as_numpy, model.get_layer("baseline").weights)
    guesses = (as_numpy(glimpses.states) @ kernel + bias)[..., 0]
    np.testing.assert_allclose(outputs.pop("baseline"), guesses, atol=1e-6)
    np.testing.assert_array_equal(outputs.pop("locations"), as_numpy(glimpses.locations))
    densities = as_numpy(glimpses.log_probabilities)
    np.testing.assert_array_equal(outputs.pop("log_probabilities"), densities)
    assert outputs == {}
    assert (last.shape, guesses.shape, kernel.shape) == ((B, UNITS), (B, T), (6, 1))


@pytest.mark.parametrize("policy", ["learned", pytest.param("centre", marks=pytest.mark.thorough)])
@each_way
def test_a_fit_step_changes_every_weight(how, policy):
    # where nothing is chosen there is no locator to train, and all places are 0
    still = ("locator", "place/", "where/kernel") if policy == "centre" else ()
    check_a_step_changes_every_weight(build(how, policy=policy), *examples(), still)


def test_the_picks_are_charged_with_errors_each_against_a_baseline_of_its_own():
    """By hand: two pictures, one is right; Σ_t (c − b_t) ln p_t, and the baselines' error."""
    model = build()
    logits = ops.convert_to_tensor([[2.0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0]])
    baseline = np.array([[0.5, 0.25, 0.0], [0.5, 0.25, 1.0]], "float32")

    def loss(log_probabilities, baseline):
        y_pred = {
            "logits": logits,
            "log_probabilities": log_probabilities,
            "baseline": baseline,
        }
        labels = ops.convert_to_tensor(np.array([0, 1]))
        return model.compute_loss(y=labels, y_pred=y_pred, training=True)

    costs = np.array([[0.0], [1.0]])
    chosen, fitted = gradient(loss, np.zeros((2, T), "float32"), baseline)
    np.testing.assert_allclose(chosen, (costs - baseline) / 2, atol=1e-6)
    np.testing.assert_allclose(fitted, 2 * (baseline - costs) / 2, atol=1e-6)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a graph is TensorFlow's")
def test_a_graph_takes_batches_of_any_size():
    import tensorflow as tf

    model, (pictures, _) = build(), examples()
    signature = [tf.TensorSpec((None, H, W, 1), "float32")]
    graph = tf.function(lambda x: model(x, training=True), input_signature=signature)
    for batch in (1, B):
        assert graph(pictures[:batch])["logits"].shape == (batch, V)


def test_it_survives_saving(tmp_path):
    model, (pictures, labels) = build(), examples()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Reinforced
    assert (loaded.cost, loaded.baseline) == ("errors", "learned")
    expected = model.predict(pictures, verbose=0)
    for name, value in loaded.predict(pictures, verbose=0).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-6, err_msg=name)
    loaded.fit(pictures, labels, verbose=0)
    loaded.set_weights(model.get_weights())
    loaded.save_weights(tmp_path / "loaded.weights.h5")
    build().load_weights(tmp_path / "loaded.weights.h5")


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="units must be positive, got 0"):
        build(units=0)
    with pytest.raises(ValueError, match="must not be larger than the picture"):
        build(scales=4)
    with pytest.raises(ValueError, match="policy must be one of"):
        build(policy="best")
    inputs = keras.Input((3,))
    outputs = {"logits": keras.layers.Dense(2)(inputs), "log_probabilities": inputs}
    with pytest.raises(ValueError, match="cost must be one of likelihood, errors, got 'money'"):
        Reinforced(inputs, outputs, cost="money")
    with pytest.raises(ValueError, match="entropy_weight must be 0 where there is no distribut"):
        Reinforced(inputs, outputs, entropy_weight=0.5)
