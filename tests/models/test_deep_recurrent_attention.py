"""The deep recurrent attention model: what it is made of, who may know what, files."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.models import Reinforced, build_deep_recurrent_attention
from tests.models.training import ONE_STEP, check_a_step_changes_every_weight, each_way
from tests.numerics import as_numpy, gradient, gradients_of_weights

B, H, W, V, N, LOOKS, UNITS = 7, 15, 21, 5, 2, 3, 11
SIZES = {"labels": V, "length": N, "num_glimpses": LOOKS, "size": 4, "scales": 2, "units": UNITS}


def build(how=ONE_STEP, **options):
    keras.utils.set_random_seed(2)
    model = build_deep_recurrent_attention((H, W, 1), **{**SIZES, "coarse": 3, **options})
    model.compile(keras.optimizers.SGD(1.0), **how)
    return model


def examples():
    rng = np.random.default_rng(0)
    pictures = rng.uniform(size=(B, H, W, 1)).astype("float32")
    return pictures, rng.integers(V, size=(B, N))


def test_the_coarse_picture_says_where_to_begin_and_the_last_look_at_each_label_says_it():
    model, (pictures, _) = build(), examples()
    outputs = {name: as_numpy(x) for name, x in model(ops.convert_to_tensor(pictures)).items()}

    def dense(name, x):
        kernel, bias = map(as_numpy, model.get_layer(name).weights)
        return x @ kernel + bias

    coarse = pictures.reshape(B, H // 3, 3, W // 3, 3).mean((2, 4))
    context = np.tanh(dense("context", coarse.reshape(B, -1)))
    glimpses = model.get_layer("glimpses")(*map(ops.convert_to_tensor, (pictures, context)))
    lasts = as_numpy(glimpses.outputs)[:, [2, 5]]  # three glimpses at each of two labels
    np.testing.assert_allclose(outputs.pop("logits"), dense("logits", lasts), atol=1e-5)
    guesses = dense("baseline", as_numpy(glimpses.states))[..., 0]
    np.testing.assert_allclose(outputs.pop("baseline"), guesses, atol=1e-5)
    np.testing.assert_allclose(outputs.pop("locations"), as_numpy(glimpses.locations), atol=1e-5)
    densities = as_numpy(glimpses.log_probabilities)
    np.testing.assert_allclose(outputs.pop("log_probabilities"), densities, atol=1e-4)
    assert outputs == {}
    assert (lasts.shape, guesses.shape) == ((B, N, UNITS), (B, N * LOOKS))


@each_way
def test_a_fit_step_changes_every_weight(how):
    check_a_step_changes_every_weight(build(how), *examples())


def test_the_context_says_where_to_look_first_and_nothing_about_the_labels():
    model = build()
    pictures, labels = map(ops.convert_to_tensor, examples())
    model(pictures)

    def loss():
        logits = model(pictures, training=True)["logits"]
        return ops.sum(ops.sparse_categorical_crossentropy(labels, logits, from_logits=True))

    slopes = gradients_of_weights(model, loss)
    for path, slope in slopes.items():
        unseen = any(name in path for name in ("context", "locator", "choose", "baseline"))
        assert (slope == 0).all() == unseen, path
    first = as_numpy(model(pictures)["locations"])[:, 0]
    assert len(np.unique(first, axis=0)) == B


def test_it_survives_saving(tmp_path):
    model, (pictures, labels) = build(), examples()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Reinforced
    expected = model.predict(pictures, verbose=0)
    for name, value in loaded.predict(pictures, verbose=0).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-6, err_msg=name)
    loaded.fit(pictures, labels, verbose=0)


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="length must be positive, got 0"):
        build(length=0)
    with pytest.raises(ValueError, match=r"multiples of coarse = 4, got 15 × 21"):
        build(coarse=4)


def test_an_error_at_padding_costs_nothing():
    """Both labels are wrong, and the second is padding: each pick is charged with one error."""
    model, looks = build(), N * LOOKS
    logits = np.zeros((1, N, V), "float32")
    logits[..., 0] = 2
    labels = ops.convert_to_tensor(np.array([[1, 2]]))
    weight = ops.convert_to_tensor(np.array([[1.0, 0.0]], "float32"))

    def loss(log_probabilities):
        y_pred = {
            "logits": ops.convert_to_tensor(logits),
            "log_probabilities": log_probabilities,
            "baseline": ops.zeros((1, looks)),
        }
        return model.compute_loss(y=labels, y_pred=y_pred, sample_weight=weight, training=False)

    (slope,) = gradient(loss, np.zeros((1, looks), "float32"))
    np.testing.assert_allclose(slope, np.ones((1, looks)), atol=1e-6)
