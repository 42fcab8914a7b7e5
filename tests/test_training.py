import json

import keras
import numpy as np
import pytest

from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss, RunCheckpoint

# Two batches of sentences (B, T) over V words, of unequal size and padded unequally.
V = 11
LENGTHS = [(5, 2, 7), (1, 0)]
RNG = np.random.default_rng(0)
LOGITS = [RNG.normal(0, 3, (len(each), 7, V)).astype("float32") for each in LENGTHS]
LABELS = [
    np.array([[*RNG.integers(1, V, length), *[0] * (7 - length)] for length in each], "int32")
    for each in LENGTHS
]


def crossentropies(labels, logits):
    """Return −ln p of every real token, from the definition, in float64."""
    logits = logits.astype("float64")
    return [
        np.log(np.exp(logits[b, t]).sum()) - logits[b, t, label]
        for b, row in enumerate(labels)
        for t, label in enumerate(row)
        if label != 0
    ]


def hits(labels, logits):
    return [
        logits[b, t].argmax() == label
        for b, row in enumerate(labels)
        for t, label in enumerate(row)
        if label != 0
    ]


def measured(metric, batches):
    for labels, logits in batches:
        metric.update_state(labels, logits)
    return float(metric.result())


def test_the_loss_is_the_mean_over_the_real_tokens():
    for labels, logits in zip(LABELS, LOGITS, strict=True):
        loss = float(MaskedCrossentropy()(labels, logits))
        assert loss == pytest.approx(np.mean(crossentropies(labels, logits)), rel=1e-5)


def test_an_even_guess_costs_ln_v():
    assert float(MaskedCrossentropy()(LABELS[0], np.zeros((3, 7, V)))) == pytest.approx(np.log(V))


def test_the_metrics_count_every_token_of_every_batch_the_same():
    batches = list(zip(LABELS, LOGITS, strict=True))
    tokens = [value for batch in batches for value in crossentropies(*batch)]
    assert len(tokens) == 15
    assert measured(MaskedLoss(), batches) == pytest.approx(np.mean(tokens), rel=1e-5)
    right = [value for batch in batches for value in hits(*batch)]
    assert 0 < sum(right) < 15
    assert measured(MaskedAccuracy(), batches) == pytest.approx(np.mean(right))


@pytest.mark.parametrize("make", [MaskedCrossentropy, MaskedLoss, MaskedAccuracy])
def test_padding_counts_for_nothing(make):
    labels, logits = LABELS[0], LOGITS[0]
    other = np.where(labels[..., None] == 0, 100 * np.arange(V, dtype="float32"), logits)
    longer = np.pad(logits, [(0, 2), (0, 3), (0, 0)], constant_values=5)
    padded = np.pad(labels, [(0, 2), (0, 3)])
    expected = float(make()(labels, logits))
    assert float(make()(labels, other)) == pytest.approx(expected, rel=1e-6)
    assert float(make()(padded, longer)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("make", [MaskedCrossentropy, MaskedLoss, MaskedAccuracy])
def test_nothing_but_padding_is_0_and_no_nan(make):
    assert float(make()(np.zeros((2, 3), "int32"), np.ones((2, 3, V), "float32"))) == 0.0


def test_padding_has_no_gradient():
    inputs = keras.Input((7,), dtype="int32")
    embedding = keras.layers.Embedding(V, V, embeddings_initializer="zeros")
    model = keras.Model(inputs, embedding(inputs))
    model.compile(keras.optimizers.SGD(1.0), loss=MaskedCrossentropy())
    before = np.array(embedding.get_weights()[0])
    # Words 1 to 4 stand where the label is padding, word 5 where it is not.
    ids = np.array([[5, 1, 2, 3, 4, 1, 2]], dtype="int32")
    labels = np.array([[6, 0, 0, 0, 0, 0, 0]], dtype="int32")
    model.fit(ids, labels, verbose=0)
    changed = np.flatnonzero((embedding.get_weights()[0] != before).any(axis=1))
    np.testing.assert_array_equal(changed, [5])


@pytest.mark.parametrize("make", [MaskedCrossentropy, MaskedLoss, MaskedAccuracy])
def test_loss_and_metrics_are_known_to_keras_by_name(make):
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(make()))
    assert type(restored) is make
    assert restored.name == make().name


# Checkpoints


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


def test_a_checkpoint_holds_the_history(tmp_path):
    run_epochs(RunCheckpoint(tmp_path), [3.0, 2.0])
    found = RunCheckpoint(tmp_path)
    assert found.history == {"masked_loss": [7.0, 7.0], "val_masked_loss": [3.0, 2.0]}
    assert (found.epochs, found.best_epoch) == (2, 1)


def test_only_the_last_checkpoint_is_kept(tmp_path):
    run_epochs(RunCheckpoint(tmp_path), [3.0, 2.0, 1.0])
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00003"]
    names = sorted(path.name for path in (tmp_path / "epoch-00003").iterdir())
    assert names == ["best.keras", "history.json", "model.keras"]


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
