"""What words and pieces of words have in common: tokens, their ids and their file."""

from pathlib import Path

import numpy as np

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
SPECIAL_WORDS = ("", "[UNK]", "[START]", "[END]")
CONTINUATION = "##"  # begins a piece that continues a word
JOINER = "￭"  # stands where a mark touches its neighbour


class Tokens:
    """The tokens of one language and their ids: 0 padding, 1 `[UNK]`, 2 `[START]`, 3 `[END]`.

    `Vocabulary` and `WordPieces` add how they `learn`, `tokenize`, `join` and group into
    `word_groups`.

    Args:
        words: all tokens in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".

    Attributes:
        kind: name of the class in `keras_attention.text.KINDS`.

    Raises:
        ValueError: the first four are others, or a token occurs twice.
    """

    kind = None

    def __init__(self, words):
        self.words = tuple(words)
        if self.words[:4] != SPECIAL_WORDS:
            raise ValueError(
                f"a vocabulary begins with the words {SPECIAL_WORDS}, got {self.words[:4]}"
            )
        self._id_of = {word: number for number, word in enumerate(self.words)}
        if len(self._id_of) != len(self.words):
            repeated = next(w for n, w in enumerate(self.words) if self._id_of[w] != n)
            raise ValueError(f"a vocabulary holds each word once, got {repeated!r} twice")

    def ids(self, sentences):
        """Look up sentences: [START], the tokens of `tokenize`, [END].

        Args:
            sentences: N strings as users write them.

        Returns:
            Integers (N, L), int32, padded with 0 to the longest.
        """
        rows = [
            [START, *(self.id_of(token) for token, _ in tokens), END]
            for tokens in self.tokenize(sentences)
        ]
        ids = np.full((len(rows), max(map(len, rows), default=2)), PADDING, dtype="int32")
        for row, numbers in zip(ids, rows, strict=True):
            row[: len(numbers)] = numbers
        return ids

    def id_of(self, token):
        """Return the id of a token, that of `[UNK]` if it is not here."""
        return self._id_of.get(token, UNKNOWN)

    def words_of(self, ids):
        """Return the tokens of a sequence of ids up to `[END]`, without padding and `[START]`."""
        words = []
        for number in ids:
            if number == END:
                break
            if number not in (PADDING, START):
                words.append(self.words[number])
        return words

    def save(self, path):
        """Write one token a line, UTF-8; the line of padding is empty."""
        Path(path).write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a vocabulary, or one of the other kind.
        """
        try:
            return cls(Path(path).read_text(encoding="utf-8").split("\n")[:-1])
        except ValueError as error:
            raise ValueError(f"{path} is not a vocabulary: {error}") from error

    def __len__(self):
        return len(self.words)


def is_piece(token):
    """Return whether a token is one that `WordPieces` has and `Vocabulary` has not."""
    return token.startswith(CONTINUATION) or JOINER in token


def check_learnable(sentences, size):
    """Return sentences as a list, from which so many tokens can be learned.

    Raises:
        ValueError: `size` leaves no room for a token, or there is no sentence.
    """
    sentences = list(sentences)
    if size <= len(SPECIAL_WORDS):
        raise ValueError(f"size must be above {len(SPECIAL_WORDS)}, got {size}")
    if not sentences:
        raise ValueError("a vocabulary is learned from at least one sentence, got none")
    return sentences
