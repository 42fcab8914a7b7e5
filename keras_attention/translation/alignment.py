"""Where does a word come from? Leave out a source word, and see which words the model doubts.

    losses     m_ts = log p(word t | source) − log p(word t | source without word s)
    alignment  a_ts ∝ m_ts⁺ · m_ts⁺ / Σ_t' m_t's⁺

The losses ask the model itself, with no look at its inside, so they serve every model. They are the
prediction difference of Li et al. (2019). The alignment asks both ways: a source word should matter
for this target word, and for it more than for others. m⁺ is m, or 0 if it is negative.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import keras
import numpy as np
from keras import ops

from keras_attention.models.caches import cached_layers
from keras_attention.text import END, PADDING, START, padded, shifted_right
from keras_attention.types import Array

if TYPE_CHECKING:
    from keras_attention.translation.result import Translation

MOST_TOKENS = 8192  # target tokens that a model writes at once, padding included


def align(model: keras.Model, translations: Sequence["Translation"]) -> list[np.ndarray]:
    """Return where each token of translations comes from.

    Args:
        model: the model of this package that they belong to.
        translations: N translations, each of one sentence, with ids.

    Returns:
        N matrices (T, S): the alignment of the words. The tokens of a target word have the same
        row; the part of a source word is divided equally among its tokens. A row sums to 1, or is 0
        if no source word speaks for it. `[START]` and `[END]` have no part in it.
    """
    found = []
    for each, losses in zip(translations, leave_one_out(model, translations), strict=True):
        rows = _words(each.target_ids, each.target_groups)
        columns = source_words(each)
        by_words = [losses[row].sum(axis=0) for row in rows]
        parts = both_ways(np.reshape(by_words, (len(rows), len(columns))))
        matrix = np.zeros((len(each.target_ids), len(each.context_ids)))
        for row, part in zip(rows, parts, strict=True):
            for column, number in zip(columns, part, strict=True):
                matrix[np.ix_(row, column)] = number / len(column)
        found.append(matrix)
    return found


def leave_one_out(model: keras.Model, translations: Sequence["Translation"]) -> list[np.ndarray]:
    """Leave out one source word at a time, and return which target tokens lose probability.

    From a Transformer the word is hidden, as padding is: nothing attends to it, and the other words
    keep their positions, which it would otherwise have to read anew. For a recurrent model the word
    is deleted, which to it is the same.

    Args:
        model: the model of this package that they belong to.
        translations: N translations, each of one sentence, with ids.

    Returns:
        N matrices (T, W): the loss of log-probability of each token, in nats, without each of the W
        source words.

    Raises:
        ValueError: a translation has no ids.

    References:
        Li et al. (2019), On the word alignment from neural machine translation, ACL 2019.
    """
    for each in translations:
        if not (each.context_ids and each.target_ids):
            raise ValueError(
                f"a translation has no ids: {each.source!r} has {len(each.parts)} parts"
            )
    found: list[np.ndarray] = [np.zeros((0, 0))] * len(translations)
    has_positions = bool(cached_layers(model.get_layer("decoder")))
    without = _hidden if has_positions else np.delete
    for places in _batches(translations):
        contexts = [list(_contexts(translations[place], without)) for place in places]
        counts = [len(rows) for rows in contexts]
        targets = padded([translations[place].target_ids for place in places]).repeat(
            counts, axis=0
        )
        fed = np.stack([shifted_right(row) for row in targets])
        rows = padded([row for each in contexts for row in each])
        logits = ops.cast(model({"context": rows, "target": fed}, training=False), "float32")
        answers = ops.convert_to_numpy(of_tokens(ops.log_softmax(logits), targets))
        ends = np.cumsum(counts)
        for place, answer in zip(places, np.split(answers, ends[:-1]), strict=True):
            answer = answer[:, : len(translations[place].target_ids)]
            found[place] = (answer[0] - answer[1:]).T
    return found


def of_tokens(values: Array, tokens: Array) -> Array:
    """Return the number of each token among those of the vocabulary.

    Args:
        values: (B, T, V), such as log-probabilities.
        tokens: ids (B, T), or (T,) for all rows.

    Returns:
        (B, T).
    """
    places = ops.broadcast_to(ops.convert_to_tensor(tokens), values.shape[:2])
    return ops.take_along_axis(values, ops.expand_dims(places, -1), axis=-1)[..., 0]


def source_words(translation: "Translation") -> list[list[int]]:
    """Return the positions of the tokens of each source word, without `[START]` and `[END]`."""
    return _words(translation.context_ids, translation.context_groups)


def both_ways(losses: Array) -> np.ndarray:
    """Return the alignment from the losses of words.

    Args:
        losses: (target words, context words).

    Returns:
        The product of each loss's part of its row and its part of its column, divided by the sum of
        its row. Losses below 0 count as 0; a row without any is 0: no source word speaks for it.

    Example:
    >>> both_ways([[3.0, 1.0], [1.0, 0.0]]).round(2).tolist()
    [[0.69, 0.31], [1.0, 0.0]]
    """
    lost = np.maximum(np.asarray(losses, dtype=float), 0.0)
    return _parts(lost * _parts(lost, axis=0), axis=1)


def _parts(numbers, axis):
    """Divide numbers by their sum, where it is not 0."""
    sums = numbers.sum(axis=axis, keepdims=True)
    return numbers / np.where(sums > 0, sums, 1.0)


def _words(ids, groups):
    groups = groups or [[place] for place, _ in enumerate(ids)]
    return [list(word) for word in groups if ids[word[0]] not in (START, END)]


def _contexts(translation, without) -> Iterator[np.ndarray]:
    """Yield the source, and the source without each of its words."""
    ids = np.array(translation.context_ids)
    yield ids
    for word in source_words(translation):
        yield without(ids, word)


def _hidden(ids, places):
    """Return ids with padding in some places."""
    hidden = ids.copy()
    hidden[places] = PADDING
    return hidden


def _batches(translations) -> Iterator[list[int]]:
    """Yield the numbers of translations of about equal length, a few at a time."""

    def lengths(place):
        return len(translations[place].target_ids), len(translations[place].context_ids)

    batch: list[int] = []
    rows = 0
    for place in sorted(range(len(translations)), key=lengths):
        more = 1 + len(source_words(translations[place]))
        if batch and (rows + more) * lengths(place)[0] > MOST_TOKENS:
            yield batch
            batch, rows = [], 0
        batch.append(place)
        rows += more
    if batch:
        yield batch
