import sys
import time
import unicodedata

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
tf_text = pytest.importorskip("tensorflow_text")

from keras_attention.text import (  # noqa: E402
    caseless,
    join_words,
    normalize,
    shortened,
    split_words,
    standardize,
)
from tests.text.sentences import ODD, odd_sentences  # noqa: E402


def as_standardized(sentences):
    rows = standardize(np.array(sentences, dtype=object)).numpy()
    return [row.decode("utf-8") for row in rows]


def as_in_the_tutorial(sentences):
    """Normalise as the tutorial's `tf_lower_and_split_punct` does, and split at spaces."""
    text = tf_text.normalize_utf8(np.array(sentences, dtype=object), "NFKD")
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, "[^ a-z.?!,¿]", "")
    text = tf.strings.regex_replace(text, "[.?!,¿]", r" \0 ")
    text = tf.strings.strip(text)
    text = tf.strings.join(["[START]", text, "[END]"], separator=" ")
    return [row.decode("utf-8").split()[1:-1] for row in text.numpy()]


def test_the_words_are_those_of_the_tutorial():
    sentences = [s.replace("\t", " ").replace("\n", " ") for s in ODD + odd_sentences(701, seed=1)]
    assert [row.split() for row in as_standardized(sentences)] == as_in_the_tutorial(sentences)


def test_standardized_words_have_one_space_between_them():
    for row in as_standardized([*ODD, "a  b\t\tc \n d "]):
        assert row == " ".join(row.split())
    assert as_standardized(["a\tb\nc"]) == ["a b c"]  # a tab must not join two words


def test_standardize_keeps_the_shape():
    assert standardize(tf.constant([["Ay,"], ["no!"]])).numpy().tolist() == [[b"ay ,"], [b"no !"]]


@pytest.mark.parametrize("seed", [2, 3])
def test_normalize_is_standardize_without_tensorflow(seed):
    sentences = ODD + odd_sentences(1499, seed)
    assert [normalize(s) for s in sentences] == as_standardized(sentences)


def test_normalize_is_standardize_on_the_real_corpus(shared_data):
    lines = (shared_data / "spa-eng" / "spa.txt").read_text(encoding="utf-8").splitlines()
    sentences = sorted({side for line in lines[::3] for side in line.split("\t")})
    assert len(sentences) > 50_000
    assert [normalize(s) for s in sentences] == as_standardized(sentences)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("¿Dónde está mi iPhone?", "¿ donde esta mi iphone ?"),
        ("У меня нет iPhone.", "у меня нет iphone ."),
        ("私は iPhone を買った。", "私は iphone を買った 。"),
        ("1 + 1 = 2.", "."),
    ],
)
def test_a_sentence_with_other_letters_keeps_them_for_comparisons(sentence, expected):
    assert caseless(sentence) == expected


def test_decomposed_accents_are_composed_accents():
    composed = "¿Todavía está el niño en Cádiz?"
    decomposed = unicodedata.normalize("NFD", composed)
    assert decomposed != composed
    assert split_words(decomposed) == split_words(composed)
    assert as_standardized([decomposed]) == as_standardized([composed])


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        ("¿Está?", [("¿", "¿"), ("esta", "Está"), ("?", "?")]),
        ("don't go", [("dont", "don't"), ("go", "go")]),
        ("«Sí», dijo", [("si", "«Sí»"), (",", ","), ("dijo", "dijo")]),
        ("hola 😀 mundo", [("hola", "hola"), ("mundo", "mundo")]),
        ("hola😀", [("hola", "hola😀")]),
        ("a,b", [("a", "a"), (",", ","), ("b", "b")]),
        ("ﬁn", [("fin", "ﬁn")]),
        ("sí…", [("si", "sí"), (".", "…"), (".", "…"), (".", "…")]),
        ("123 'abc", [("abc", "'abc")]),
        ("😀 1 —", []),
    ],
)
def test_a_spelling_is_what_the_user_wrote(sentence, pairs):
    assert split_words(sentence) == pairs


def test_every_word_has_a_visible_spelling():
    for sentence in ODD + odd_sentences(997, seed=4):
        for word, spelling in split_words(sentence):
            assert word
            assert spelling.strip()


def test_a_very_long_word_is_split_in_linear_time():
    before = time.perf_counter()
    ((word, spelling),) = split_words("xe\u0301" * 2**19)
    assert time.perf_counter() - before < 15  # quadratic time would be a minute
    assert (len(word), len(spelling)) == (2**20, 2**20)


def test_joined_words_have_punctuation_where_it_is_written():
    assert join_words(["¿", "no", ",", "tom", "?"]) == "¿no, tom?"
    assert join_words(["stop", "!", "go", "."]) == "stop! go."
    assert join_words([]) == ""


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("it's", '"it\'s"'),
        ("x" * 40, f"'{'x' * 40}'"),
        ("x" * 41, f"'{'x' * 40}…'"),
        ("", "''"),
    ],
)
def test_an_error_quotes_forty_characters_of_a_sentence(sentence, quoted):
    assert shortened(sentence) == quoted


def test_without_tensorflow_text_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match="pip install tensorflow-text"):
        standardize(["Hola."])
