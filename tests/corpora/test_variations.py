"""Other ids in every pass, of the same sentences."""

from itertools import islice

import numpy as np
import pytest

from keras_attention.corpora import LONGEST, Batches, Pair, Variations
from keras_attention.text import Vocabulary, WordPieces, normalize

# Each word of a pair is in no other pair: the tokens tell which sentences a row holds
PAIRS = [Pair(f"casa{n} perro{n}.", f"house{n} dog{n}.") for n in range(20)]


@pytest.fixture(scope="module")
def vocabularies():
    return [
        WordPieces.learn([getattr(pair, side) for pair in PAIRS], 400)
        for side in ("context", "target")
    ]


def texts(variations, number):
    """Return the sentences of a pass, as pieces join them."""
    sides = zip(variations.vocabularies, variations.ids(number), strict=True)
    joined = [[tokens.join(tokens.words_of(row)) for row in ids] for tokens, ids in sides]
    return list(zip(*joined, strict=True))


def test_without_variation_the_ids_are_those_of_the_sentences(vocabularies):
    contexts, targets = Variations(PAIRS, *vocabularies, seed=3).ids(5)
    order = [tuple(row) for row in vocabularies[0].ids(pair.context for pair in PAIRS)]
    assert sorted(map(tuple, contexts)) == sorted(order)
    rows = [order.index(tuple(row)) for row in contexts]
    np.testing.assert_array_equal(targets, vocabularies[1].ids(PAIRS[row].target for row in rows))


def test_pieces_that_are_passed_over_spell_the_same_sentences(vocabularies):
    variations = Variations(PAIRS, *vocabularies, piece_dropout=0.5)
    assert sorted(texts(variations, 0)) == sorted(texts(variations, 1)) == sorted(PAIRS)
    longest = Variations(PAIRS, *vocabularies)
    assert all(
        (varied > 0).sum() > (whole > 0).sum()
        for varied, whole in zip(variations.ids(0), longest.ids(0), strict=True)
    )


def test_two_pairs_are_joined_in_the_same_order_on_both_sides(vocabularies):
    found = texts(Variations(PAIRS, *vocabularies, joined=0.5), 0)
    assert len(found) == 15  # ten pairs make five
    translations = {pair.context: pair.target for pair in PAIRS}
    joined = [(context, target) for context, target in found if context not in translations]
    assert len(joined) == 5
    for context, target in joined:
        first, second = (f"{part.strip('. ')}." for part in context.split(". "))
        assert target == f"{translations[first]} {translations[second]}"


def test_seed_and_pass_alone_decide(vocabularies):
    def drawn(seed, number):
        options = {"piece_dropout": 0.3, "joined": 0.5, "seed": seed}
        return [ids.tolist() for ids in Variations(PAIRS, *vocabularies, **options).ids(number)]

    assert drawn(1, 4) == drawn(1, 4)
    assert drawn(1, 4) != drawn(1, 5)
    assert drawn(1, 4) != drawn(2, 4)


def test_what_would_be_too_long_is_left_out():
    words = " ".join(f"w{n}" for n in range(40))
    vocabulary = Vocabulary.learn([words], 100)
    pairs = [Pair(words, words), Pair(words, words), Pair("w1", "w2")]
    contexts, _ = Variations(pairs, vocabulary, vocabulary, joined=1.0).ids(0)
    assert contexts.shape[1] <= LONGEST
    assert 1 <= len(contexts) < len(pairs)


def test_words_have_no_pieces_to_pass_over():
    vocabulary = Vocabulary.learn([normalize("casa")], 10)
    with pytest.raises(ValueError, match=r"piece_dropout needs word pieces, got 0\.1 for words"):
        Variations(PAIRS, vocabulary, vocabulary, piece_dropout=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"piece_dropout": 1.0}, r"piece_dropout must be at least 0 and below 1, got 1\.0"),
        ({"joined": 1.5}, r"joined must be at least 0 and at most 1, got 1\.5"),
    ],
)
def test_fractions_out_of_range_are_errors(vocabularies, options, message):
    with pytest.raises(ValueError, match=message):
        Variations(PAIRS, *vocabularies, **options)


def test_batches_vary_and_go_on_exactly_where_a_run_was(vocabularies):
    variations = Variations(PAIRS, *vocabularies, piece_dropout=0.3, joined=0.5)
    batches = Batches(*variations.ids(0), 4, shapes=3)
    count = len(batches)

    def first(number, start=0):
        found = islice(batches.shuffled(5, start, variations=variations), number)
        return [(np.asarray(x["context"]).tolist(), np.asarray(y).tolist()) for x, y in found]

    whole = first(3 * count)
    assert whole[:count] != whole[count : 2 * count]
    for start in (1, count, count + 2):
        assert first(3 * count - start, start) == whole[start:]
    shapes = {(len(x[0]), len(y[0])) for x, y in whole}
    assert shapes <= set(batches.shapes)  # no program more for what varies
