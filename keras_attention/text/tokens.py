"""What words and word pieces have in common: tokens, their ids and their file."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
SPECIAL_WORDS = ("", "[UNK]", "[START]", "[END]")
CONTINUATION = "##"  # starts a piece that continues a word
JOINER = "￭"  # marks the side on which a mark touches its neighbour


class Tokens:
    """The tokens of one language and their ids: 0 padding, 1 `[UNK]`, 2 `[START]`, 3 `[END]`.

    `Vocabulary` and `WordPieces` add `learn`, `tokenize`, `join` and `word_groups`.

    Args:
        words: all tokens in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".

    Attributes:
        kind: name of the class in `keras_attention.text.KINDS`.
        known: the words of the sentences that it was learned from, in lower case, if pieces alone
            do not tell; else empty.

    Raises:
        ValueError: the first four tokens differ from these, or a token occurs twice.
    """

    kind: str | None = None
    known: frozenset[str] = frozenset()
    # Subclasses define these as methods.
    tokenize: Callable[[Iterable[str]], list[list[tuple[str, str]]]]
    join: Callable[[Iterable[str]], str]
    word_groups: Callable[[Sequence[str]], list[list[int]]]

    def __init__(self, words: Iterable[str]):
        self.words = tuple(words)
        if self.words[:4] != SPECIAL_WORDS:
            raise ValueError(
                f"a vocabulary begins with the words {SPECIAL_WORDS}, got {self.words[:4]}"
            )
        self._id_of = {word: number for number, word in enumerate(self.words)}
        if len(self._id_of) != len(self.words):
            repeated = next(w for n, w in enumerate(self.words) if self._id_of[w] != n)
            raise ValueError(f"a vocabulary holds each word once, got {repeated!r} twice")

    def ids(self, sentences: Iterable[str]) -> np.ndarray:
        """Return the ids of sentences: [START], the tokens of `tokenize`, [END].

        Args:
            sentences: N strings as users write them.

        Returns:
            Ids (N, L), int32, padded with 0 to the longest sentence.

        Raises:
            ValueError: `sentences` is a single string.
        """
        return self.ids_of(self.split(check_several(sentences)))

    def ids_of(self, split: Iterable[Iterable[str]]) -> np.ndarray:
        """Return the ids of N sentences that are split into tokens, as `ids` does."""
        return padded([enclosed(map(self.id_of, tokens)) for tokens in split])

    def split(self, sentences: Iterable[str]) -> list[list[str]]:
        """Split N sentences into tokens; `tokenize` has their spellings as well."""
        return [[token for token, _ in tokens] for tokens in self.tokenize(sentences)]

    def id_of(self, token: str) -> int:
        """Return the id of a token, or the id of `[UNK]` if the token is missing."""
        return self._id_of.get(token, UNKNOWN)

    def words_of(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of a sequence of ids up to `[END]`, without padding and `[START]`."""
        words = []
        for number in ids:
            if number == END:
                break
            if number not in (PADDING, START):
                words.append(self.words[number])
        return words

    def unknown(self, tokens: Sequence[str]) -> list[int]:
        """Return the positions of the tokens that are missing."""
        return [place for place, token in enumerate(tokens) if token not in self._id_of]

    def save(self, path: Path | str) -> None:
        """Write one token per line, in UTF-8; the line of the padding token is empty."""
        Path(path).write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> "Self":
        """Read a file that `save` wrote.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: the file is not a vocabulary, or is one of the other kind.
        """
        try:
            return cls(Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n"))
        except ValueError as error:
            raise ValueError(f"{path} is not a vocabulary: {error}") from error

    def __len__(self) -> int:
        return len(self.words)


def enclosed(tokens: Iterable[Any], start: Any = START, end: Any = END) -> list[Any]:
    """Return a sentence, ids or strings, between `[START]` and `[END]`."""
    return [start, *tokens, end]


def shifted_right(tokens: Iterable[Any], start: Any = START) -> list[Any]:
    """Return what a decoder is fed to write some tokens: `[START]`, and all but the last.

    Example:
    >>> shifted_right(["at", "home", "[END]"], start="[START]")
    ['[START]', 'at', 'home']
    """
    return [start, *tokens][:-1]


def padded(rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    """Return rows of ids as one array (N, L), int32, padded with 0."""
    ids = np.full((len(rows), max(map(len, rows), default=2)), PADDING, dtype="int32")
    for row, numbers in zip(ids, rows, strict=True):
        row[: len(numbers)] = numbers
    return ids


def is_piece(token: str) -> bool:
    """Return whether a token can occur in `WordPieces` but not in `Vocabulary`."""
    return token.startswith(CONTINUATION) or JOINER in token


def check_several(sentences: Iterable[str]) -> list[str]:
    """Return sentences as a list.

    Raises:
        ValueError: they are a single string, whose letters would pass for sentences.
    """
    if isinstance(sentences, str):
        raise ValueError(f"expected a list of sentences, got one string; use [{sentences!r}]")
    return list(sentences)


def check_learnable(sentences: Iterable[str], size: int) -> list[str]:
    """Check that `size` tokens can be learned from sentences, and return these as a list.

    Raises:
        ValueError: `size` is too small for any token, there is no sentence, or there is a single
            string in place of a list.
    """
    sentences = check_several(sentences)
    if size <= len(SPECIAL_WORDS):
        raise ValueError(f"size must be above {len(SPECIAL_WORDS)}, got {size}")
    if not sentences:
        raise ValueError("a vocabulary needs at least one sentence to learn from, got none")
    return sentences
