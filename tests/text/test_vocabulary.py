import keras
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

from keras_attention.text import (  # noqa: E402
    KINDS,
    SPECIAL_WORDS,
    UNKNOWN,
    Vocabulary,
    WordPieces,
    normalize,
    split_words,
    standardize,
)
from tests.text.sentences import ODD, odd_sentences  # noqa: E402


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


@pytest.mark.parametrize("size", [7, 97, 5000])
def test_the_words_and_their_order_are_those_of_keras(size):
    sentences = ODD + odd_sentences(499, seed=6)
    theirs = keras.layers.TextVectorization(size - 2, standardize=standardize)
    theirs.adapt(tf.constant(sentences))
    assert list(Vocabulary.learn(sentences, size).words[4:]) == theirs.get_vocabulary()[2:]


def test_learning_does_not_hang_on_a_generator():
    assert Vocabulary.learn(s for s in ["uno", "uno dos"]).words[4:] == ("uno", "dos")


@pytest.mark.parametrize(
    ("sentences", "size", "message"),
    [
        (["hola"], 4, "size must be above 4, got 4"),
        ([], 50, "at least one sentence to learn from, got none"),
    ],
)
def test_a_vocabulary_needs_words(sentences, size, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.learn(sentences, size)


def test_a_script_without_words_asks_for_pieces():
    with pytest.raises(ValueError, match=r"letters a-z, got .*'привет мир'; .*--tokens wordpiece"):
        Vocabulary.learn(["привет мир"])


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
    (tmp_path / "words.txt").write_text("\n[UNK]\n[START]\n[END]\nhola")  # as editors may save it
    assert Vocabulary.load(tmp_path / "words.txt").words[-1] == "hola"


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


def test_tokens_are_words_with_their_spelling():
    vocabulary = Vocabulary([*SPECIAL_WORDS, "esta"])
    sentences = ["¿Está aquí?", ""]
    assert vocabulary.tokenize(iter(sentences)) == [split_words(s) for s in sentences]


def test_ids_are_those_of_the_tokens():
    sentences = ODD + odd_sentences(499, seed=5)
    vocabulary = Vocabulary.learn(sentences, 97)
    rows = [
        [2, *(vocabulary.id_of(word) for word, _ in pairs), 3]
        for pairs in vocabulary.tokenize(sentences)
    ]
    ids = vocabulary.ids(sentences)
    assert ids.shape == (len(sentences), max(map(len, rows)))
    for row, expected in zip(ids, rows, strict=True):
        assert row[: len(expected)].tolist() == expected
        assert not row[len(expected) :].any()


def test_words_are_joined_with_punctuation_where_it_is_written():
    vocabulary = Vocabulary(SPECIAL_WORDS)
    assert vocabulary.join(["¿", "[UNK]", "casa", "?"]) == "¿[UNK] casa?"


def test_each_word_is_a_group_of_its_own():
    assert Vocabulary(SPECIAL_WORDS).word_groups(["[START]", "casa", "?"]) == [[0], [1], [2]]


def test_the_kinds_of_tokens_have_names():
    assert {"word": Vocabulary, "wordpiece": WordPieces} == KINDS
    assert [kind.kind for kind in KINDS.values()] == list(KINDS)


@pytest.mark.parametrize("piece", ["##s", "￭?"])
def test_word_pieces_are_no_vocabulary_of_words(tmp_path, piece):
    WordPieces([*SPECIAL_WORDS, "casa", piece, "##da"]).save(tmp_path / "words.txt")
    message = rf"words\.txt is not a vocabulary: expected words, got '{piece}'.* 'wordpiece'"
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        Vocabulary.load(tmp_path / "words.txt")


def test_a_single_string_is_not_a_list_of_sentences():
    with pytest.raises(ValueError, match=r"got one string; use \['hola mundo'\]"):
        Vocabulary.learn("hola mundo")
    with pytest.raises(ValueError, match=r"got one string; use \['hola'\]"):
        Vocabulary.learn(["hola mundo"]).ids("hola")
