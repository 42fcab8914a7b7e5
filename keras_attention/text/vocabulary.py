"""The words of one language, as in the tutorial."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from keras_attention.text.normalization import (
    join_words,
    normalized_words,
    shortened,
    split_words,
)
from keras_attention.text.tokens import SPECIAL_WORDS, Tokens, check_learnable, is_piece

if TYPE_CHECKING:
    from typing_extensions import Self


class Vocabulary(Tokens):
    """The most frequent words of one language, normalised: lower case, no accents, no digits.

    Args:
        words: all words in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".

    Raises:
        ValueError: the first four words differ from these, a word occurs twice, or some are
            word pieces.
    """

    kind: str = "word"

    def __init__(self, words: Iterable[str]):
        super().__init__(words)
        pieces = list(filter(is_piece, self.words))
        if pieces:
            raise ValueError(
                f"expected words, got {pieces[0]!r}: these are word pieces, the kind 'wordpiece'"
            )

    @classmethod
    def learn(cls, sentences: Iterable[str], size: int = 5000) -> "Self":
        """Learn the most frequent words of some sentences.

        Args:
            sentences: strings as users write them.
            size: the most words to keep, including the four special ones.

        Raises:
            ValueError: `size` is too small for any word, there is no sentence, or none has a word.
        """
        sentences = check_learnable(sentences, size)
        counts = Counter(word for sentence in sentences for word in normalized_words(sentence))
        if not counts:
            raise ValueError(
                "expected words in the letters a-z, got sentences such as "
                f"{shortened(sentences[0])}; pieces of words know every script: WordPieces, "
                "or --tokens wordpiece"
            )
        # Words of the same frequency in reverse order, as in Keras' `TextVectorization`.
        ranked = sorted(counts, key=lambda word: (counts[word], word), reverse=True)
        return cls([*SPECIAL_WORDS, *ranked[: size - len(SPECIAL_WORDS)]])

    def tokenize(self, sentences: Iterable[str]) -> list[list[tuple[str, str]]]:
        """Split sentences into the words of `split_words`.

        Args:
            sentences: N strings as users write them.

        Returns:
            N lists of pairs (word, spelling in the sentence). A word that is not in the vocabulary
            stays unchanged.
        """
        return [split_words(sentence) for sentence in sentences]

    def split(self, sentences: Iterable[str]) -> list[list[str]]:
        """Split N sentences into words, without their spellings, which is faster."""
        return [normalized_words(sentence) for sentence in sentences]

    def join(self, tokens: Iterable[str]) -> str:
        """Join words into a sentence with `join_words`."""
        return join_words(tokens)

    def word_groups(self, tokens: Sequence[str]) -> list[list[int]]:
        """Return the token positions of each written word: one token per word."""
        return [[place] for place, _ in enumerate(tokens)]
