"""Sentence pairs joined in twos, so that a model sees the positions of long sentences."""

import numpy as np

from keras_attention.corpora.shapes import LONGEST
from keras_attention.text import padded


def join_pairs(
    context_ids: np.ndarray,
    target_ids: np.ndarray,
    fraction: float,
    rng: np.random.Generator,
    longest: tuple[int, int] = (LONGEST, LONGEST),
) -> tuple[np.ndarray, np.ndarray]:
    """Join some sentence pairs, drawn at random: two sentences, and the translations of both.

    A corpus of short sentences has few positions beyond the tenth, so a model learns little about
    long ones. Two pairs that together are too long stay as they are.

    Args:
        context_ids: (N, S), each row `[START]`, tokens, `[END]`, then 0.
        target_ids: (N, T), likewise.
        fraction: the part of the pairs to join to another one, from 0 to 1.
        rng: source of random numbers.
        longest: the most tokens of both sides, (S, T).

    Returns:
        The ids of M ≤ N pairs, (M, S') and (M, T'), in another order.

    Example:
    >>> ids = np.array([[2, 5, 3, 0], [2, 6, 7, 3]])
    >>> contexts, targets = join_pairs(ids, ids, 1.0, np.random.default_rng(0))
    >>> contexts.tolist(), targets.tolist()
    ([[2, 5, 6, 7, 3]], [[2, 5, 6, 7, 3]])
    """
    sides = context_ids, target_ids
    lengths = [(ids != 0).sum(axis=1) for ids in sides]
    order = rng.permutation(len(context_ids))
    pairs = order[: round(len(order) * fraction) // 2 * 2].reshape(2, -1)
    fit = np.all(
        [
            length[pairs].sum(axis=0) - 2 <= most
            for length, most in zip(lengths, longest, strict=True)
        ],
        axis=0,
    )
    firsts, seconds = pairs[:, fit]
    alone = np.setdiff1d(order, pairs[:, fit])

    def join_side(ids, length):
        rows = list(ids[alone])
        for first, second in zip(firsts, seconds, strict=True):
            rows.append(np.concatenate([ids[first, : length[first] - 1], ids[second, 1:]]))
        return _trimmed(padded(rows))

    contexts, targets = map(join_side, sides, lengths)
    return contexts, targets


def _trimmed(ids):
    """Drop the columns that are padding in every row."""
    return ids[:, : max((ids != 0).sum(axis=1).max(initial=2), 2)]
