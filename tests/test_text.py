import random
import time
import unicodedata

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
tf_text = pytest.importorskip("tensorflow_text")

from keras_attention.text import (  # noqa: E402
    SPECIAL_WORDS,
    UNKNOWN,
    Vocabulary,
    join_words,
    normalize,
    split_words,
    standardize,
)

ODD = [
    "",
    "   ",
    "\t\n",
    "¿Todavía está en casa?",
    "I don't know, Tom!",
    "Ｆｕｌｌ ｗｉｄｔｈ",
    "ﬁn ½ ² Å ℃ …",
    "naïve café, El Niño",
    "straße ŁÓDŹ ĐĐ",
    "😀 hola 👩‍👩‍👧 mundo",
    "中文 и русский",
    "a\u00a0b\u2003c\u200bd",
    "İstanbul Kelvin ſhort",
    "¨ ´ `a",
    "\u0301a\u0301\u0327 n\u0303",
    "\x00\x07bell",
    "'quoted' (word) [START] [UNK]",
    "..!!,,??¿¿",
    "¡Hola! «sí» — no",
    "x" * 97,
]


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


def odd_sentences(count, seed):
    """Draw sentences of letters, marks, accents, blanks and any character that Unicode assigns."""
    rng = random.Random(seed)
    anything = [
        chr(c) for c in range(1, 0x30000) if unicodedata.category(chr(c)) not in ("Cs", "Cn")
    ]
    usual = list("aeiouñÑÁéüzXY  .,?!¿'-\u0301\u0308\u0327\t")
    return [
        "".join(
            rng.choice(usual if rng.random() < 0.6 else anything) for _ in range(rng.randrange(41))
        )
        for _ in range(count)
    ]


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


def test_the_first_ids_are_the_same_in_every_vocabulary():
    for sentences in (["b b a"], ["[START] [END] [END]", "a b b b"]):
        vocabulary = Vocabulary.learn(sentences)
        assert vocabulary.words[:4] == SPECIAL_WORDS == ("", "[UNK]", "[START]", "[END]")
        assert vocabulary.words[4] == "b"


def test_the_most_frequent_words_are_learned():
    vocabulary = Vocabulary.learn(["Tres tres tres.", "dos, dos.", "¡Uno!"], size=7)
    assert len(vocabulary) == 7
    assert vocabulary.words[4] == "tres"
    assert set(vocabulary.words[5:]) == {"dos", "."}


def test_learning_does_not_hang_on_a_generator():
    assert Vocabulary.learn(s for s in ["uno", "uno dos"]).words[4:] == ("uno", "dos")


@pytest.mark.parametrize(
    ("sentences", "size", "message"),
    [
        (["hola"], 4, "size must be above 4, got 4"),
        ([], 50, "at least one sentence, got none"),
    ],
)
def test_a_vocabulary_needs_words(sentences, size, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.learn(sentences, size)


def test_ids_stand_between_start_and_end_and_are_padded():
    vocabulary = Vocabulary([*SPECIAL_WORDS, "hola", "?", "nino"])
    ids = vocabulary.ids(["¿Hola, niño?", "Hola", "", "mundo"])
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(
        ids,
        [
            [2, 1, 4, 1, 6, 5, 3],  # ¿ and the comma are unknown
            [2, 4, 3, 0, 0, 0, 0],
            [2, 3, 0, 0, 0, 0, 0],
            [2, 1, 3, 0, 0, 0, 0],
        ],
    )


def test_the_id_of_an_unknown_word_is_1():
    vocabulary = Vocabulary([*SPECIAL_WORDS, "hola"])
    assert (vocabulary.id_of("hola"), vocabulary.id_of("mundo")) == (4, UNKNOWN)


def test_words_of_ids_end_with_the_end():
    vocabulary = Vocabulary([*SPECIAL_WORDS, "a", "b"])
    assert vocabulary.words_of([2, 4, 1, 5, 3, 4, 0]) == ["a", "[UNK]", "b"]
    assert vocabulary.words_of([0, 5]) == ["b"]


def test_ids_and_words_are_inverse():
    sentences = ["el niño no come manzanas .", "¿ viste la casa ?"]
    vocabulary = Vocabulary.learn(sentences)
    for sentence, ids in zip(sentences, vocabulary.ids(sentences), strict=True):
        assert vocabulary.words_of(ids) == normalize(sentence).split()


def test_a_saved_vocabulary_is_the_same(tmp_path):
    vocabulary = Vocabulary.learn(["¿Dónde está el niño?", "¡Aquí, aquí!"])
    vocabulary.save(tmp_path / "words.txt")
    loaded = Vocabulary.load(tmp_path / "words.txt")
    assert loaded.words == vocabulary.words
    np.testing.assert_array_equal(loaded.ids(["¿Aquí?"]), vocabulary.ids(["¿Aquí?"]))


def test_a_vocabulary_file_has_a_word_a_line(tmp_path):
    Vocabulary([*SPECIAL_WORDS, "hola"]).save(tmp_path / "words.txt")
    assert (tmp_path / "words.txt").read_text() == "\n[UNK]\n[START]\n[END]\nhola\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with the words"),
        (b"hola\nmundo\n", "begins with the words"),
        (b"\n[UNK]\n[END]\n[START]\nhola\n", "begins with the words"),
        (b"\n[UNK]\n[START]\n[END]\nhola\nhola\n", "'hola' twice"),
        (b"\n[UNK]\n[START]\n[END]\nni\xf1o\n", "utf-8"),
    ],
)
def test_a_bad_vocabulary_file_is_an_error_that_names_it(tmp_path, content, message):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        Vocabulary.load(path)
    assert str(error.value).startswith(f"{path} is not a vocabulary: ")


def test_a_missing_vocabulary_file_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"words\.txt"):
        Vocabulary.load(tmp_path / "words.txt")
