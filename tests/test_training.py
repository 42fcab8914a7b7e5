import json

import keras
import numpy as np
import pytest

from keras_attention.training import (
    MaskedAccuracy,
    MaskedCrossentropy,
    MaskedLoss,
    RunCheckpoint,
    SeedEachEpoch,
    StopOnDivergence,
    WarmUp,
    compile_for_training,
    vaswani_peak,
)
from tests.numerics import as_numpy, gradient

# Two batches of sentences (B, T) over V words: of unequal size, padded unequally and to other T.
V = 11
LENGTHS, PLACES = [(5, 2, 7), (1, 0)], (7, 3)
RNG = np.random.default_rng(0)
LOGITS = [
    RNG.normal(0, 3, (len(each), places, V)).astype("float32")
    for each, places in zip(LENGTHS, PLACES, strict=True)
]
LABELS = [
    np.array([[*RNG.integers(1, V, length), *[0] * (places - length)] for length in each], "int32")
    for each, places in zip(LENGTHS, PLACES, strict=True)
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


# Weights


def oracle_of_weights(labels, logits, weights):
    """Return Σ w l / Σ w over the real tokens of a batch, for weights (B, T)."""
    real = weights[labels != 0]
    return (real * crossentropies(labels, logits)).sum() / real.sum()


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 7)])
def test_sentences_and_tokens_have_weights(shape):
    labels, logits = LABELS[0], LOGITS[0]
    weights = np.random.default_rng(2).uniform(0.1, 3, shape).astype("float32")
    every = np.broadcast_to(weights[:, None] if weights.ndim == 1 else weights, labels.shape)
    expected = oracle_of_weights(labels, logits, every)
    assert float(MaskedCrossentropy()(labels, logits, weights)) == pytest.approx(expected, rel=1e-5)
    assert float(MaskedLoss()(labels, logits, weights)) == pytest.approx(expected, rel=1e-5)
    right = np.average(hits(labels, logits), weights=every[labels != 0])
    assert float(MaskedAccuracy()(labels, logits, weights)) == pytest.approx(right, rel=1e-5)


def test_weights_of_another_shape_say_what_was_expected():
    for shape in [(3, 6), (3, 7, 1)]:
        with pytest.raises(ValueError, match=r"shape \(B,\) or \(B, T\), here \(3, 7\), got \(3, "):
            MaskedCrossentropy()(LABELS[0], LOGITS[0], np.ones(shape))


@pytest.mark.parametrize("word", [-1, V])
def test_a_weight_of_no_word_is_an_error(word):
    with pytest.raises(ValueError, match=f"class_weight must have ids from 0 to 10, got {word}"):
        MaskedCrossentropy(class_weight={word: 2.0})(LABELS[0], LOGITS[0])


def test_words_have_weights():
    labels, logits = LABELS[0], LOGITS[0]
    heavy, light = labels[0, 0], labels[2, 1]
    assert heavy != light
    loss = MaskedCrossentropy(class_weight={int(heavy): 3.0, int(light): 0.25})
    every = np.where(labels == heavy, 3.0, np.where(labels == light, 0.25, 1.0))
    expected = oracle_of_weights(labels, logits, every)
    assert float(loss(labels, logits)) == pytest.approx(expected, rel=1e-5)
    saved = json.loads(json.dumps(keras.saving.serialize_keras_object(loss)))
    assert float(keras.saving.deserialize_keras_object(saved)(labels, logits)) == pytest.approx(
        expected, rel=1e-5
    )
    by_sentence = np.array([2.0, 0.0, 5.0], "float32")
    expected = oracle_of_weights(labels, logits, every * by_sentence[:, None])
    assert float(loss(labels, logits, by_sentence)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.extra("torch")
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_each_token_has_the_loss_that_pytorch_gives_it(epsilon):
    import torch

    labels, logits = LABELS[0], LOGITS[0]
    losses = as_numpy(MaskedCrossentropy(epsilon, reduction=None)(labels, logits))
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(logits).movedim(-1, 1),
        torch.from_numpy(labels).long(),
        reduction="none",
        label_smoothing=epsilon,
        ignore_index=0,
    )
    np.testing.assert_allclose(losses, expected.numpy(), atol=1e-5)


@pytest.mark.extra("torch")
def test_weights_of_words_are_those_of_pytorch():
    import torch

    labels, logits = LABELS[0], LOGITS[0]
    weights = np.random.default_rng(3).uniform(0.1, 3, V).astype("float32")
    for reduction, ours in (("mean", "mean_with_sample_weight"), ("sum", "sum"), ("none", None)):
        loss = MaskedCrossentropy(class_weight=dict(enumerate(weights)), reduction=ours)
        expected = torch.nn.functional.cross_entropy(
            torch.from_numpy(logits).movedim(-1, 1),
            torch.from_numpy(labels).long(),
            weight=torch.from_numpy(weights),
            reduction=reduction,
            ignore_index=0,
        )
        found = as_numpy(loss(labels, logits))
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (6, 5)])
def test_a_fit_with_weights_is_a_descent_by_hand(shape):
    rng = np.random.default_rng(4)
    ids, labels = rng.integers(1, V, (2, 6, 5)).astype("int32")
    labels[1, 2:], labels[4, 1:] = 0, 0
    weights = rng.uniform(0, 2, shape).astype("float32")
    every = (weights[:, None] if weights.ndim == 1 else weights) * (labels != 0)
    inputs = keras.Input((5,), dtype="int32")
    table = keras.layers.Embedding(V, V)  # the logits after each word
    model = keras.Model(inputs, table(inputs))
    model.compile(keras.optimizers.SGD(0.5), loss=MaskedCrossentropy())
    by_hand = table.get_weights()[0].astype(float)
    model.fit(ids, labels, sample_weight=weights, batch_size=2, shuffle=False, verbose=0)
    for rows in np.arange(6).reshape(3, 2):
        slope = np.zeros((V, V))
        for word, label, weight in zip(
            *(x[rows].ravel() for x in (ids, labels, every)), strict=True
        ):
            p = np.exp(by_hand[word]) / np.exp(by_hand[word]).sum()
            slope[word] += weight * (p - np.eye(V)[label])
        by_hand -= 0.5 * slope / every[rows].sum()
    np.testing.assert_allclose(table.get_weights()[0], by_hand, atol=1e-6)


# Label smoothing


def softened(labels, epsilon):
    """Return q, (B, T, V): 1 − ε of the right answer, and ε spread over all V words."""
    return (1 - epsilon) * np.eye(V)[labels] + epsilon / V


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_label_smoothing_is_the_crossentropy_with_softened_answers(epsilon):
    for labels, logits in zip(LABELS, LOGITS, strict=True):
        log_p = logits - np.log(np.exp(logits.astype(float)).sum(-1, keepdims=True))
        tokens = -(softened(labels, epsilon) * log_p).sum(-1)[labels != 0]
        loss = float(MaskedCrossentropy(epsilon)(labels, logits))
        assert loss == pytest.approx(tokens.mean(), rel=1e-5)


def test_without_label_smoothing_the_loss_is_as_it_was():
    for labels, logits in zip(LABELS, LOGITS, strict=True):
        assert float(MaskedCrossentropy(0.0)(labels, logits)) == float(
            MaskedCrossentropy()(labels, logits)
        )


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_gradient_is_p_minus_q_and_0_where_there_is_padding(epsilon):
    labels, logits = LABELS[0], LOGITS[0]
    p = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(-1, keepdims=True)
    is_token = labels != 0
    expected = (p - softened(labels, epsilon)) * is_token[..., None] / is_token.sum()
    (slope,) = gradient(lambda x: MaskedCrossentropy(epsilon)(labels, x), logits)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-7)


def test_logits_of_any_size_have_a_finite_loss():
    logits = np.array([[[1e30, -1e30, 0.0], [-1e4, 0.0, 1e4]]], "float32")
    answers = np.array([[1, 2]])
    loss = float(MaskedCrossentropy()(answers, logits))
    assert loss == pytest.approx(1e30, rel=1e-6)  # (2e30 + 0) / 2


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX tells what memory a program has")
def test_the_loss_keeps_the_logits_their_exponentials_and_their_gradient_and_no_more():
    import jax

    rows, vocabulary, width = 64, 500, 8
    loss = MaskedCrossentropy(0.1)

    def cost(x, kernel, answers):
        return loss(answers, x @ kernel)

    shapes = [(1, rows, width), (width, vocabulary), (1, rows)]
    dtypes = ["float32", "float32", "int32"]
    arguments = [jax.ShapeDtypeStruct(*each) for each in zip(shapes, dtypes, strict=True)]
    program = jax.jit(jax.grad(cost, argnums=(0, 1))).lower(*arguments).compile()
    of_the_size_of_the_logits = program.memory_analysis().temp_size_in_bytes / (
        4 * rows * vocabulary
    )
    assert of_the_size_of_the_logits < 3.5


def test_with_label_smoothing_it_does_not_pay_to_be_too_sure():
    # The best that ε = 0.1 allows has p = 0.9 + 0.1 / 11 for the right word.
    labels = np.array([[5]], "int32")
    best = float(MaskedCrossentropy(0.1)(labels, np.log(softened(labels, 0.1))))
    for sure in (3, 4, 9, 30):
        logits = sure * np.eye(V)[labels]
        assert float(MaskedCrossentropy(0.1)(labels, logits)) > best
    plain = float(MaskedCrossentropy()(labels, 30 * np.eye(V)[labels]))
    assert plain == pytest.approx(0, abs=1e-6)


def test_label_smoothing_is_saved():
    loss = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(MaskedCrossentropy(0.1))
    )
    assert loss.label_smoothing == 0.1


@pytest.mark.parametrize("epsilon", [-0.1, 1.0, 1.5])
def test_label_smoothing_is_a_share(epsilon):
    with pytest.raises(ValueError, match=f"at least 0 and below 1, got {epsilon}"):
        MaskedCrossentropy(epsilon)


# The schedule


def rates(schedule, steps):
    return np.array([float(schedule(step)) for step in steps])


@pytest.mark.parametrize("width", [128, 512])
def test_warm_up_is_equation_3_of_the_paper(width):
    warm_up = 7
    steps = np.arange(1, 31)
    expected = width**-0.5 * np.minimum(steps**-0.5, steps * warm_up**-1.5)
    schedule = WarmUp(vaswani_peak(width, warm_up), warm_up)
    # The optimizer counts its steps from 0, the paper from 1.
    np.testing.assert_allclose(rates(schedule, steps - 1), expected, rtol=1e-6)
    assert expected.argmax() + 1 == warm_up


def test_warm_up_rises_evenly_and_falls_with_the_root():
    # step 1 is a quarter of the way, 4 the peak, and at 16 and 64 a half and a quarter are left
    expected = [0.25, 0.5, 0.75, 1.0, 0.5, 0.25]
    np.testing.assert_allclose(
        rates(WarmUp(1.0, 4), [0, 1, 2, 3, 15, 63]), expected, rtol=1e-6, atol=0
    )


def test_the_peak_of_the_paper():
    assert vaswani_peak(512) == pytest.approx(1 / np.sqrt(512 * 4000))
    assert vaswani_peak(512, 1000) == pytest.approx(2 * vaswani_peak(512))
    assert vaswani_peak(2048) == pytest.approx(vaswani_peak(512) / 2)


def test_a_cosine_ends_at_0_and_stays_there():
    schedule = WarmUp(2.0, 5, decay_steps=17)
    steps = np.arange(1, 25)
    falling = 1 + np.cos(np.pi * np.clip((steps - 5) / 12, 0, 1))
    expected = np.where(steps <= 5, 2 * steps / 5, falling)
    found = rates(schedule, steps - 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert found[4] == found.max() == 2
    assert found[4 + 6] == pytest.approx(1)  # halfway down
    np.testing.assert_array_equal(found[16:], 0)


@pytest.mark.parametrize("decay_steps", [None, 17])
def test_the_schedule_is_known_to_keras_by_name(decay_steps):
    schedule = WarmUp(0.5, 3, decay_steps)
    for module in (keras.optimizers.schedules, keras.saving):
        name = "deserialize" if module is not keras.saving else "deserialize_keras_object"
        twin = getattr(module, name)(getattr(module, name.removeprefix("de"))(schedule))
        assert type(twin) is WarmUp
        assert twin.get_config() == {"peak": 0.5, "warm_up": 3, "decay_steps": decay_steps}
        np.testing.assert_array_equal(rates(twin, range(19)), rates(schedule, range(19)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 3), "peak must be positive, got 0.0"),
        ((-1.0, 3), "peak must be positive, got -1.0"),
        ((float("nan"), 3), "peak must be positive, got nan"),
        ((1.0, 0), "warm_up must be at least 1 and decay_steps above it, got 0 and None"),
        ((1.0, 5, 5), "warm_up must be at least 1 and decay_steps above it, got 5 and 5"),
    ],
)
def test_a_schedule_out_of_order(arguments, message):
    with pytest.raises(ValueError, match=message):
        WarmUp(*arguments)


# Compiling


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
    assert model.jit_compile == (keras.backend.backend() != "torch")


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


# Checkpoints


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
