"""How far a map can be believed: does the model need the words that it names?"""

from itertools import compress
from typing import NamedTuple

import numpy as np

from keras_attention.plotting import merge_tokens, merge_words
from keras_attention.text import END, SPECIAL_WORDS, START
from keras_attention.translation.result import Translation


class Deletion(NamedTuple):
    """The loss of log-probability of a word, in nats, when one source word is left out.

    Attributes:
        named: the word that the map names.
        at_random: any word, on average.
        largest: the word that costs most: no map can do better.
    """

    named: float
    at_random: float
    largest: float


def deletion(translation: Translation, map_: np.ndarray, losses: np.ndarray) -> Deletion:
    """Score a map by what the model loses without the word that it names.

    Args:
        translation: a `Translation` of one sentence.
        map_: (T, S), the larger, the more.
        losses: (T, S), from `leave_one_out`.

    Returns:
        `Deletion`, means over the written words of the translation.

    Raises:
        ValueError: the source or the translation has no word.
    """
    evidence, lost = by_words(translation, map_), by_words(translation, losses)
    if not evidence.size:
        raise ValueError("a deletion needs a source and a translation with words")
    best = evidence.argmax(axis=1)
    return Deletion(
        named=float(lost[np.arange(len(lost)), best].mean()),
        at_random=float(lost.mean()),
        largest=float(lost.max(axis=1).mean()),
    )


def by_words(translation: Translation, map_: np.ndarray) -> np.ndarray:
    """Merge a map of tokens into one of written words, without `[START]` and `[END]`."""
    (_, rows, is_target), (_, columns, is_source) = _sides(translation)
    return merge_tokens(map_, columns, rows)[is_target][:, is_source]


def written_words(translation: Translation) -> tuple[list[str], list[str]]:
    """Return the words of the translation and of the source, as in `by_words`."""
    target, context = (
        list(compress(merge_words(tokens, groups), is_word))
        for tokens, groups, is_word in _sides(translation)
    )
    return target, context


def _sides(translation):
    """Return the tokens of both sides, the groups that make words, and which are words."""
    ends = SPECIAL_WORDS[START], SPECIAL_WORDS[END]
    sides = []
    for tokens, groups in (
        (translation.target_tokens, translation.target_groups),
        (translation.context_tokens, translation.context_groups),
    ):
        groups = groups or [[place] for place, _ in enumerate(tokens)]
        sides.append((tokens, groups, [tokens[each[0]] not in ends for each in groups]))
    return sides
