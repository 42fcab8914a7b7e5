import random
import unicodedata

import numpy as np
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

from keras_attention.text import SPECIAL_WORDS, UNKNOWN, Vocabulary, WordPieces
from keras_attention.text.word_pieces import split_marks
from tests.text.sentences import ODD, odd_sentences

HARD = [
    *ODD,
    "It's 3.50, isn't it?! \"Yes...\" — she said.",
    "«¿Qué?», dijo ('a-b'); 10,000 €/kg @home #tag ##tag [UNK]￭ ￭ a_b __ _",
    "rock 'n' roll, the dogs' o’clock ‘x’ d''x don't’",
    "\ud800lone\udfff surrogates\udc00",
    "e\u0301 e￭\u0301 ?\u0301 \u0301? \u0301\u0327",
    "❤️ 👍🏽 🇪🇸 क्षि می\u200cخواهم soft\u00adhyphen",
    "\ufeffbyte order\u2028line\x1cfile\x85next\u3000wide",
    "=\u0338 \u2000\u212b\u1e9b\u0323",
]
CORPUS = [
    "¿Todavía están en casa?",
    "No, no están en casa.",
    '"Las casas están vacías", dijo.',
    "I don't know, Tom's still at home.",
    "Are you still at home? Don't know!",
]


def plain(sentence):
    """Return a sentence as it comes back: composed, with single blanks, without the joiner."""
    text = "".join(c for c in sentence if c not in "￭\0" and unicodedata.category(c) != "Cs")
    return " ".join(unicodedata.normalize("NFC", text).split())


def marks_of(sentence):
    """Split a sentence into words and marks, without joiners, character by character."""
    tokens = []
    inside = False
    text = plain(sentence)
    for place, character in enumerate(text):
        letter, after = (
            bool(c) and unicodedata.category(c)[0] in "LMN"
            for c in (character, text[place + 1 : place + 2])
        )
        if inside and (letter or (character in "'’" and after)):
            tokens[-1] += character
        elif not character.isspace():
            tokens.append(character)
        inside = not character.isspace() and (letter or (inside and character in "'’" and after))
    return tokens


def greedy(token, words):
    """Split a word into the longest pieces that fit, from its beginning; or not at all."""
    pieces, rest = [], token
    while rest:
        begin = "##" if pieces else ""
        fits = [n for n in range(len(rest), 0, -1) if begin + rest[:n] in words]
        if not fits:
            return [token]
        pieces.append(begin + rest[: fits[0]])
        rest = rest[fits[0] :]
    return pieces


@pytest.fixture(scope="module")
def pieces():
    return WordPieces.learn(CORPUS)


@pytest.fixture(scope="module")
def pieces_of_anything():
    return WordPieces.learn(HARD + odd_sentences(499, seed=6), size=20_011)


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("Are you at home?", "Are you at home ￭?"),
        ("¿Todavía están?", "¿￭ Todavía están ￭?"),
        ("Me costó 3.50, o 10,000.", "Me costó 3 ￭.￭ 50 ￭, o 10 ￭,￭ 000 ￭."),
        ("Well... what?!", "Well ￭. ￭. ￭. what ￭? ￭!"),
        ("a-b a - b a -b a- b", "a ￭-￭ b a - b a -￭ b a ￭- b"),
        ('"Hi", he said.', '"￭ Hi ￭" ￭, he said ￭.'),
        ("don't o’clock dogs' 'n' d''x", "don't o’clock dogs ￭' '￭ n ￭' d ￭' ￭'￭ x"),
        ("—¿Qué?", "— ￭¿￭ Qué ￭?"),
        ("snake_case __", "snake ￭_￭ case _ ￭_"),
        ("👩\u200d👧 hi👍", "👩 ￭\u200d ￭👧 hi ￭👍"),
        ("[UNK] ##s", "[￭ UNK ￭] # ￭#￭ s"),
        ("a ￭b ￭", "a b"),
        ("nin\u0303o e￭\u0301l", "niño él"),
        ("x\u0331y", "x\u0331y"),
        (" \t\n", ""),
    ],
)
def test_marks_stand_alone_and_say_where_they_touch(sentence, tokens):
    assert split_marks(sentence) == tokens.split()


def test_words_and_marks_are_those_of_a_plain_loop():
    for sentence in HARD + odd_sentences(997, seed=7):
        assert [token.strip("￭") for token in split_marks(sentence)] == marks_of(sentence)


def test_a_sentence_comes_back_as_it_was_written(pieces):
    for sentence in CORPUS:
        (tokens,) = pieces.tokenize([sentence])
        assert pieces.join(token for token, _ in tokens) == sentence


def test_any_sentence_comes_back_if_its_characters_are_known(pieces_of_anything):
    rng = random.Random(8)
    characters = sorted({c for word in pieces_of_anything.words[4:] for c in word} - {"￭"})
    usual = [*"aeñ", "\u0301", "\u200d", *" \t\u00a0.,?!¿'’-_\"#"]
    sentences = [
        "".join(rng.choice(usual if rng.random() < 0.7 else characters) for _ in range(23))
        for _ in range(499)
    ]
    for sentence, ids in zip(sentences, pieces_of_anything.ids(sentences), strict=True):
        if all(c in characters for c in "".join(plain(sentence).split())):  # NFC may compose others
            assert UNKNOWN not in ids
            assert pieces_of_anything.join(pieces_of_anything.words_of(ids)) == plain(sentence)


def test_a_learned_sentence_has_no_unknown_word_and_comes_back(pieces_of_anything):
    sentences = HARD + odd_sentences(499, seed=6)
    for sentence, ids in zip(sentences, pieces_of_anything.ids(sentences), strict=True):
        assert UNKNOWN not in ids
        assert pieces_of_anything.join(pieces_of_anything.words_of(ids)) == plain(sentence)


@pytest.mark.parametrize("learned", ["pieces", "pieces_of_anything"])
def test_pieces_are_the_longest_that_fit(request, learned):
    learned = request.getfixturevalue(learned)
    words = set(learned.words)
    sentences = HARD + CORPUS + odd_sentences(499, seed=9)
    for sentence, tokens in zip(sentences, learned.tokenize(sentences), strict=True):
        expected = [piece for token in split_marks(sentence) for piece in greedy(token, words)]
        assert [token for token, _ in tokens] == expected


def test_a_word_of_any_length_is_made_of_pieces(pieces):
    ((*tokens,),) = pieces.tokenize(["est\u00e1" * 4999])
    assert "".join(spelling for _, spelling in tokens) == "está" * 4999
    assert UNKNOWN not in pieces.ids(["está" * 4999])


@pytest.mark.parametrize("learned", ["pieces", "pieces_of_anything"])
def test_the_spellings_of_a_word_are_what_the_user_wrote(request, learned):
    learned = request.getfixturevalue(learned)
    sentences = HARD + CORPUS + odd_sentences(499, seed=10)
    for sentence, tokens in zip(sentences, learned.tokenize(sentences), strict=True):
        groups = learned.word_groups([token for token, _ in tokens])
        written = ["".join(tokens[place][1] for place in group) for group in groups]
        assert written == marks_of(sentence)
        assert all(spelling for _, spelling in tokens)


def test_an_unknown_word_stays_whole(pieces):
    (tokens,) = pieces.tokenize(["¿Niña, €?"])
    assert tokens == [("¿￭", "¿"), ("Niña", "Niña"), ("￭,", ","), ("€", "€"), ("￭?", "?")]
    assert [pieces.id_of(token) == UNKNOWN for token, _ in tokens] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert pieces.join(token for token, _ in tokens) == "¿Niña, €?"


@pytest.mark.parametrize("learned", ["pieces", "pieces_of_anything"])
def test_ids_are_those_of_the_tokens(request, learned):
    learned = request.getfixturevalue(learned)
    sentences = HARD + odd_sentences(499, seed=11)
    rows = [
        [2, *(learned.id_of(token) for token, _ in tokens), 3]
        for tokens in learned.tokenize(sentences)
    ]
    ids = learned.ids(iter(sentences))
    assert ids.dtype == np.int32
    assert ids.shape == (len(sentences), max(map(len, rows)))
    for row, expected in zip(ids, rows, strict=True):
        assert row[: len(expected)].tolist() == expected
        assert not row[len(expected) :].any()


def test_ids_stand_between_start_and_end_and_are_padded():
    pieces = WordPieces([*SPECIAL_WORDS, "casa", "##s", "￭?"])
    ids = pieces.ids(["casas?", "Casas casa", ""])
    np.testing.assert_array_equal(ids, [[2, 4, 5, 6, 3], [2, 1, 4, 3, 0], [2, 3, 0, 0, 0]])
    assert pieces.ids([]).shape == (0, 2)


def test_accents_are_composed_before_the_look_up(pieces):
    decomposed = [unicodedata.normalize("NFD", sentence) for sentence in CORPUS]
    np.testing.assert_array_equal(pieces.ids(decomposed), pieces.ids(CORPUS))


@pytest.mark.parametrize(
    ("tokens", "sentence", "groups"),
    [
        (["casa", "##s", "￭?"], "casas?", [[0, 1], [2]]),
        (["¿￭", "c", "##as", "##a", "￭?"], "¿casa?", [[0], [1, 2, 3], [4]]),
        (["a", "￭-￭", "b", "##c"], "a-bc", [[0], [1], [2, 3]]),
        (["Tom", "##'", "##s"], "Tom's", [[0, 1, 2]]),
        (["3", "￭.￭", "5", "##0"], "3.50", [[0], [1], [2, 3]]),
        # What a model may write:
        (["##s", "##a", "b"], "sa b", [[0, 1], [2]]),
        (["[UNK]", "##s", "￭."], "[UNK] s.", [[0], [1], [2]]),
        (["hi", "￭?", "##s"], "hi? s", [[0], [1], [2]]),
        (["￭?", "￭!", "hi", "¿￭"], "?! hi ¿", [[0], [1], [2], [3]]),
        (["a￭", "￭b", "(￭", "￭)"], "ab ()", [[0], [1], [2], [3]]),
        ([], "", []),
    ],
)
def test_pieces_are_joined_to_words_and_marks_to_their_neighbours(pieces, tokens, sentence, groups):
    assert pieces.join(tokens) == sentence
    assert pieces.word_groups(tokens) == groups


def test_special_tokens_are_groups_of_their_own(pieces):
    tokens = ["[START]", "casa", "##s", "￭?", "[UNK]", "[END]", ""]
    assert pieces.word_groups(tokens) == [[0], [1, 2], [3], [4], [5], [6]]


def test_characters_come_first_then_what_occurs_twice():
    learned = WordPieces.learn(["xy!", "xy xz"])
    marks = ("!", "!￭", "￭!", "￭!￭")
    assert learned.words == (*SPECIAL_WORDS, *marks, "x", "##x", "y", "##y", "z", "##z", "xy")


def test_an_apostrophe_is_known_in_a_word_and_as_a_mark():
    for corpus in (["don't"], ["'to nod'"]):
        learned = WordPieces.learn(corpus)
        assert UNKNOWN not in learned.ids(["don't", "'to nod'", "n'", "'n", "o'n", "n ' n", "''"])


@pytest.mark.parametrize("size", [89, 97, 101, 8000])
def test_there_are_never_more_pieces_than_asked_for(size):
    corpus = CORPUS + [f"{begin}ando {begin}ar" for begin in ("cant", "salt", "and", "habl")] * 3
    learned = WordPieces.learn(corpus, size=size)
    assert 85 <= len(learned) <= size
    assert UNKNOWN not in learned.ids(corpus)


def test_frequent_words_are_whole_and_their_endings_are_pieces():
    begins = ("cant", "salt", "habl", "mir", "tom", "pas")
    learned = WordPieces.learn([f"{begin}ando" for begin in begins] * 7 + ["la casa"] * 11, size=60)
    assert {"casa", "la"} <= set(learned.words)
    assert any(word.endswith("ando") for word in learned.words)


def test_learning_is_deterministic(pieces):
    shuffled = CORPUS[:]
    random.Random(12).shuffle(shuffled)
    assert WordPieces.learn(iter(CORPUS)).words == pieces.words
    assert WordPieces.learn(shuffled).words == pieces.words


@pytest.mark.parametrize("corpus", [["a"], ["a b"], ["?"], ["x" * 97], ["", "a"], ["😀 1"]])
def test_a_corpus_without_long_words_has_its_characters(corpus):
    learned = WordPieces.learn(corpus)
    assert UNKNOWN not in learned.ids(corpus)


@pytest.mark.parametrize(
    ("sentences", "size", "message"),
    [
        (["hola"], 4, "size must be above 4, got 4"),
        (["hola!"], 15, r"at least 16 for the pieces of the 5 characters that occur, got 15"),
        ([], 50, "at least one sentence to learn from, got none"),
        (["", " \t", "￭"], 50, "got only blank sentences"),
    ],
)
def test_word_pieces_need_characters_and_room(sentences, size, message):
    with pytest.raises(ValueError, match=message):
        WordPieces.learn(sentences, size)


def test_saved_pieces_are_the_same(tmp_path, pieces_of_anything):
    path = tmp_path / "pieces.txt"
    pieces_of_anything.save(path)
    loaded = WordPieces.load(path)
    assert loaded.words == pieces_of_anything.words
    np.testing.assert_array_equal(loaded.ids(HARD), pieces_of_anything.ids(HARD))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "begins with the words"),
        ("hola\n##s\n", "begins with the words"),
        ("\n[UNK]\n[START]\n[END]\na\n##a\n##a\n", "'##a' twice"),
        ("\n[UNK]\n[START]\n[END]\nhola\n?\n", "got only whole words, the kind 'word'"),
        ("\n[UNK]\n[START]\n[END]\n", "got only whole words"),
    ],
)
def test_a_bad_file_of_pieces_is_an_error_that_names_it(tmp_path, content, message):
    path = tmp_path / "pieces.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        WordPieces.load(path)
    assert str(error.value).startswith(f"{path} is not a vocabulary: ")


def test_words_are_no_word_pieces(tmp_path):
    Vocabulary.learn(["¿Dónde está?"]).save(tmp_path / "words.txt")
    with pytest.raises(ValueError, match="got only whole words, the kind 'word'"):
        WordPieces.load(tmp_path / "words.txt")


@pytest.mark.thorough
@pytest.mark.parametrize("column", [0, 1], ids=["English", "Spanish"])
def test_sentences_of_the_real_corpus_come_back(shared_data, column):
    def read(name):
        text = (shared_data / "spa-eng" / name).read_text(encoding="utf-8")
        return [line.split("\t")[column] for line in text.splitlines()]

    learned = WordPieces.learn(read("train.tsv")[::23], size=2003)
    assert 1700 < len(learned) <= 2003
    sentences = read("dev.tsv")
    ids = learned.ids(sentences)
    assert (ids == UNKNOWN).sum() / (ids > 0).sum() < 1e-3
    for sentence, row, tokens in zip(sentences, ids, learned.tokenize(sentences), strict=True):
        assert learned.join(token for token, _ in tokens) == plain(sentence)
        assert learned.join(learned.words_of(row)) == plain(sentence) or UNKNOWN in row


def test_a_word_that_was_not_learned_from_is_unknown_though_pieces_spell_it():
    pieces = WordPieces.learn(CORPUS, 400)
    assert {"todavía", "don't", "tom's", "home"} <= pieces.known
    assert not {"¿", "?", ","} & pieces.known
    (tokens,) = pieces.split(["Todavía casos, Tom's no so Ж"])
    unknown = [tokens[place] for place in pieces.unknown(tokens)]
    whole = pieces.join(unknown).split()
    assert whole == ["casos", "so", "Ж"]
    assert WordPieces(pieces.words).unknown(tokens) == [tokens.index("Ж")]
    assert pieces.unknown([""]) == []
