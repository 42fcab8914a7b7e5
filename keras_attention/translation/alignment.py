"""Where does a word come from? Ask the model in two ways, then read the sentence as a whole.

    leave-one-out  m_ts = log p(word t | source) − log p(word t | source without word s)
    relevance      m_ts = the part of the logits of word t that the rules of AttnLRP trace to word s
    evidence       e_ts ∝ m_ts⁺ · m_ts⁺ / Σ_t' m_t's⁺, the mean of both
    alignment      what two hidden Markov models, one in each direction, agree on: `agreement`

Leave-one-out is the prediction difference of Li et al. (2019). It serves every model; relevance
needs a Transformer. In its place a recurrent model's attention is a small fraction. The evidence
asks both ways: a source word should matter for this target word, and for it more than for
others. m⁺ is m, or 0 if it is negative. Words come from words alone, and punctuation from
punctuation: a model writes "did" because of "¿", but "¿" does not mean it.
"""

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.models.caches import cached_layers
from keras_attention.text import END, PADDING, START, UNKNOWN
from keras_attention.translation.agreement import agreement, parts
from keras_attention.translation.evidence import Evidence
from keras_attention.translation.inside import Inside
from keras_attention.types import Array

if TYPE_CHECKING:
    from keras_attention.translation.result import Translation

SIGNS = "%‰&@#"  # punctuation to Unicode, but read aloud as words are
LOOKS = 0.15  # fraction of a recurrent model's evidence that is its attention


def align(evidence: Evidence, translation: "Translation") -> np.ndarray:
    """Return where each token of a translation comes from.

    Args:
        evidence: that of the model to which the translation belongs.
        translation: a translation of one sentence, with ids.

    Returns:
        A matrix (T, S): the alignment of the words. The tokens of a target word have the same row;
        the part of a source word is divided equally among its tokens. A row sums to 1, or is 0 if
        no source word speaks for it. `[START]` and `[END]` have no part in it.

    Raises:
        ValueError: the translation has no ids.
    """
    inside = Inside.of(evidence.model, translation)
    rows = _words(translation.target_ids, translation.target_groups)
    columns = source_words(translation)
    losses = leave_one_out(evidence, translation)
    found = both_ways(_sums(losses, rows, [[place] for place, _ in enumerate(columns)]))
    if inside.decoder_layers:
        relevances = _sums(evidence.relevance(inside).context, rows, columns)
        found = (found + both_ways(relevances)) / 2
    elif translation.weights:
        looks = both_ways(_sums(translation.attention, rows, columns))
        found = (1 - LOOKS) * found + LOOKS * looks
    possible = _are_alike(
        [_kinds(translation.target_ids, translation.target_tokens, word) for word in rows],
        [_kinds(translation.context_ids, translation.context_tokens, word) for word in columns],
    )
    matrix = np.zeros((len(translation.target_ids), len(translation.context_ids)))
    for row, numbers in zip(rows, agreement(found, possible), strict=True):
        for column, number in zip(columns, numbers, strict=True):
            matrix[np.ix_(row, column)] = number / len(column)
    return matrix


def leave_one_out(evidence: Evidence, translation: "Translation") -> np.ndarray:
    """Leave out one source word at a time, and return which target tokens lose probability.

    From a Transformer the word is hidden, as padding is: nothing attends to it, and the other words
    keep their positions, which it would otherwise have to read anew. For a recurrent model the word
    is deleted, which to it is the same.

    Args:
        evidence: that of the model to which the translation belongs.
        translation: a translation of one sentence, with ids.

    Returns:
        A matrix (T, W): the loss of log-probability of each token, in nats, without each of the W
        source words.

    Raises:
        ValueError: the translation has no ids.

    References:
        Li et al. (2019), On the word alignment from neural machine translation, ACL 2019.
    """
    inside = Inside.of(evidence.model, translation)
    has_positions = bool(cached_layers(evidence.model.get_layer("decoder")))
    without = _hidden if has_positions else np.delete
    others = [without(inside.context, word) for word in source_words(translation)]
    whole, *rest = evidence.log_probabilities([inside.context, *others], inside.target)
    return np.reshape(whole - rest, (-1, len(whole))).T


def source_words(translation: "Translation") -> list[list[int]]:
    """Return the positions of the tokens of each source word, without `[START]` and `[END]`."""
    return _words(translation.context_ids, translation.context_groups)


def both_ways(numbers: Array) -> np.ndarray:
    """Return the evidence from the losses, or the relevances, of words.

    Args:
        numbers: (target words, context words).

    Returns:
        The product of each number's part of its row and its part of its column, divided by the sum
        of its row. Numbers below 0 count as 0; a row without any is 0: no source word speaks for
        it.

    Example:
    >>> both_ways([[3.0, 1.0], [1.0, 0.0]]).round(2).tolist()
    [[0.69, 0.31], [1.0, 0.0]]
    """
    positive = np.maximum(np.asarray(numbers, dtype=float), 0.0)
    return parts(positive * parts(positive, axis=0), axis=1)


def _sums(numbers, rows, columns):
    """Add up the numbers of tokens to those of words, (target words, context words)."""
    sums = [[numbers[np.ix_(row, column)].sum() for column in columns] for row in rows]
    return np.reshape(sums, (len(rows), len(columns)))


def _words(ids, groups):
    groups = groups or [[place] for place, _ in enumerate(ids)]
    return [list(word) for word in groups if ids[word[0]] not in (START, END)]


def _kinds(ids, tokens, places):
    """Say if the tokens in some places may be a word, and if they may be punctuation."""
    if any(ids[place] == UNKNOWN for place in places):
        return True, True
    letters = "".join(tokens[place] for place in places)
    is_word = any(x in SIGNS or not unicodedata.category(x).startswith("P") for x in letters)
    return is_word, not is_word


def _are_alike(rows, columns):
    """Return which rows and columns may be of the same kind, (rows, columns)."""
    rows, columns = (np.reshape(np.array(kinds, bool), (-1, 2)) for kinds in (rows, columns))
    return rows @ columns.T


def _hidden(ids, places):
    """Return ids with padding in some places."""
    hidden = ids.copy()
    hidden[places] = PADDING
    return hidden
