"""Two sentence pairs in one: the same tokens, in the same order on both sides."""

from itertools import islice

import numpy as np
import pytest

from keras_attention.corpora import LONGEST, Batches, join_pairs
from keras_attention.text import END, START, padded

LENGTHS = np.random.default_rng(0).integers(3, 14, (2, 40))
# Every token occurs once, and tells its pair: the tens of thousands are those of the target
CONTEXT, TARGET = (
    padded(
        [
            [START, *range(base + 20 * row, base + 20 * row + length - 2), END]
            for row, length in enumerate(lengths)
        ]
    )
    for base, lengths in zip((10, 10_010), LENGTHS, strict=True)
)


def sentences(row):
    """Return the numbers of the sentences in a row, in their order."""
    tokens = [int(token) for token in row if token not in (0, START, END)]
    return list(dict.fromkeys((token - 10) % 10_000 // 20 for token in tokens))


def test_joined_pairs_have_two_sentences_in_the_same_order_on_both_sides():
    contexts, targets = join_pairs(CONTEXT, TARGET, 0.5, np.random.default_rng(1))
    held = [sentences(row) for row in contexts]
    assert held == [sentences(row) for row in targets]
    assert sorted(map(len, held)) == [1] * 20 + [2] * 10
    assert sorted(number for each in held for number in each) == list(range(40))
    for ids in (contexts, targets):
        assert (ids[:, 0] == START).all()
        assert ((ids == END).sum(axis=1) == 1).all()
        ends = (ids != 0).sum(axis=1) - 1
        assert (ids[np.arange(len(ids)), ends] == END).all()


@pytest.mark.parametrize("fraction", [0.0, 0.03])
def test_too_few_to_join_stay_as_they_are(fraction):
    contexts, _ = join_pairs(CONTEXT, TARGET, fraction, np.random.default_rng(1))
    np.testing.assert_array_equal(np.sort(contexts, axis=0), np.sort(CONTEXT, axis=0))


def test_what_would_be_too_long_stays_alone():
    long = padded([[START, *range(10, 46), END], [START, *range(50, 86), END], [START, 9, END]])
    for seed in range(9):
        contexts, targets = join_pairs(long, long, 1.0, np.random.default_rng(seed))
        assert contexts.shape[1] <= LONGEST
        assert len(contexts) in (2, 3)
        np.testing.assert_array_equal(contexts, targets)


def test_what_no_shape_would_hold_stays_alone():
    ids = padded([[START, *range(10, 10 + n), END] for n in (4, 4, 6, 6)])
    batches = Batches(ids, ids, 1, shapes=[(6, 6), (8, 8)], joined=1.0)
    a_pass = [(np.asarray(x["context"]) != 0).sum() for x, _ in islice(batches.shuffled(0), 4)]
    assert sorted(a_pass) == [6, 6, 8, 8]


def first(batches, number, start=0):
    found = islice(batches.shuffled(5, start), number)
    return [(np.asarray(x["context"]).tolist(), np.asarray(y).tolist()) for x, y in found]


@pytest.mark.parametrize("shaped", [{"shapes": 3}, {"most_shapes": None}])
def test_batches_join_anew_in_every_pass_and_go_on_exactly_where_a_run_was(shaped):
    batches = Batches(CONTEXT, TARGET, 4, joined=0.5, **shaped)
    whole = first(batches, 30)
    held = [sentences(row) for context, _ in whole for row in context]
    pairs = {tuple(each) for each in held if len(each) == 2}
    assert len(pairs) > 20  # of which a pass has ten
    for start in (1, 9, 17):
        assert first(batches, 30 - start, start) == whole[start:]
    if "shapes" in shaped:
        assert {(len(x[0]), len(y[0])) for x, y in whole} <= set(batches.shapes)


def test_evaluation_joins_nothing():
    batches = Batches(CONTEXT, TARGET, 4, joined=0.5)
    held = [sentences(row) for x, _ in batches.in_order() for row in np.asarray(x["context"])]
    assert sorted(each for each in held if each) == [[number] for number in range(40)]


def test_a_fraction_out_of_range_is_an_error():
    with pytest.raises(ValueError, match=r"joined must be at least 0 and at most 1, got 1\.5"):
        Batches(CONTEXT, TARGET, joined=1.5)
