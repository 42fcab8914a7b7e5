from itertools import islice

import keras
import numpy as np
import pytest

from keras_attention.corpora import Batches, Pair
from keras_attention.text import END, START, Vocabulary, normalize

PAIRS = [Pair("Ve.", "Go."), Pair("Estoy en casa.", "I am at home.")]


def ids_of_lengths(lengths, first):
    """Return rows [START], words, [END], padding; every word of all rows is another number."""
    rows = np.zeros((len(lengths), max(lengths)), dtype="int32")
    number = first
    for row, length in zip(rows, lengths, strict=True):
        row[0], row[length - 1] = START, END
        row[1 : length - 1] = range(number, number + length - 2)
        number += length
    return rows


LENGTHS = np.random.default_rng(0).integers(3, 41, (2, 149))


@pytest.fixture(scope="module")
def ids():
    return ids_of_lengths(LENGTHS[0], 10), ids_of_lengths(LENGTHS[1], 100_010)


@pytest.fixture(scope="module", params=[8, None])
def batches(ids, request):
    """In few shapes, and as long as their own longest sentences."""
    return Batches(*ids, batch_size=7, most_shapes=request.param)


def as_numpy(batches, count=None):
    """Return the batches, or the first of them, whatever the backend's `fit` takes."""
    found = islice(batches, count)
    return [({k: np.asarray(v) for k, v in x.items()}, np.asarray(y)) for x, y in found]


def assert_equal_batches(one, other):
    assert len(one) == len(other) > 0
    for (x, y), (u, v) in zip(one, other, strict=True):
        for a, b in ((x["context"], u["context"]), (x["target"], u["target"]), (y, v)):
            np.testing.assert_array_equal(a, b)


def test_the_batches_have_the_shapes_that_they_name(batches):
    shapes = set()
    for inputs, labels in as_numpy(batches.in_order()):
        assert inputs["target"].shape == labels.shape
        assert inputs["context"].dtype == inputs["target"].dtype == labels.dtype == np.int32
        assert len(inputs["context"]) == len(labels) == 7
        shapes.add((inputs["context"].shape[1], labels.shape[1]))
    assert shapes == set(batches.shapes)
    assert len(batches.shapes) == len(shapes)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tf.data feeds TensorFlow")
def test_tensorflow_knows_the_size_of_a_batch_and_not_its_lengths(batches):
    assert batches.in_order().element_spec[1].shape.as_list() == [7, None]


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="tf.data feeds TensorFlow")
def test_other_backends_take_what_needs_no_tensorflow(batches):
    assert isinstance(batches.shuffled(), keras.utils.PyDataset)
    assert batches.in_order().num_batches == len(batches)


@pytest.mark.parametrize("size", [{"batch_size": 7}, {"batch_tokens": 1201}])
def test_without_a_limit_no_batch_is_longer_than_its_longest_sentences(ids, size):
    few, own = (Batches(*ids, **size, most_shapes=most) for most in (4, None))
    for inputs, labels in as_numpy(own.in_order()):
        assert inputs["context"].any(axis=0).all()
        assert labels.any(axis=0).all()
        assert len(labels) == own.rows((inputs["context"].shape[1], labels.shape[1]))
    held = [labels.any(axis=1) for _, labels in as_numpy(own.in_order())]
    assert all(np.all(rows) for rows in held[1:])  # the shortest batch alone is not full
    places = [
        sum(x["context"].size + y.size for x, y in as_numpy(batches.in_order()))
        for batches in (few, own)
    ]
    assert places[1] < 0.9 * places[0]


@pytest.mark.parametrize("batch_tokens", [5000, 257, 129, 64, 33, 17])
def test_the_number_of_shapes_is_the_root_of_that_of_the_batches(ids, batch_tokens):
    tokens = np.maximum(LENGTHS[0], LENGTHS[1] - 1).sum()  # a target loses one to the shift
    root = max(int((tokens // batch_tokens) ** 0.5), 1)
    for most in (3, 8, 64):
        batches = Batches(*ids, batch_tokens=batch_tokens, most_shapes=most)
        assert batches.shapes == Batches(*ids, shapes=min(root, most)).shapes
    assert len(Batches(*ids, batch_tokens=batch_tokens).shapes) == min(root, 8)


def test_the_shapes_may_be_given(ids):
    batches = Batches(*ids, batch_size=7, shapes=[(17, 40), (40, 40)])
    shapes = {(x["context"].shape[1], y.shape[1]) for x, y in as_numpy(batches.in_order())}
    assert shapes == {(17, 40), (40, 40)}
    assert len(Batches(*ids, shapes=5).shapes) == 5
    with pytest.raises(ValueError, match=r"largest shape is \(40, 38\), got .* \(40, 39\)"):
        Batches(*ids, shapes=[(40, 38)])


@pytest.mark.parametrize("shapes", [[], [(8, 40), (40, 8)], [(40, 40), (8, 40)]])
def test_shapes_that_do_not_grow_are_an_error(ids, shapes):
    with pytest.raises(ValueError, match=r"shapes must be pairs \(S, T\) that grow in both, got"):
        Batches(*ids, shapes=shapes)
    with pytest.raises(ValueError, match="count must be at least 1 shape, got 0"):
        Batches(*ids, shapes=0)


def test_batches_of_a_constant_number_of_tokens(ids):
    batches = Batches(*ids, batch_tokens=1201, shapes=3)
    found = []
    for inputs, labels in as_numpy(batches.in_order()):
        longest = max(inputs["context"].shape[1], labels.shape[1])
        assert len(labels) == max(1201 // longest // 16, 1) * 16
        found.extend(tuple(label[label != 0]) for label in labels if label.any())
    assert sorted(found) == sorted(tuple(row[row != 0][1:]) for row in ids[1])
    assert len({len(labels) for _, labels in as_numpy(batches.in_order())}) > 1
    assert len(as_numpy(batches.in_order())) == len(batches)
    assert batches.rows((64, 64)) == 16
    assert Batches(*ids, batch_tokens=16).rows((64, 64)) == 16
    with pytest.raises(ValueError, match="batch_tokens must be at least 16, got 15"):
        Batches(*ids, batch_tokens=15)


def test_labels_are_the_target_shifted_by_one(batches):
    for inputs, labels in as_numpy(batches.in_order()):
        for target, label in zip(inputs["target"], labels, strict=True):
            length = int((label != 0).sum())
            assert (target != 0).sum() == length
            if length:
                assert target[0] == START
                assert label[length - 1] == END
                np.testing.assert_array_equal(target[1:length], label[: length - 1])


def test_each_pair_comes_once_and_whole(batches, ids):
    found = []
    for inputs, labels in as_numpy(batches.in_order()):
        for context, label in zip(inputs["context"], labels, strict=True):
            if label.any():
                found.append((tuple(context[context != 0]), (START, *label[label != 0])))
    expected = [(tuple(c[c != 0]), tuple(t[t != 0])) for c, t in zip(*ids, strict=True)]
    assert sorted(found) == sorted(expected)


def test_batches_come_from_short_to_long(batches):
    longer = [max(x["context"].shape[1], y.shape[1]) for x, y in as_numpy(batches.in_order())]
    assert longer == sorted(longer)
    assert len(longer) == len(batches)


def test_a_tail_is_filled_with_sentences_without_labels():
    ids = ids_of_lengths([4, 5, 6], 10)
    ((inputs, labels),) = as_numpy(Batches(ids, ids, batch_size=5).in_order())
    assert labels.shape == (5, 5)
    assert not labels[3:].any()
    assert not inputs["target"][3:].any()
    np.testing.assert_array_equal(inputs["context"][3:], [[START, 0, 0, 0, 0, 0]] * 2)


def test_a_pass_of_shuffled_batches_is_a_pass_in_another_order(batches):
    count = len(batches)
    passes = as_numpy(batches.shuffled(seed=5), 2 * count)
    words = [
        sorted(np.concatenate([y.ravel() for _, y in p])) for p in (passes[:count], passes[count:])
    ]
    in_order = sorted(np.concatenate([y.ravel() for _, y in as_numpy(batches.in_order())]))
    assert words == [in_order, in_order]
    with pytest.raises(AssertionError):
        assert_equal_batches(passes[:count], passes[count:])


@pytest.mark.parametrize("most", [4, None])
def test_training_begins_with_the_largest_batch_of_each_of_the_few_shapes(ids, most):
    batches = Batches(*ids, batch_size=7, most_shapes=most)
    found = as_numpy(batches.shuffled(seed=5), len(batches))
    shapes = [(inputs["context"].shape[1], labels.shape[1]) for inputs, labels in found]
    from_large_to_small = sorted(set(shapes), key=sum, reverse=True)
    first = from_large_to_small[:most] if most else from_large_to_small[:1]
    assert len(set(shapes)) >= 4
    assert shapes[: len(first)] == first
    rest = shapes[len(first) :]
    assert rest != sorted(rest, key=sum, reverse=True)


def test_a_seed_decides_the_order(batches):
    one = as_numpy(batches.shuffled(seed=5), len(batches))
    assert_equal_batches(one, as_numpy(batches.shuffled(seed=5), len(batches)))
    with pytest.raises(AssertionError):
        assert_equal_batches(one, as_numpy(batches.shuffled(seed=6), len(batches)))


def test_shuffled_batches_go_on_exactly_where_a_run_was(batches):
    count = len(batches)
    whole = as_numpy(batches.shuffled(seed=5), 2 * count + 3)
    for start in (1, count - 1, count, count + 2):
        rest = as_numpy(batches.shuffled(seed=5, start=start), len(whole) - start)
        assert_equal_batches(rest, whole[start:])


def test_the_parts_of_a_batch_are_together_the_batch(ids):
    batches = Batches(*ids, batch_size=6)
    thirds = [(i, 3) for i in range(3)]
    for whole, parts, count in (
        (batches.in_order(), map(batches.in_order, thirds), None),
        (
            batches.shuffled(5, 2),
            [batches.shuffled(5, 2, part) for part in thirds],
            len(batches) + 5,
        ),
    ):
        joined = []
        for pieces in zip(*(as_numpy(part, count) for part in parts), strict=True):
            assert {labels.shape for _, labels in pieces} == {(2, pieces[0][1].shape[1])}
            inputs = {
                name: np.concatenate([x[name] for x, _ in pieces]) for name in ("context", "target")
            }
            joined.append((inputs, np.concatenate([labels for _, labels in pieces])))
        assert_equal_batches(joined, as_numpy(whole, count))


def test_a_batch_has_equal_parts_or_none(batches):
    for part in ((0, 2), (7, 7), (-1, 7)):
        with pytest.raises(ValueError, match=r"n a divisor of the batch size, got .* of 7"):
            batches.shuffled(part=part)
        with pytest.raises(ValueError, match=r"part must be \(i, n\)"):
            batches.in_order(part)


def test_batches_of_pairs_hold_the_ids_of_their_sentences():
    spanish, english = (Vocabulary.learn(side) for side in zip(*PAIRS, strict=True))
    batches = Batches.of_pairs(PAIRS, spanish, english, batch_size=3)
    ((inputs, labels),) = as_numpy(batches.in_order())
    for place, pair in enumerate(PAIRS):
        assert spanish.words_of(inputs["context"][place]) == normalize(pair.context).split()
        assert english.words_of(labels[place]) == normalize(pair.target).split()


def test_the_options_of_batches_are_those_of_batches_of_pairs():
    vocabularies = [Vocabulary.learn(side) for side in zip(*PAIRS, strict=True)]
    batches = Batches.of_pairs(
        PAIRS, *vocabularies, batch_tokens=160, joined=0.5, shapes=[(16, 24)]
    )
    assert (batches.batch_tokens, batches.joined) == (160, 0.5)
    assert batches.shapes == [(16, 24)]
    own = Batches.of_pairs(PAIRS, *vocabularies, batch_size=1, most_shapes=None)
    assert len(own.shapes) == 2  # each batch is as long as its own sentence


# [START] and [END] count in the context, one of the two in the target.
JUST_FITS = [Pair("sí " * 62, "Yes."), Pair("Sí.", "yes " * 63)]


@pytest.mark.parametrize(
    ("pair", "quoted"),
    [(Pair("sí " * 63, "Yes."), "sí sí"), (Pair("Sí.", "yes " * 65), "yes yes")],
)
def test_a_pair_that_no_batch_holds_is_refused_or_left_out(pair, quoted):
    pairs = [*JUST_FITS, pair]
    vocabularies = [Vocabulary.learn(side) for side in zip(*pairs, strict=True)]
    assert Batches.of_pairs(JUST_FITS, *vocabularies, batch_size=2).left_out == 0
    with pytest.raises(ValueError, match=rf"at most 64 tokens, got 6[56] in '{quoted}"):
        Batches.of_pairs(pairs, *vocabularies, batch_size=2)
    batches = Batches.of_pairs(pairs, *vocabularies, batch_size=2, leave_out_long=True)
    assert batches.left_out == 1
    assert batches.context_ids.shape[1] == 64  # a line of any length costs no memory
    held = sum((inputs["context"] != 0).sum() for inputs, _ in as_numpy(batches.in_order()))
    assert held == 64 + 4


def test_where_every_pair_is_too_long_nothing_is_left_out():
    pairs = [Pair("sí " * 63, "Yes.")]
    vocabularies = [Vocabulary.learn(side) for side in zip(*pairs, strict=True)]
    with pytest.raises(ValueError, match="at most 64 tokens, got 65"):
        Batches.of_pairs(pairs, *vocabularies, batch_size=3, leave_out_long=True)


def test_a_target_may_be_one_longer_than_its_bucket():
    # [START] is no label and [END] no input, so that each of both is one token shorter.
    target = ids_of_lengths([65], 10)
    ((inputs, labels),) = as_numpy(Batches(target[:, :9], target, batch_size=1).in_order())
    assert labels.shape == (1, 64)
    assert labels[0, -1] == END
    assert inputs["target"].all()


@pytest.mark.parametrize(("context", "target"), [(65, 5), (5, 66)])
def test_a_sentence_that_no_bucket_holds_is_an_error(context, target):
    with pytest.raises(ValueError, match="at most 64 tokens, got 65"):
        Batches(ids_of_lengths([3, context], 10), ids_of_lengths([3, target], 10))


def test_both_languages_must_have_as_many_sentences():
    ids = ids_of_lengths([4, 5, 6], 10)
    with pytest.raises(ValueError, match="got 3 and 2"):
        Batches(ids, ids[:2])
    with pytest.raises(ValueError, match="got 0 and 0"):
        Batches(ids[:0], ids[:0])


@pytest.mark.parametrize("batch_size", [0, -2])
def test_a_batch_has_a_sentence(batch_size):
    with pytest.raises(ValueError, match=f"batch_size must be at least 1, got {batch_size}"):
        Batches(np.ones((4, 3), "int32"), np.ones((4, 3), "int32"), batch_size)
