"""Merge the weights and spellings of word pieces into those of words before drawing."""

import operator
from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention.types import Array


def merge_tokens(
    weights: Array,
    context_groups: Sequence[Sequence[int]] | None = None,
    target_groups: Sequence[Sequence[int]] | None = None,
) -> np.ndarray:
    """Merge the weights of word pieces into weights of written words.

    The attention to a word is the sum of the attention to its pieces: the columns of a group are
    added. The attention from a word is the mean of the attention from its pieces: the rows of a
    group are averaged. A row that sums to 1 still does so afterwards.

    Args:
        weights: `(..., T, S)`, such as `(T, S)` or `(H, T, S)`. Anything that `np.asarray` takes.
        context_groups: the positions of the pieces of each written context word, such as
            `[[0], [1, 2], [3]]`; together they are 0 to S - 1 in order. By default every piece
            stays separate.
        target_groups: the same for the target; together they are 0 to T - 1.

    Returns:
        Floats `(..., target words, context words)`.

    Raises:
        ValueError: the weights are not an array of numbers with at least two axes, or the groups
            do not hold every position once and in order.

    Example:
        >>> merge_tokens([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]], context_groups=[[0], [1, 2]])
        array([[0.5, 0.5],
               [0. , 1. ]])
    """
    try:
        weights = np.array(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be an array of numbers, got {type(weights)}") from error
    if weights.ndim < 2:
        raise ValueError(f"weights must have shape (..., T, S), got {weights.shape}")
    if context_groups is not None:
        starts, _ = _as_runs("context_groups", context_groups, weights.shape[-1])
        weights = np.add.reduceat(weights, starts, axis=-1)
    if target_groups is not None:
        starts, sizes = _as_runs("target_groups", target_groups, weights.shape[-2])
        weights = np.add.reduceat(weights, starts, axis=-2) / sizes[:, None]
    return weights


def merge_words(spellings: Iterable[str], groups: Sequence[Sequence[int]]) -> list[str]:
    """Return the written words by concatenating the spellings of the pieces of each group.

    Args:
        spellings: the text of each piece, without marks such as `##`.
        groups: the positions of the pieces of each written word, as in `merge_tokens`.

    Returns:
        One string per group.

    Raises:
        ValueError: the groups do not hold every position once and in order, or the spellings are
            a single string.

    Example:
        >>> merge_words(["the", "rail", "way"], [[0], [1, 2]])
        ['the', 'railway']
    """
    if isinstance(spellings, str):
        raise ValueError(f"spellings must be a list of strings, got one str: {spellings!r}")
    spellings = [str(spelling) for spelling in spellings]
    starts, sizes = _as_runs("groups", groups, len(spellings))
    return [
        "".join(spellings[start : start + size]) for start, size in zip(starts, sizes, strict=True)
    ]


def _as_runs(name, groups, length):
    """Return the first position and the size of every group as two arrays of integers."""
    message = f"{name} must be lists that hold the positions 0 to {length - 1}, each once, in order"
    try:
        runs = [[operator.index(position) for position in group] for group in groups]
    except TypeError:
        raise ValueError(f"{message}; got {groups!r}") from None
    if [position for run in runs for position in run] != list(range(length)):
        raise ValueError(f"{message}; got {runs}")
    if not all(runs):
        raise ValueError(f"{name} must be lists of one position or more, got {runs}")
    starts = np.array([run[0] for run in runs], dtype=int)
    return starts, np.array([len(run) for run in runs], dtype=int)
