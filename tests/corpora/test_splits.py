import hashlib
import random
from collections import defaultdict

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention import corpora
from keras_attention.corpora import Pair, Split
from keras_attention.corpora.grammar import Grammar
from keras_attention.text import normalize

PAIRS = [Pair("Ve.", "Go."), Pair("Estoy en casa.", "I am at home.")]


@pytest.fixture(scope="module")
def bundled():
    return Grammar.load().generate(4999, seed=1)


def sides(parts):
    """Return for each language the sides on which each normalised sentence is."""
    found = {"context": defaultdict(set), "target": defaultdict(set)}
    for side, pairs in parts._asdict().items():
        for pair in pairs:
            for language, places in found.items():
                places[normalize(getattr(pair, language))].add(side)
    return found


def assert_no_leak(parts):
    for places in sides(parts).values():
        assert all(len(each) == 1 for each in places.values())


def test_a_sentence_of_either_language_is_on_one_side_of_the_split(bundled):
    repeated = [
        Pair(one.context.upper(), other.target)
        for one, other in zip(bundled[:997], bundled[1000:1997], strict=True)
    ]
    parts = corpora.split(bundled + repeated)
    assert sum(map(len, parts)) == len(bundled) + len(repeated)
    assert_no_leak(parts)


@pytest.mark.thorough
def test_real_pairs_do_not_leak(shared_data):
    pairs = corpora.read_pairs(shared_data / "spa-eng" / "spa.txt")[::3]
    parts = corpora.split(pairs)
    assert_no_leak(parts)
    shares = [len(part) / len(pairs) for part in parts]
    np.testing.assert_allclose(shares, (0.96, 0.02, 0.02), atol=0.01)


def test_pairs_that_hang_together_through_others_stay_together():
    chain = [Pair(f"c{n // 2}", f"t{(n + 1) // 2}") for n in range(499)]
    letters = str.maketrans("0123456789", "abcdefghij")  # digits are lost in normalisation
    chain = [Pair(*(side.translate(letters) for side in pair)) for pair in chain]
    random.Random(0).shuffle(chain)
    assert sorted(map(len, corpora.split(chain, (0.3, 0.3, 0.4)))) == [0, 0, 499]


def test_a_split_has_the_shares_that_were_asked_for(bundled):
    for shares in ((0.96, 0.02, 0.02), (0.5, 0.3, 0.2)):
        parts = corpora.split(bundled, shares)
        np.testing.assert_allclose([len(p) / len(bundled) for p in parts], shares, atol=0.03)


def test_the_order_of_the_pairs_does_not_change_their_side(bundled):
    parts = corpora.split(bundled)
    shuffled = random.Random(1).sample(bundled, len(bundled))
    again = corpora.split(shuffled)
    for part, other in zip(parts, again, strict=True):
        assert set(part) == set(other)


def test_each_part_is_in_the_order_of_the_pairs(bundled):
    place = {pair: number for number, pair in enumerate(bundled)}
    for part in corpora.split(bundled):
        numbers = [place[pair] for pair in part]
        assert len(numbers) > 1
        assert numbers == sorted(numbers)


def test_sides_are_the_same_on_every_machine():
    # The side is a hash of "context", a tab and the normalised sentence, so anyone can check it.
    for sentence, digest in (("Ve.", "context\tve ."), ("¿Sí?", "context\t¿ si ?")):
        place = int(hashlib.sha256(digest.encode()).hexdigest()[:16], 16) / 2**64
        parts = corpora.split([Pair(sentence, "x")], (place + 1e-6, 1 - place - 1e-6, 0))
        assert list(map(len, parts)) == [1, 0, 0]
        parts = corpora.split([Pair(sentence, "x")], (place - 1e-6, 1 - place + 1e-6, 0))
        assert list(map(len, parts)) == [0, 1, 0]


def test_no_pairs_are_split_into_nothing():
    assert corpora.split([]) == Split([], [], [])


@pytest.mark.parametrize("shares", [(96, 2, 2), (0.5, 0.2, 0.2), (1.5, -0.3, -0.2)])
def test_shares_are_fractions(shares):
    with pytest.raises(ValueError, match="fractions that sum to 1"):
        corpora.split(PAIRS, shares)


def test_a_fingerprint_knows_sentences_and_order():
    same = corpora.fingerprint(PAIRS)
    assert corpora.fingerprint(list(PAIRS)) == same
    assert corpora.fingerprint(PAIRS[::-1]) != same
    assert corpora.fingerprint([Pair(pair.target, pair.context) for pair in PAIRS]) != same


def test_sentences_of_another_script_are_told_apart():
    words = np.random.default_rng(0).integers(10, size=(600, 5))
    pairs = [
        Pair(" ".join("абвгдежзик"[n] for n in row), " ".join("abcdefghij"[n] for n in row))
        for row in words
    ]
    parts = corpora.split(pairs, (0.5, 0.25, 0.25))
    assert all(len(part) > 100 for part in parts)
