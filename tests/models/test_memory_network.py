"""The memory network: the paper's forward pass in NumPy, its views, files, and that it learns."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from tests.models.training import (
    SOME_STEPS,
    XLA,
    check_a_step_changes_every_weight,
    each_way,
)
from tests.numerics import as_numpy, assert_close

B, S, J, V, D, PLACES = 3, 5, 7, 23, 11, 13
TYINGS = ["adjacent", "layerwise"]


def build(**options):
    keras.utils.set_random_seed(5)
    options = {"units": D, "memory_size": PLACES, **options}
    return models.build_memory_network(V, **options)


def inputs(batch=B, seed=0):
    """A story whose last sentences are empty, but for one, and a question."""
    rng = np.random.default_rng(seed)
    story = rng.integers(1, V, size=(batch, S, J)).astype("int32")
    words = rng.integers(2, J + 1, size=(batch, S, 1))
    sentences = rng.integers(1, S + 1, size=(batch, 1, 1))
    sentences[0] = S
    story[(np.arange(J) >= words) | (np.arange(S)[None, :, None] >= sentences)] = 0
    question = rng.integers(1, V, size=(batch, J)).astype("int32")
    question[:, 4:] = 0
    return {"question": question, "story": story}


def tensors(arrays):
    return {name: ops.convert_to_tensor(array) for name, array in arrays.items()}


def look(model, arrays):
    outputs = models.memory_hops(model)(tensors(arrays))
    return as_numpy(outputs["logits"]), as_numpy(outputs["weights"])


def bag(table, words):
    """Σ_j l_j ⊙ table[x_j], word by word."""
    words = [word for word in words if word]
    k = np.arange(1, table.shape[1] + 1) / table.shape[1]
    total = np.zeros(table.shape[1])
    for j, word in enumerate(words, start=1):
        share = j / len(words)
        total += ((1 - share) - k * (1 - 2 * share)) * table[word]
    return total


def answer(weights, tying, hops, story, question):
    """The paper's section 2 for one story: logits, and the weights of each hop."""
    filled = [i for i, sentence in enumerate(story) if sentence.any()]
    adjacent = tying == "adjacent"
    tables = [weights[f"sentences_{k}/table"] for k in range(hops + 1 if adjacent else 2)]
    times = [weights[f"times_{k}/embeddings"] for k in range(len(tables))]
    u = bag(tables[0] if adjacent else weights["question_bag/table"], question)
    looks = np.zeros((hops, len(story)))
    for hop in range(hops):
        a, c = (hop, hop + 1) if adjacent else (0, 1)
        m = {i: bag(tables[a], story[i]) + times[a][i] for i in filled}
        values = {i: bag(tables[c], story[i]) + times[c][i] for i in filled}
        p = {i: np.exp(u @ m[i]) for i in filled}
        total = sum(p.values())
        looks[hop, filled] = [p[i] / total for i in filled]
        read = sum(looks[hop, i] * values[i] for i in filled)
        u = (u if adjacent else u @ weights[f"hop_{hop + 1}/kernel"]) + read
    return (tables[-1] @ u if adjacent else u @ weights["logits/kernel"]), looks


@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("tying", TYINGS)
def test_is_the_forward_pass_of_the_paper(tying, hops):
    model = build(tying=tying, hops=hops)
    for weight in model.trainable_weights:  # large enough that the softmax is not flat
        weight.assign(8 * as_numpy(weight))
    values = {w.path: as_numpy(w).astype("float64") for w in model.weights}
    arrays = inputs()
    logits, looks = look(model, arrays)
    expected = [
        answer(values, tying, hops, story, question)
        for story, question in zip(arrays["story"], arrays["question"], strict=True)
    ]
    assert looks.shape == (B, hops, S)
    assert_close(looks, np.array([one[1] for one in expected]), 2e-5)
    assert_close(logits, np.array([one[0] for one in expected]), 2e-5)
    np.testing.assert_allclose(as_numpy(model(tensors(arrays))), logits, atol=1e-5)


@pytest.mark.parametrize("tying", TYINGS)
def test_has_the_weights_of_the_paper(tying):
    model = build(tying=tying, hops=3)
    memories = 4 if tying == "adjacent" else 2  # A¹, C¹, C², C³; or A, C
    others = 0 if tying == "adjacent" else 2 * V * D + 3 * D * D  # B, W and the matrices H
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert trained == memories * (V + PLACES) * D + others
    linear = [weight for weight in model.non_trainable_weights if "linear" in weight.path]
    assert len(linear) == 3


@pytest.mark.parametrize("tying", TYINGS)
def test_padding_changes_nothing(tying):
    model, arrays = build(tying=tying, hops=2), inputs()
    padded = {
        "question": np.pad(arrays["question"], [(0, 0), (0, 2)]),
        "story": np.pad(arrays["story"], [(0, 0), (0, PLACES - S), (0, 2)]),
    }
    logits, weights = look(model, arrays)
    padded_logits, padded_weights = look(model, padded)
    np.testing.assert_allclose(padded_logits, logits, atol=1e-6)
    np.testing.assert_allclose(padded_weights[..., :S], weights, atol=1e-6)
    np.testing.assert_array_equal(padded_weights[..., S:], 0)
    empty = ~arrays["story"].any(-1)
    assert empty.any()
    np.testing.assert_array_equal(weights[np.repeat(empty[:, None], 2, axis=1)], 0)


def test_only_the_times_tell_the_order_of_the_story():
    arrays = inputs()
    arrays["story"][1:] = arrays["story"][0]
    turned = {**arrays, "story": arrays["story"][:, ::-1].copy()}
    ignorant, aware = build(times=False), build(times=True)
    np.testing.assert_allclose(look(ignorant, turned)[0], look(ignorant, arrays)[0], atol=1e-5)
    assert abs(look(aware, turned)[0] - look(aware, arrays)[0]).max() > 1e-3


def compiled(model, how):
    optimizer = keras.optimizers.Adam(0.02, global_clipnorm=40.0)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, **how)
    return model


@pytest.mark.parametrize(("tying", "linear"), [("adjacent", True), ("layerwise", False)])
@each_way
def test_one_step_of_training_changes_every_weight_with_an_empty_story(how, tying, linear):
    model, arrays = compiled(build(tying=tying, hops=2), how), inputs()
    models.set_linear(model, linear)
    arrays["story"][2] = 0
    still = [weight.path for weight in model.non_trainable_weights]
    check_a_step_changes_every_weight(model, arrays, np.array([1, 2, 3], "int32"), still)


@pytest.mark.xla
def test_the_softmax_goes_and_comes_in_what_is_compiled():
    model, arrays = compiled(build(hops=2), XLA), inputs()
    for weight in model.trainable_weights:
        weight.assign(8 * as_numpy(weight))
    answers = np.array([1, 2, 3], "int32")
    losses = []
    for linear in (False, True, False):
        models.set_linear(model, linear)
        model.reset_metrics()  # Keras 3.13 returns the mean of all batches
        losses.append(float(model.test_on_batch(arrays, answers)))
    assert losses[0] == pytest.approx(losses[2])
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)
    models.set_linear(model, True)
    weights = look(model, arrays)[1]
    assert abs(weights.sum(-1) - 1).max() > 0.1


@pytest.mark.thorough
def test_learns_who_was_last_seen_where():
    """The answer is the last word of the latest sentence that begins as the question does."""
    rng = np.random.default_rng(0)
    who, where = rng.integers(1, 4, (512, S)), rng.integers(4, 8, (512, S))
    asked = who[np.arange(512), rng.integers(0, S, 512)]
    first = (who == asked[:, None]).argmax(1)
    arrays = {
        "question": np.stack([asked, np.full(512, 9)], 1).astype("int32"),
        "story": np.stack([who, where], -1).astype("int32"),
    }
    answers = where[np.arange(512), first]
    model = compiled(build(hops=1, units=17), SOME_STEPS)
    for linear in (True, False):
        models.set_linear(model, linear)
        model.fit(arrays, answers, batch_size=64, epochs=10, verbose=0)
    logits, weights = look(model, arrays)
    assert (logits.argmax(-1) == answers).mean() > 0.95
    assert (weights[:, 0].argmax(-1) == first).mean() > 0.95


@pytest.mark.parametrize("tying", TYINGS)
def test_a_file_gives_the_same_model_back(tying, tmp_path):
    model = build(tying=tying, hops=2)
    models.set_linear(model, True)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    for one, other in zip(look(twin, inputs()), look(model, inputs()), strict=True):
        np.testing.assert_array_equal(one, other)
    models.set_linear(twin, False)
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(twin.get_weights())
    for one, other in zip(look(twin, inputs()), look(again, inputs()), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hops": 0}, "hops must be positive, got 0"),
        ({"units": 0}, "units must be positive, got 0"),
        ({"memory_size": 0}, "memory_size must be positive, got 0"),
        ({"tying": "none"}, "tying must be one of adjacent, layerwise, got 'none'"),
        ({"noise": -0.1}, "noise at least 0 and below 1"),
    ],
)
def test_bad_arguments_say_what_was_received(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


def test_a_model_without_a_linear_start_says_so():
    with pytest.raises(ValueError, match="memory_network was built without linear_start"):
        models.set_linear(build(linear_start=False), True)


def test_a_story_that_is_too_long_is_refused():
    arrays = {**inputs(), "story": np.ones((B, PLACES + 1, J), "int32")}
    with pytest.raises(ValueError, match="there are 13 times, got a story of 14 sentences"):
        build()(tensors(arrays))
