import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss
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


@pytest.mark.parametrize("make", [MaskedCrossentropy, MaskedLoss])
def test_a_model_may_rule_padding_out(make):
    ruled_out = LOGITS[0].copy()
    ruled_out[..., 0] = -np.inf
    expected = np.mean(crossentropies(LABELS[0], ruled_out))
    assert float(make()(LABELS[0], ruled_out)) == pytest.approx(expected, rel=1e-5)
    (found,) = gradient(lambda x: make()(LABELS[0], x), ruled_out)
    assert np.isfinite(found).all()


def test_weights_of_words_are_saved_whatever_numbers_they_are(tmp_path):
    loss = MaskedCrossentropy(class_weight={np.int64(2): np.float32(3)})
    again = keras.losses.deserialize(json.loads(json.dumps(keras.losses.serialize(loss))))
    assert again.class_weight == {2: 3.0}


def test_ids_are_whole_in_half_precision():
    logits = np.zeros((1, 1, 600), "float32")
    logits[..., 599] = 20
    loss = MaskedCrossentropy(dtype="bfloat16")(np.array([[599]]), logits)
    assert float(loss) < 1e-4


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


def test_labels_are_not_smoothed_by_default():
    assert MaskedCrossentropy().label_smoothing == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_gradient_is_p_minus_q_and_0_where_there_is_padding(epsilon):
    labels, logits = LABELS[0], LOGITS[0]
    p = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(-1, keepdims=True)
    is_token = labels != 0
    expected = (p - softened(labels, epsilon)) * is_token[..., None] / is_token.sum()
    (slope,) = gradient(lambda x: MaskedCrossentropy(epsilon)(labels, x), logits)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-7)


def test_the_logits_stay_as_they_are():
    values = np.array([[[1.0, 2.0, 4.0]]], "float32")
    logits = ops.convert_to_tensor(values.copy())
    MaskedCrossentropy(0.1)(np.array([[1]]), logits)
    np.testing.assert_array_equal(as_numpy(logits), values)


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


def test_it_trains_a_model_of_another_default_dtype():
    before = keras.config.floatx()
    keras.config.set_floatx("bfloat16")
    try:
        words = keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.Dense(9)])
        words.compile("sgd", MaskedCrossentropy())
        ids = np.ones((2, 3), "int32")
        assert np.isfinite(float(words.fit(ids, ids, verbose=0).history["loss"][0]))
    finally:
        keras.config.set_floatx(before)
