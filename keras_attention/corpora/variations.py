"""Variations of sentence pairs: other ids in every pass, so that few pairs teach more."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_attention.corpora.shapes import LONGEST
from keras_attention.text import END, START, Tokens, WordPieces


class Variations:
    """The ids of sentence pairs, which differ from pass to pass.

    In every pass, words are split into other pieces, and other pairs are joined: two sentences, one
    after the other, and the translations of both. Joined pairs teach a model the positions of long
    sentences, of which a corpus of short ones has few.

    Args:
        pairs: N pairs with `context` and `target`.
        context_vocabulary: `keras_attention.text.Vocabulary` or `WordPieces` of the context
            sentences.
        target_vocabulary: that of the target sentences.
        piece_dropout: probability with which a piece that fits is passed over, see
            `keras_attention.text.WordPieces.split_at_random`; 0: always the longest pieces.
        joined: fraction of the pairs that are joined to another one.
        seed: random seed; it and the number of a pass alone determine its ids.

    Raises:
        ValueError: a fraction is not in its range, or is above 0 for words, which have no pieces.
    """

    def __init__(
        self,
        pairs: Sequence[Any],
        context_vocabulary: Tokens,
        target_vocabulary: Tokens,
        *,
        piece_dropout: float = 0.0,
        joined: float = 0.0,
        seed: int = 0,
    ):
        self.vocabularies = context_vocabulary, target_vocabulary
        if piece_dropout and not all(isinstance(each, WordPieces) for each in self.vocabularies):
            raise ValueError(f"piece_dropout needs word pieces, got {piece_dropout} for words")
        if not 0 <= piece_dropout < 1:
            raise ValueError(f"piece_dropout must be at least 0 and below 1, got {piece_dropout}")
        if not 0 <= joined <= 1:
            raise ValueError(f"joined must be at least 0 and at most 1, got {joined}")
        self.piece_dropout, self.joined, self.seed = piece_dropout, joined, seed
        self.sides = [pair.context for pair in pairs], [pair.target for pair in pairs]

    def ids(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of a pass, (M, S) and (M, T), without pairs of more than 64 tokens.

        Args:
            number: the number of the pass, counted from 0.
        """
        rng = np.random.default_rng((self.seed, number))
        contexts, targets = (
            self._split(vocabulary, sentences, rng)
            for vocabulary, sentences in zip(self.vocabularies, self.sides, strict=True)
        )
        order = rng.permutation(len(contexts)).tolist()
        joins = round(len(order) * self.joined) // 2
        firsts, seconds, alone = order[:joins], order[joins : 2 * joins], order[2 * joins :]
        pairs = [(contexts[row], targets[row]) for row in alone]
        pairs += [
            (contexts[first] + contexts[second], targets[first] + targets[second])
            for first, second in zip(firsts, seconds, strict=True)
        ]
        short = [pair for pair in pairs if max(map(len, pair)) <= LONGEST - len((START, END))]
        sides = zip(self.vocabularies, zip(*short, strict=True), strict=True)
        context_ids, target_ids = (vocabulary.ids_of(split) for vocabulary, split in sides)
        return context_ids, target_ids

    def _split(self, vocabulary, sentences, rng):
        if self.piece_dropout:
            return vocabulary.split_at_random(sentences, self.piece_dropout, rng)
        return vocabulary.split(sentences)
