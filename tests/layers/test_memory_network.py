"""The parts of a memory network; what the hop has in common with others is in the contract."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import layers
from tests.numerics import as_numpy, assert_close, gradients_of_weights

B, S, J, V, D, T = 2, 5, 7, 23, 11, 3


def ids(seed=0):
    """Sentences of one to all words, (B, S, J), and one without any."""
    rng = np.random.default_rng(seed)
    story = rng.integers(1, V, size=(B, S, J)).astype("int32")
    lengths = rng.integers(1, J + 1, size=(B, S, 1))
    lengths[1, S - 1] = 0
    return np.where(np.arange(J) < lengths, story, 0)


def twin_of(layer):
    return keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))


def test_a_sentence_is_the_weighted_sum_of_its_words():
    bag = layers.BagOfWords(V, D)
    vectors = as_numpy(bag(ids()))
    table = bag.get_weights()[0].astype("float64")
    expected = np.zeros((B, S, D))
    for place in np.ndindex(B, S):
        sentence = [word for word in ids()[place] if word]
        for j, word in enumerate(sentence, start=1):
            share = j / len(sentence)
            k = np.arange(1, D + 1) / D
            expected[place] += ((1 - share) - k * (1 - 2 * share)) * table[word]
    assert_close(vectors, expected)
    np.testing.assert_array_equal(vectors[1, S - 1], 0)


def test_without_positions_it_is_the_plain_sum_in_any_order():
    bag = layers.BagOfWords(V, D, encode_positions=False)
    sentence = np.array([[3, 1, 4, 0, 0]])
    table = bag(sentence) is not None and bag.get_weights()[0]
    np.testing.assert_allclose(as_numpy(bag(sentence))[0], table[[3, 1, 4]].sum(0), atol=1e-6)
    np.testing.assert_allclose(
        as_numpy(bag(np.array([[4, 1, 3]]))), as_numpy(bag(sentence)), atol=1e-6
    )


def test_backwards_the_same_table_says_how_like_each_word_a_vector_is():
    bag = layers.BagOfWords(V, D)
    vectors = bag(ids()[:, 0])
    logits = as_numpy(bag(vectors, reverse=True))
    assert logits.shape == (B, V)
    np.testing.assert_allclose(logits, as_numpy(vectors) @ bag.get_weights()[0].T, atol=1e-5)
    assert tuple(bag(keras.KerasTensor((B, D)), reverse=True).shape) == (B, V)
    assert tuple(bag(keras.KerasTensor((B, S, J), dtype="int32")).shape) == (B, S, D)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_bag_in_mixed_precision(policy):
    exact, bag = layers.BagOfWords(V, D), layers.BagOfWords(V, D, dtype=policy)
    expected, _ = exact(ids()), bag(ids())
    bag.set_weights(exact.get_weights())
    assert keras.backend.standardize_dtype(bag(ids()).dtype) == policy.removeprefix("mixed_")
    np.testing.assert_allclose(as_numpy(bag(ids())), as_numpy(expected), atol=0.02)


def test_the_padding_has_no_gradient():
    bag = layers.BagOfWords(V, D)
    story = ops.convert_to_tensor(ids())
    bag(story)
    (gradient,) = gradients_of_weights(bag, lambda: ops.sum(ops.square(bag(story) - 1))).values()
    used = np.unique(ids())
    np.testing.assert_array_equal(gradient[0], 0)
    assert (abs(gradient[used[1:]]).max(-1) > 0).all()


def test_times_count_back_from_the_latest_sentence():
    when = layers.MemoryTimes(S, noise=0.5)
    expected = np.tile(np.arange(S), (B, 1))
    np.testing.assert_array_equal(ops.convert_to_numpy(when(ids())), expected)
    np.testing.assert_array_equal(ops.convert_to_numpy(when(ids(), training=False)), expected)


def test_in_training_times_are_skipped_now_and_then_but_stay_in_order():
    when = layers.MemoryTimes(200, noise=0.1, seed=3)
    times = ops.convert_to_numpy(when(np.ones((97, 53, 1), "int32"), training=True))
    steps = np.diff(times, axis=1)
    assert set(steps.flat) == {1, 2}
    assert (steps == 2).mean() == pytest.approx(0.1, abs=0.02)
    assert set(times[:, 0]) == {0, 1}
    assert len({tuple(row) for row in times}) > 90  # each story is drawn for itself
    again = ops.convert_to_numpy(when(np.ones((97, 53, 1), "int32"), training=True))
    assert (again != times).any()


def test_what_is_too_old_shares_the_last_time():
    when = layers.MemoryTimes(S, noise=0.9, seed=3)
    times = ops.convert_to_numpy(when(np.ones((B, S, 1), "int32"), training=True))
    assert times.max() == S - 1


def test_a_hop_adds_what_it_reads_to_the_question():
    rng = np.random.default_rng(0)
    query, keys, values = (rng.normal(size=s) for s in ((B, T, D), (B, S, D), (B, S, D)))
    hop = layers.MemoryHop(mapped=True)
    u, weights = hop(
        *(ops.convert_to_tensor(x, "float32") for x in (query, values, keys)),
        return_attention_scores=True,
    )
    kernel = hop.get_weights()[0].astype("float64")
    expected, read = np.zeros((B, T, S)), np.zeros((B, T, D))
    for b, t in np.ndindex(B, T):
        likeness = np.exp([query[b, t] @ keys[b, s] for s in range(S)])
        expected[b, t] = likeness / likeness.sum()
        read[b, t] = sum(expected[b, t, s] * values[b, s] for s in range(S))
    assert_close(weights, expected, 1e-5)
    assert_close(u, query @ kernel + read, 1e-5)


def test_without_the_softmax_the_weights_are_the_scores():
    rng = np.random.default_rng(0)
    query, keys, values = (
        rng.normal(size=s).astype("float32") for s in ((B, D), (B, S, D), (B, S, D))
    )
    mask = np.arange(S) < np.array([[2], [S]])
    hop = layers.MemoryHop(linear_start=True)

    def look():
        *tensors, seen = map(ops.convert_to_tensor, (query, values, keys, mask))
        return map(as_numpy, hop(*tensors, attention_mask=seen, return_attention_scores=True))

    _, soft = look()
    hop.linear.assign(1.0)
    u, linear = look()
    expected = np.where(mask, np.einsum("bd,bsd->bs", query, keys), 0)
    np.testing.assert_allclose(soft[..., 0].sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(linear[..., 0], expected, atol=1e-5)
    np.testing.assert_allclose(u, query + np.einsum("bs,bsd->bd", expected, values), atol=1e-4)
    assert hop.trainable_weights == []


def test_without_the_softmax_nothing_to_look_at_is_nothing_read():
    hop = layers.MemoryHop(linear_start=True)
    query, keys = np.ones((B, D), "float32"), np.ones((B, S, D), "float32")
    hop(query, keys)
    hop.linear.assign(1.0)
    u, weights = hop(
        query, keys, attention_mask=np.zeros((B, S), bool), return_attention_scores=True
    )
    np.testing.assert_array_equal(as_numpy(weights), 0)
    np.testing.assert_array_equal(as_numpy(u), query)


@pytest.mark.parametrize(
    "layer",
    [
        layers.BagOfWords(V, D, encode_positions=False),
        layers.MemoryTimes(S, noise=0.3, seed=7),
        layers.MemoryHop(mapped=True, linear_start=True),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_config_round_trip(layer):
    twin = twin_of(layer)
    assert type(twin) is type(layer)
    assert twin.get_config() == layer.get_config()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: layers.BagOfWords(0, D),
            "vocabulary_size and units .* got 0 and 11",
        ),
        (
            lambda: layers.BagOfWords(V, 0),
            "vocabulary_size and units .* got 23 and 0",
        ),
        (lambda: layers.MemoryTimes(0), "length must be positive and noise .* got 0 and 0"),
        (lambda: layers.MemoryTimes(S, 1.0), "noise at least 0 and below 1, got 5 and 1"),
        (lambda: layers.MemoryTimes(S - 1)(ids()), "there are 4 times, got a story of 5 sentences"),
        (
            lambda: layers.MemoryTimes(S - 1)(keras.KerasTensor((None, S, J))),
            "there are 4 times, got a story of 5 sentences",
        ),
        (
            lambda: layers.MemoryHop()(np.ones((B, D)), np.ones((B, S, D + 2))),
            r"equally wide, got query \(B, T, D\) = \(2, 1, 11\), value \(2, 5, 13\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
