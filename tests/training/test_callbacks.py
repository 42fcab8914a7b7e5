import json

import keras
import numpy as np
import pytest

from keras_attention.storage import sha256_of
from keras_attention.training import RunCheckpoint, SeedEachEpoch, StopOnDivergence


def fitted(model, seed, initial_epoch, epochs):
    """Train a model with dropout, and return its losses."""
    rows = np.random.default_rng(0).normal(size=(11, 7)).astype("float32")
    history = model.fit(
        rows,
        rows,
        batch_size=5,
        shuffle=False,
        initial_epoch=initial_epoch,
        epochs=epochs,
        callbacks=[SeedEachEpoch(seed)],
        verbose=0,
    )
    return history.history["loss"]


def dropping_model():
    keras.utils.set_random_seed(1)
    layers = [keras.Input((7,)), keras.layers.Dropout(0.5), keras.layers.Dense(7)]
    model = keras.Sequential([*layers, keras.layers.Dropout(0.3)])
    model.compile("sgd", "mse")
    return model


def test_a_training_with_dropout_goes_on_as_if_it_had_not_stopped(tmp_path):
    whole = fitted(dropping_model(), 5, 0, 4)
    begun = dropping_model()
    losses = fitted(begun, 5, 0, 2)
    begun.save(tmp_path / "begun.keras")
    keras.utils.set_random_seed(2)
    losses += fitted(keras.saving.load_model(tmp_path / "begun.keras"), 5, 2, 4)
    np.testing.assert_allclose(losses, whole, rtol=1e-6)


def test_only_pytorch_seeds_the_process_in_each_epoch(monkeypatch):
    """TensorFlow would optimize the graph of a step anew each time."""
    model, seeded = dropping_model(), []
    monkeypatch.setattr(keras.utils, "set_random_seed", seeded.append)
    fitted(model, 5, 0, 2)
    assert len(seeded) == (2 if keras.backend.backend() == "torch" else 0)


def test_every_epoch_and_every_seed_drops_otherwise():
    losses = []
    for seed, epoch in ((5, 0), (5, 1), (6, 0), (5, 0)):
        losses += fitted(dropping_model(), seed, epoch, epoch + 1)
    assert losses[0] == losses[3]
    assert len(set(losses)) == 3


def tiny_model(value=0.0):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.1), loss="mse")
    set_value(model, value)
    return model


def set_value(model, value):
    model.set_weights([np.full(w.shape, value) for w in model.get_weights()])


def run_epochs(checkpoint, values, model=None):
    """Finish epochs with these validation losses; the weights of each are its loss."""
    model = model or tiny_model()
    checkpoint.set_model(model)
    for value in values:
        set_value(model, value)
        checkpoint.on_epoch_end(checkpoint.epochs, {"masked_loss": 7.0, "val_masked_loss": value})
        if model.stop_training:
            break
    return model


def best_value(checkpoint):
    model = tiny_model()
    model.load_weights(checkpoint.last() / "best.keras")
    return model.get_weights()[0][0, 0]


def test_a_new_run_has_no_epochs(tmp_path):
    checkpoint = RunCheckpoint(tmp_path / "none")
    assert (checkpoint.epochs, checkpoint.last(), checkpoint.should_stop) == (0, None, False)
    assert not (tmp_path / "none").exists()


def test_one_of_several_processes_writes_and_all_stop_together(tmp_path):
    writer = RunCheckpoint(tmp_path / "run", patience=2)
    other = RunCheckpoint(tmp_path / "other", patience=2, writes=False)
    for checkpoint in (writer, other):
        run_epochs(checkpoint, [3.0, 2.0, 2.5, 4.0, 1.0])
    assert writer.epochs == other.epochs == 4
    assert writer.history == other.history
    assert writer.last().name == "epoch-00004"
    assert other.last() is None
    assert not (tmp_path / "other").exists()


def test_files_of_others_in_its_folder_stay(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    run_epochs(RunCheckpoint(tmp_path), [3.0, 2.0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "epoch-00002", "notes.txt"]


def test_an_epoch_without_the_value_to_monitor_says_what_is_missing(tmp_path):
    checkpoint = RunCheckpoint(tmp_path / "run")
    with pytest.raises(ValueError, match=r"needs val_masked_loss .*, got loss: .* validation_data"):
        checkpoint.on_epoch_end(0, {"loss": 1.0})


def test_a_checkpoint_holds_the_history(tmp_path):
    run_epochs(RunCheckpoint(tmp_path), [3.0, 2.0])
    found = RunCheckpoint(tmp_path)
    assert found.history == {"masked_loss": [7.0, 7.0], "val_masked_loss": [3.0, 2.0]}
    assert (found.epochs, found.best_epoch) == (2, 1)


@pytest.mark.parametrize("name", ["model.keras", "best.keras", "history.json", "sha256.json"])
def test_a_checkpoint_with_a_changed_or_missing_file_is_an_error(tmp_path, name):
    run_epochs(RunCheckpoint(tmp_path), [3.0])
    path = tmp_path / "epoch-00001" / name
    path.write_bytes(path.read_bytes() + b"7")
    with pytest.raises(ValueError, match=name):
        RunCheckpoint(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=name):
        RunCheckpoint(tmp_path)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([1], r"the contents must be an object, got \[1\]"),
        ({"val_masked_loss": 3}, "val_masked_loss must be a list, got 3"),
        ({"val_masked_loss": ["a"]}, r"val_masked_loss\[0\] must be a number, got 'a'"),
        ({}, "expected a curve val_masked_loss of all epochs, got epochs {}"),
        (
            {"val_masked_loss": [1.0], "loss": [1.0, 2.0]},
            "expected a curve val_masked_loss of all ep",
        ),
    ],
)
def test_a_history_of_another_form_is_an_error(tmp_path, history, message):
    run_epochs(RunCheckpoint(tmp_path), [3.0])
    path = tmp_path / "epoch-00001" / "history.json"
    path.write_text(json.dumps(history))
    hashes = path.with_name("sha256.json")
    hashes.write_text(json.dumps({**json.loads(hashes.read_text()), path.name: sha256_of(path)}))
    with pytest.raises(ValueError, match=rf"history\.json: {message}"):
        RunCheckpoint(tmp_path)


def test_only_the_last_checkpoint_is_kept(tmp_path):
    run_epochs(RunCheckpoint(tmp_path), [3.0, 2.0])
    (tmp_path / "epoch-00001").mkdir()  # a kill has left half of it
    (tmp_path / ".partial-epoch-00003").mkdir()
    run_epochs(RunCheckpoint(tmp_path), [1.0])
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00003"]
    names = sorted(path.name for path in (tmp_path / "epoch-00003").iterdir())
    assert names == ["best.keras", "history.json", "model.keras", "sha256.json"]


def test_a_checkpoint_holds_the_last_model_and_the_best_weights(tmp_path):
    run_epochs(RunCheckpoint(tmp_path, patience=5), [3.0, 2.0, 2.5, 4.0])
    found = RunCheckpoint(tmp_path)
    assert best_value(found) == 2.0
    assert found.best_epoch == 1
    last = keras.saving.load_model(found.last() / "model.keras", compile=False)
    assert last.get_weights()[0][0, 0] == 4.0


def test_the_optimizer_goes_on_where_it_was(tmp_path):
    data = {"x": np.eye(3), "y": np.ones((3, 2)), "shuffle": False, "verbose": 0}
    model = tiny_model()
    model.fit(**data, epochs=5)
    interrupted = tiny_model()
    interrupted.fit(**data, epochs=2)
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.set_model(interrupted)
    checkpoint.on_epoch_end(1, {"val_masked_loss": 1.0})
    resumed = keras.saving.load_model(checkpoint.last() / "model.keras")
    resumed.fit(**data, epochs=3)
    for one, other in zip(resumed.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_training_stops_when_nothing_improves(tmp_path):
    checkpoint = RunCheckpoint(tmp_path, patience=2)
    model = run_epochs(checkpoint, [3.0, 2.0, 2.5, 2.0, 1.0])
    assert model.stop_training
    assert checkpoint.history["val_masked_loss"] == [3.0, 2.0, 2.5, 2.0]
    assert RunCheckpoint(tmp_path, patience=2).should_stop
    assert not RunCheckpoint(tmp_path, patience=3).should_stop


def test_a_loss_that_is_no_number_is_never_the_best(tmp_path):
    checkpoint = RunCheckpoint(tmp_path, patience=2)
    run_epochs(checkpoint, [3.0, 2.0, float("nan"), float("nan"), 1.0])
    assert (checkpoint.epochs, checkpoint.best_epoch) == (4, 1)
    assert best_value(checkpoint) == 2.0


def test_a_run_in_two_parts_leaves_what_a_run_in_one_part_leaves(tmp_path):
    values = [3.0, 2.0, 2.5, 1.0, 1.5]
    run_epochs(RunCheckpoint(tmp_path / "one"), values)
    run_epochs(RunCheckpoint(tmp_path / "two"), values[:3])
    run_epochs(RunCheckpoint(tmp_path / "two"), values[3:])
    one, two = RunCheckpoint(tmp_path / "one"), RunCheckpoint(tmp_path / "two")
    assert one.history == two.history
    assert one.last().name == two.last().name == "epoch-00005"
    assert best_value(one) == best_value(two) == 1.0


def test_an_interrupted_save_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    checkpoint = RunCheckpoint(tmp_path)
    model = run_epochs(checkpoint, [3.0])
    save = model.save

    def save_and_stop(path):
        save(path)
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        run_epochs(checkpoint, [2.0], model)
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00001"]
    assert RunCheckpoint(tmp_path).history["val_masked_loss"] == [3.0]


@pytest.mark.parametrize("size", [0, 3001, 12_007])
def test_a_full_disk_is_an_oserror_and_leaves_the_checkpoint_before(tmp_path, full_disk, size):
    checkpoint = RunCheckpoint(tmp_path)
    model = run_epochs(checkpoint, [3.0])
    with full_disk(size), pytest.raises(OSError, match=r"\S"):
        run_epochs(checkpoint, [2.0], model)
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00001"]
    assert RunCheckpoint(tmp_path).history["val_masked_loss"] == [3.0]


def test_a_save_that_was_killed_does_not_hinder_the_next(tmp_path):
    run_epochs(RunCheckpoint(tmp_path), [3.0])
    (tmp_path / ".partial-epoch-00002").mkdir()
    (tmp_path / ".partial-epoch-00002" / "model.keras").write_text("half")
    checkpoint = RunCheckpoint(tmp_path)
    assert checkpoint.epochs == 1
    run_epochs(checkpoint, [2.0])
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00002"]


def test_the_history_is_json_that_a_reader_can_open(tmp_path):
    checkpoint = RunCheckpoint(tmp_path)
    run_epochs(checkpoint, [np.float32(0.5)])
    assert json.loads((checkpoint.last() / "history.json").read_text())["val_masked_loss"] == [0.5]


# Divergence


def fit_with_losses(*losses):
    """Fit a model that learns nothing, on batches that each cost what is given; return the mean."""
    cost = keras.Input((1,))
    same = keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)
    model = keras.Model(cost, same(cost))
    model.compile(keras.optimizers.SGD(0.0), loss=lambda y_true, y_pred: y_pred, jit_compile=False)
    numbers = np.array(losses, "float32")[:, None]
    history = model.fit(
        numbers,
        numbers,
        batch_size=1,
        shuffle=False,
        verbose=0,
        callbacks=[StopOnDivergence()],
    )
    return history.history["loss"]


def test_numbers_that_are_finite_go_on():
    assert fit_with_losses(1e30, -7.0, 0.0) == pytest.approx([1e30 / 3])
    assert fit_with_losses(5.0, -7.0, 0.0) == pytest.approx([-2 / 3])


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_at_its_step(odd):
    with pytest.raises(ValueError, match=rf"the loss is {odd} at step 3\. Try a smaller"):
        fit_with_losses(5.0, 7.0, odd, 3.0)


def test_the_steps_of_several_fits_and_of_several_at_once_are_counted():
    together, wrong = (1, 48) if keras.backend.backend() == "torch" else (5, 50)
    cost = keras.Input((1,))
    model = keras.Model(cost, keras.layers.Dense(1, use_bias=False)(cost))
    model.compile(keras.optimizers.SGD(0.0), "mse", steps_per_execution=together, jit_compile=False)
    numbers = np.ones((20, 1), "float32")
    watch = StopOnDivergence()
    fit = {"batch_size": 1, "shuffle": False, "verbose": 0, "callbacks": [watch]}
    model.fit(numbers, numbers, epochs=2, **fit)
    numbers[7] = float("nan")
    with pytest.raises(ValueError, match=rf"the loss is nan at step {wrong}\."):
        model.fit(numbers, numbers, **fit)
