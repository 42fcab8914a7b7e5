"""Word pieces: few tokens spell every word, and joining them restores the sentence as written."""

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import regex

from keras_attention.text.normalization import import_tensorflow_text
from keras_attention.text.tokens import (
    CONTINUATION,
    JOINER,
    SPECIAL_WORDS,
    Tokens,
    check_learnable,
    is_piece,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_APOSTROPHES = "'’"
_OF_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]")
# A word or a mark; blanks are those of `str.isspace`.
_TOKEN = regex.compile(
    rf"{_OF_WORDS.pattern}+(?:[{_APOSTROPHES}]{_OF_WORDS.pattern}+)*|[^\s\x1c-\x1f]"
)
_LONGEST = 50  # characters of the longest word that KerasNLP learns from
_TIMES = 5  # repeats of each word: KerasNLP requires ten, so two in the corpus suffice


class WordPieces(Tokens):
    """Frequent pieces of the words of one language, with case, accents, digits and punctuation.

    `split_marks` splits a sentence into words and marks. Each word is split into pieces, always the
    longest that fits (WordPiece). A piece that continues a word begins with `##`, and a mark
    has the joiner `￭` where it touches its neighbour. So `join` inverts `tokenize`, up to blanks
    and Unicode composition (NFC). A word has the id of `[UNK]` only if one of its characters is
    missing; `unknown` also names words that pieces can spell but that were not in the sentences.

    Args:
        words: all pieces in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".
        known: the words of the sentences that the pieces were learned from, in lower case. Empty:
            every word that pieces can spell is known.

    Raises:
        ValueError: the first four pieces differ from these, a piece occurs twice, or all are whole
            words.

    Example:
    >>> pieces = WordPieces(["", "[UNK]", "[START]", "[END]", "casa", "##s", "¿￭", "￭?"])
    >>> pieces.tokenize(["¿Mis casas?"])
    [[('¿￭', '¿'), ('Mis', 'Mis'), ('casa', 'casa'), ('##s', 's'), ('￭?', '?')]]
    >>> pieces.ids(["¿Mis casas?"]).tolist()
    [[2, 6, 1, 4, 5, 7, 3]]
    >>> pieces.join(["¿￭", "[UNK]", "casa", "##s", "￭?"])
    '¿[UNK] casas?'
    """

    kind: str = "wordpiece"

    def __init__(self, words: Iterable[str], known: Iterable[str] = ()):
        super().__init__(words)
        self.known = frozenset(known)
        if not any(map(is_piece, self.words)):
            raise ValueError(
                f"expected word pieces, some with {CONTINUATION} or {JOINER}, "
                "got only whole words, the kind 'word'"
            )

    @classmethod
    def learn(cls, sentences: Iterable[str], size: int = 8000) -> "Self":
        """Learn the pieces of some sentences with KerasNLP, the same pieces every time.

        Every character of the sentences is a piece, so that they contain no unknown word, and so is
        every mark with each of its joiners. The most frequent of the pieces that occur at least
        twice follow. The number of pieces never exceeds `size`; it can be up to a tenth smaller,
        and much smaller for a small corpus.

        Args:
            sentences: strings as users write them.
            size: the most pieces to keep, including the four special ones.

        Raises:
            ValueError: `size` is too small for all characters, or no sentence has a character.
        """
        sentences = check_learnable(sentences, size)
        words = [token.strip(JOINER) for s in sentences for token in split_marks(s)]
        characters = sorted(set("".join(words)))
        if not characters:
            raise ValueError("word pieces need characters to learn from, got only blank sentences")
        first = [*SPECIAL_WORDS, *(form for c in characters for form in _forms(c))]
        if size < len(first):
            raise ValueError(
                f"size must be at least {len(first)} for the pieces of the {len(characters)} "
                f"characters that occur, got {size}"
            )
        known = {word.lower() for word in words if any(map(str.isalpha, word))}
        # KerasNLP fails on an empty list; single characters are pieces already.
        words = [word for word in words if 1 < len(word) <= _LONGEST]
        return cls(_learn(words, first, size) if words else first, known)

    def tokenize(self, sentences: Iterable[str]) -> list[list[tuple[str, str]]]:
        """Split sentences into pieces.

        Args:
            sentences: N strings as users write them.

        Returns:
            N lists of pairs (piece, its spelling in the sentence). A word or a mark that pieces
            cannot spell stays whole, and its id is that of `[UNK]`.
        """
        split = [split_marks(sentence) for sentence in sentences]
        pieces = {token: self._pieces(token) for token in {t: None for each in split for t in each}}
        return [[piece for token in tokens for piece in pieces[token]] for tokens in split]

    def _pieces(self, token):
        """Return the pieces of a word or a mark, each with its spelling."""
        pieces = []
        start = 0
        while start < len(token):
            begin = CONTINUATION if start else ""
            ends = range(min(len(token), start + self._most_characters), start, -1)
            end = next((end for end in ends if begin + token[start:end] in self._id_of), None)
            if end is None:
                return [(token, token.strip(JOINER))]
            pieces.append((begin + token[start:end], token[start:end].strip(JOINER)))
            start = end
        return pieces

    @cached_property
    def _most_characters(self):
        """The number of characters of the longest piece."""
        return max(map(len, self.words))

    def join(self, tokens: Iterable[str]) -> str:
        """Join pieces into the sentence that they came from.

        Accept any sequence that a model may write: a piece that continues no word begins one.
        """
        tokens = list(tokens)
        words = (
            "".join(tokens[place].removeprefix(CONTINUATION) for place in group)
            for group in self.word_groups(tokens)
        )
        return re.sub(f" ?{JOINER} ?", "", " ".join(words))

    def unknown(self, tokens: Sequence[str]) -> list[int]:
        """Return the positions of pieces of words that the sentences learned from did not hold.

        Example:
        >>> pieces = WordPieces(["", "[UNK]", "[START]", "[END]", "casa", "##s"], known=["casa"])
        >>> pieces.unknown(["[START]", "casa", "casa", "##s", "[END]"])
        [2, 3]
        """
        places = set(super().unknown(tokens))
        for group in self.word_groups(tokens) if self.known else ():
            word = "".join(tokens[place].removeprefix(CONTINUATION) for place in group).lower()
            if word[:1].isalpha() and word not in self.known:
                places |= set(group)
        return sorted(places)

    def word_groups(self, tokens: Sequence[str]) -> list[list[int]]:
        """Return the token positions of each written word.

        Args:
            tokens: pieces and special tokens.

        Returns:
            Lists of positions: the pieces of a word together, each mark and each special token by
            itself, even where it touches a word.

        Example:
        >>> pieces = WordPieces(["", "[UNK]", "[START]", "[END]", "casa", "##s", "￭?"])
        >>> pieces.word_groups(["[START]", "casa", "##s", "￭?", "[END]"])
        [[0], [1, 2], [3], [4]]
        """
        groups: list[list[int]] = []
        before = ""
        for place, token in enumerate(tokens):
            in_word = before.startswith(CONTINUATION) or _is_of_words(before[:1])
            if in_word and token.startswith(CONTINUATION):
                groups[-1].append(place)
            else:
                groups.append([place])
            before = token
        return groups


def split_marks(sentence: str) -> list[str]:
    """Split a sentence into words and marks from which it can be restored.

    A word is a run of letters, accents and digits, with apostrophes inside; a mark is any other
    character except blanks. A mark has the joiner `￭` on the side where it touches its neighbour;
    between two marks, the second has it, as in OpenNMT's tokenizer. Successive blanks count as one.
    Joiners in the sentence are dropped, and so are NUL and unpaired surrogates, which TensorFlow
    Text cannot read.

    Args:
        sentence: the sentence as written; it is composed first (NFC).

    Returns:
        A list of words and marks.

    Example:
    >>> split_marks("¿Todavía están?  I don't... a-b")
    ['¿￭', 'Todavía', 'están', '￭?', 'I', "don't", '￭.', '￭.', '￭.', 'a', '￭-￭', 'b']
    """
    text = unicodedata.normalize("NFC", re.sub(rf"[{JOINER}\0\ud800-\udfff]", "", sentence))
    tokens = []
    for match in _TOKEN.finditer(text):
        token, start, end = match.group(), match.start(), match.end()
        if not _is_of_words(token[0]):
            before = JOINER if start and not text[start - 1].isspace() else ""
            after = JOINER if _is_of_words(text[end : end + 1]) else ""
            token = before + token + after
        tokens.append(token)
    return tokens


@cache
def word_pattern() -> str:
    """Return the regular expression of a word for RE2, whose Unicode may be another version."""
    characters = map(chr, range(sys.maxunicode + 1))
    runs = [list(run) for is_word, run in groupby(characters, _is_of_words) if is_word]
    letter = f"[{''.join(f'{run[0]}-{run[-1]}' for run in runs)}]"
    return rf"{letter}+(?:[{_APOSTROPHES}]{letter}+)*"


def _is_of_words(character):
    return _OF_WORDS.match(character) is not None


def _forms(character):
    """List the pieces that make a character known wherever it occurs."""
    if _is_of_words(character):
        return [character, CONTINUATION + character]
    forms = [left + character + right for left in ("", JOINER) for right in ("", JOINER)]
    return [*forms, CONTINUATION + character] if character in _APOSTROPHES else forms


def _learn(words, first, size):
    import tensorflow as tf

    import_tensorflow_text()
    try:
        import keras_nlp
    except ImportError as error:
        raise ImportError(
            "KerasNLP is needed to learn word pieces but is not installed: pip install keras-nlp"
        ) from error
    return keras_nlp.tokenizers.compute_word_piece_vocabulary(
        tf.data.Dataset.from_tensors(tf.constant(words, dtype=tf.string)).repeat(_TIMES),
        size,
        lowercase=False,
        strip_accents=False,
        split=False,
        suffix_indicator=CONTINUATION,
        reserved_tokens=first,
    )
