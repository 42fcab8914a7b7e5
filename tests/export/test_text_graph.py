"""What a graph reads and writes is what the vocabularies read and write."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

import tensorflow as tf

from keras_attention.export import text_graph
from keras_attention.text import END, WordPieces, word_pieces
from tests.text.sentences import odd_sentences

KINDS = ("word", "wordpiece")


@pytest.fixture(scope="module")
def everything(sentences):
    odd = [text.encode("utf-8", "ignore").decode() for text in odd_sentences(499, seed=8)]
    return sentences + odd


@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_finds_the_same_ids(kind, vocabularies, everything):
    vocabulary = getattr(vocabularies, kind)[0]
    read = tf.function(text_graph.Reader(vocabulary), autograph=False)
    expected = vocabulary.ids(everything)
    np.testing.assert_array_equal(read(tf.constant(everything)), expected)
    assert (expected == 1).any(axis=1).sum() > 20  # unknown words
    assert ((expected != 0).sum(axis=1) == 2).sum() >= 2  # nothing at all


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_without_a_token_are_read(kind, vocabularies):
    read = text_graph.Reader(getattr(vocabularies, kind)[0])
    assert read(tf.constant(["", " "])).numpy().tolist() == [[2, 3], [2, 3]]
    assert read(tf.constant([], tf.string)).shape[0] == 0


def test_marks_stand_alone_and_say_where_they_touch(everything):
    split = text_graph.split_marks(tf.constant(everything)).to_list()
    assert [[token.decode() for token in row] for row in split] == [
        word_pieces.split_marks(sentence) for sentence in everything
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_joins_tokens_as_the_vocabulary_does(kind, vocabularies):
    vocabulary = getattr(vocabularies, kind)[1]
    random = np.random.default_rng(5)
    ids = random.integers(4, len(vocabulary), (211, 13)).astype("int32")
    ids[random.random(ids.shape) < 0.1] = 1
    for row, end in zip(ids, random.integers(0, 14, len(ids)), strict=True):
        row[end:] = 0
        row[end : end + 1] = END
    texts = [text.decode() for text in text_graph.join(vocabulary, tf.constant(ids)).numpy()]
    assert texts == [vocabulary.join(vocabulary.words_of(row)) for row in ids]
    assert "" in texts
    spelled = text_graph.spell(vocabulary, tf.constant(ids)).numpy()
    assert [[word.decode() for word in row] for row in spelled] == [
        [vocabulary.join([vocabulary.words[number]]) for number in row] for row in ids
    ]


def test_pieces_are_joined_where_they_go_on():
    words = ["casa", "##s", "3", "￭.￭", "¿￭", "￭?", "[", "##é", "'"]
    pieces = WordPieces(["", "[UNK]", "[START]", "[END]", *words])
    rows = [[4, 5, 9, 3], [8, 4, 5, 9, 3], [5, 5, 4], [6, 7, 6, 11], [10, 5], [12, 5], [1, 5, 1]]
    ids = np.zeros((len(rows), 5), "int32")
    for row, numbers in zip(ids, rows, strict=True):
        row[: len(numbers)] = numbers
    texts = [text.decode() for text in text_graph.join(pieces, tf.constant(ids)).numpy()]
    assert texts == [pieces.join(pieces.words_of(row)) for row in rows]
    assert texts[:2] == ["casas?", "¿casas?"]
