"""Steps that divide a batch learn and report what the undivided steps do."""

import keras
import numpy as np
import pytest

from keras_attention import kernels, models
from keras_attention.kernels import choice
from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss
from tests.numerics import as_numpy

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the other backends do not divide their steps"
)

WORDS, ROWS = 11, 7
SIZES = {"units": 8, "num_layers": 1, "num_heads": 2, "feed_forward_dim": 12}


def cores(count, monkeypatch, threads=1, operations=0):
    """Let there be so many cores, and say how many threads TensorFlow has: 0 for its default."""
    threading = tf.config.threading
    monkeypatch.setattr(choice, "count_of_cores", lambda: count)
    monkeypatch.setattr(threading, "get_intra_op_parallelism_threads", lambda: threads)
    monkeypatch.setattr(threading, "get_inter_op_parallelism_threads", lambda: operations)


def compiled(build=models.build_transformer, dropout=0.0, loss=None, jit_compile=False):
    """Not with Adam, which would make large steps of rounding where a gradient is 0."""
    keras.utils.set_random_seed(3)
    of_transformer = build is models.build_transformer
    sizes = {**SIZES, "dropout": dropout} if of_transformer else {"units": 8}
    model = build(WORDS, WORDS, **sizes)
    model.compile(
        keras.optimizers.SGD(0.3),
        loss=loss or MaskedCrossentropy(label_smoothing=0.1),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=jit_compile,
    )
    return model


def batch(rows=ROWS):
    """Sentences of unequal length, so that the parts have unequal numbers of tokens."""
    rng = np.random.default_rng(5)
    context, target, labels = rng.integers(1, WORDS, (3, rows, 5), dtype="int32")
    for row, length in enumerate(rng.integers(1, 5, rows)):
        context[row, length:] = target[row, length:] = labels[row, length:] = 0
    return {"context": context, "target": target}, labels


def after_training(model, x, y, sample_weight=None):
    """Train for three epochs of one batch; return the history with validation, and the weights."""
    history = model.fit(
        x,
        y,
        sample_weight=sample_weight,
        validation_data=(x, y) if sample_weight is None else (x, y, sample_weight),
        epochs=3,
        batch_size=ROWS,
        shuffle=False,
        verbose=0,
    )
    return history.history, model.get_weights()


def assert_the_same(one, other):
    assert one[0].keys() == other[0].keys()
    for name, values in one[0].items():
        np.testing.assert_allclose(values, other[0][name], rtol=1e-5, err_msg=name)
    for values, others in zip(one[1], other[1], strict=True):
        np.testing.assert_allclose(values, others, atol=2e-5)


@pytest.mark.parametrize(
    ("build", "count"), [(models.build_transformer, 2), (models.build_rnn_attention, 3)]
)
def test_divided_steps_learn_and_report_what_undivided_ones_do(build, count, monkeypatch):
    expected = after_training(compiled(build), *batch())
    cores(count, monkeypatch)
    model = compiled(build)
    assert kernels.kernel_for_steps(model).count == count
    assert_the_same(after_training(model, *batch()), expected)


def test_weights_of_tokens_and_of_words_count_over_the_whole_batch(monkeypatch):
    weights = np.random.default_rng(8).uniform(0, 3, (ROWS, 5)).astype("float32")

    def trained():
        loss = MaskedCrossentropy(class_weight={3: 5.0, 4: 0.0})
        return after_training(compiled(loss=loss), *batch(), weights)

    expected = trained()
    cores(2, monkeypatch)
    assert_the_same(trained(), expected)


def test_a_part_may_be_empty_or_hold_only_padding(monkeypatch):
    inputs, labels = batch(rows=2)
    labels[1] = 0
    expected = after_training(compiled(), inputs, labels)
    cores(3, monkeypatch)
    found = after_training(compiled(), inputs, labels)
    assert np.isfinite(found[0]["loss"]).all()
    assert_the_same(found, expected)


def test_each_part_drops_at_random(monkeypatch):
    cores(2, monkeypatch)
    model = compiled(dropout=0.3)
    steps, (inputs, labels) = kernels.kernel_for_steps(model), batch(rows=1)
    twice = {name: np.repeat(ids, 2, axis=0) for name, ids in inputs.items()}
    parts = steps._divided((twice, np.repeat(labels, 2, axis=0)))
    _, alike = steps._loss_of(parts, training=False)
    _, dropped = steps._loss_of(parts, training=True)
    np.testing.assert_allclose(*map(as_numpy, alike), atol=1e-6)
    assert np.abs(as_numpy(dropped[0]) - as_numpy(dropped[1])).max() > 1e-3


def test_single_batches_are_divided_too(monkeypatch):
    inputs, labels = batch()
    expected = compiled().train_on_batch(inputs, labels), compiled().test_on_batch(inputs, labels)
    cores(2, monkeypatch)
    found = compiled().train_on_batch(inputs, labels), compiled().test_on_batch(inputs, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_default_dtype_may_be_float64(monkeypatch):
    before = keras.config.floatx()
    cores(2, monkeypatch)
    keras.config.set_floatx("float64")
    try:
        history, _ = after_training(compiled(), *batch())
    finally:
        keras.config.set_floatx(before)
    assert history["loss"][-1] < history["loss"][0]


def test_a_saved_model_divides_its_steps(monkeypatch, tmp_path):
    cores(2, monkeypatch)
    model = compiled()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert kernels.kernel_for_steps(loaded).count == 2
    assert_the_same(after_training(loaded, *batch()), after_training(model, *batch()))


@pytest.mark.parametrize(
    ("count", "operations", "parts"), [(2, 0, 2), (3, 0, 3), (16, 0, 4), (4, 3, 3), (2, 8, 2)]
)
def test_there_are_as_many_parts_as_operations_at_once(count, operations, parts, monkeypatch):
    """But at most four, and no more than there are cores."""
    cores(count, monkeypatch, operations=operations)
    assert kernels.kernel_for_steps(compiled()).count == parts


@pytest.mark.parametrize(
    "why",
    [
        *("threads as TensorFlow has them", "several threads", "one operation", "a gpu"),
        *("xla", "eager", "sum", "other loss", "regularizer"),
    ],
)
def test_other_steps_are_those_of_keras(why, monkeypatch):
    threads = {"threads as TensorFlow has them": 0, "several threads": 2}
    cores(2, monkeypatch, threads.get(why, 1), operations=int(why == "one operation"))
    losses = {
        "sum": MaskedCrossentropy(reduction="sum"),
        "other loss": keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        ),
    }
    model = compiled(loss=losses.get(why), jit_compile=why == "xla")
    model.run_eagerly = why == "eager"
    if why == "regularizer":
        model.trainable_weights[0].regularizer = keras.regularizers.L2(0.1)
    if why == "a gpu":
        monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    assert kernels.kernel_for_steps(model) is None


def test_under_tf_distribute_steps_are_those_of_keras(monkeypatch):
    cores(2, monkeypatch)
    model = compiled()
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        assert kernels.kernel_for_steps(model) is None
    assert kernels.kernel_for_steps(model) is not None
