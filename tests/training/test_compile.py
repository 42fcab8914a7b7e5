import keras
import numpy as np
import pytest

from keras_attention.training import (
    Adam,
    MaskedCrossentropy,
    Muon,
    WarmUp,
    compile_for_training,
    steps_at_once,
    uses_xla,
)
from tests.numerics import as_numpy

V = 11  # words


def word_by_word():
    """A model in which each word hangs on one word of the context: the smallest that can learn."""
    keras.utils.set_random_seed(7)
    inputs = keras.Input((7,), dtype="int32")
    x = keras.layers.Embedding(V, 5)(inputs)
    return keras.Model(inputs, keras.layers.Dense(V)(x))


def test_compiled_with_warm_up_adam_is_that_of_the_paper():
    model = word_by_word()
    compile_for_training(model, 0.3, warm_up=3, decay_steps=11, label_smoothing=0.1)
    optimizer = model.optimizer.get_config()
    assert (optimizer["beta_1"], optimizer["beta_2"], optimizer["epsilon"]) == (0.9, 0.98, 1e-9)
    schedule = optimizer["learning_rate"]["config"]
    assert schedule == {"peak": 0.3, "warm_up": 3, "decay_steps": 11}
    assert model.loss.label_smoothing == 0.1


def test_compiled_without_warm_up_adam_is_that_of_keras():
    model = word_by_word()
    compile_for_training(model, 0.01)
    ours, theirs = model.optimizer.get_config(), keras.optimizers.Adam(0.01).get_config()
    assert {**ours, "name": 0} == {**theirs, "name": 0}
    assert model.loss.label_smoothing == 0
    assert model.jit_compile == uses_xla()


@pytest.mark.parametrize("warm_up", [0, 3])
@pytest.mark.parametrize(("name", "kind"), [("adam", Adam), ("muon", Muon)])
def test_optimizer_and_weight_decay_are_those_that_were_chosen(name, kind, warm_up):
    model = word_by_word()
    compile_for_training(model, optimizer=name, weight_decay=0.2, warm_up=warm_up)
    assert type(model.optimizer) is kind
    assert model.optimizer.weight_decay == 0.2


def test_an_unknown_optimizer_is_an_error():
    with pytest.raises(ValueError, match="optimizer must be one of adam, muon, got 'sgd'"):
        compile_for_training(word_by_word(), optimizer="sgd")


@pytest.mark.parametrize("device", ["cpu", "gpu", "tpu"])
def test_xla_compiles_on_jax_and_for_the_accelerators_of_tensorflow(device, monkeypatch):
    expected = {"tensorflow": device != "cpu", "jax": True, "torch": False}
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: [f"{device}:0"])
    assert uses_xla() == expected[keras.backend.backend()]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow traces twice")
def test_a_step_is_traced_once(monkeypatch):
    """Also the first one: the variables of optimizer and metrics are there beforehand."""
    model = word_by_word()
    compile_for_training(model, jit_compile=False)
    traced = []
    train_step = model.train_step
    monkeypatch.setattr(model, "train_step", lambda data: traced.append(data) or train_step(data))
    ids = np.ones((4, 7), "int32")
    model.fit(ids, ids, batch_size=2, epochs=2, verbose=0)
    assert len(traced) == 1


def test_compiling_leaves_the_metrics_as_if_nothing_had_been_seen():
    model = word_by_word()
    compile_for_training(model)
    assert [float(np.sum(as_numpy(each))) for each in model.metrics_variables] == [0.0] * 6


def test_the_metrics_are_those_of_the_answers_themselves():
    """A smoothed loss cannot be compared with another; the metrics can."""
    model = word_by_word()
    compile_for_training(model, label_smoothing=0.1)
    ids = np.array([[1, 2, 3, 4, 5, 6, 7]], "int32")
    found = model.evaluate(ids, ids, verbose=0, return_dict=True)
    logits = model.predict_on_batch(ids)
    expected = float(MaskedCrossentropy()(ids, logits))
    assert found["masked_loss"] == pytest.approx(expected, rel=1e-5)
    smoothed = float(MaskedCrossentropy(0.1)(ids, logits))
    assert found["loss"] == pytest.approx(smoothed, rel=1e-5)
    assert smoothed != pytest.approx(expected, rel=1e-5)


def test_a_saved_training_goes_on_with_its_schedule_and_its_smoothing(tmp_path):
    ids = np.random.default_rng(0).integers(1, V, (4, 7), "int32")
    data = {"x": ids, "y": ids[:, ::-1], "batch_size": 4, "shuffle": False, "verbose": 0}
    options = {"warm_up": 3, "decay_steps": 11, "label_smoothing": 0.1}
    whole, interrupted = word_by_word(), word_by_word()
    for model in (whole, interrupted):
        compile_for_training(model, 0.3, **options)
    losses = whole.fit(**data, epochs=7).history["loss"]
    interrupted.fit(**data, epochs=4)
    interrupted.save(tmp_path / "model.keras")
    resumed = keras.saving.load_model(tmp_path / "model.keras")
    assert int(resumed.optimizer.iterations) == 4
    assert float(resumed.optimizer.learning_rate) == pytest.approx(float(WarmUp(0.3, 3, 11)(4)))
    assert resumed.loss.label_smoothing == 0.1
    ours, theirs = resumed.optimizer.get_config(), whole.optimizer.get_config()
    assert {**ours, "name": 0} == {**theirs, "name": 0}
    rest = resumed.fit(**data, epochs=3).history["loss"]
    np.testing.assert_allclose(rest, losses[4:], rtol=1e-5)
    for one, other in zip(resumed.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_decay_without_a_warm_up_is_an_error():
    with pytest.raises(ValueError, match="decay_steps=3 needs a warm_up of at least 1 step"):
        compile_for_training(keras.Sequential([keras.layers.Dense(1)]), decay_steps=3)


@pytest.mark.parametrize(("steps", "expected"), [(100, 5), (8, 4), (7, 1), (1, 1)])
def test_as_many_steps_at_once_as_divide_an_epoch(steps, expected):
    assert steps_at_once(steps) == (expected if keras.backend.backend() == "tensorflow" else 1)


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras refuses more than one")
def test_steps_at_once_learn_what_they_learn_one_by_one():
    """Also where the batches of validation are no multiple of them."""
    ids = np.random.default_rng(0).integers(1, V, (12, 7), "int32")
    batches = {"batch_size": 2, "shuffle": False, "verbose": 0}
    validation = ids[:6, ::-1], ids[:6]

    def trained(count):
        model = word_by_word()
        compile_for_training(model, 0.1, steps_per_execution=count)
        found = model.fit(ids, ids[:, ::-1], **batches, epochs=2, validation_data=validation)
        assert int(model.optimizer.iterations) == 12
        return found.history, model.get_weights()

    history, weights = trained(2)
    expected, expected_weights = trained(1)
    assert set(history) == set(expected)
    for name, values in history.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-5)
    for one, other in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
