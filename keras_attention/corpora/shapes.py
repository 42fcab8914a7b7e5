"""The few shapes to which sentences are padded, because XLA compiles a program for each."""

from collections.abc import Sequence

import numpy as np

from keras_attention.types import Array

BUCKETS = (8, 10, 12, 16, 24, 32, 48, 64)
LONGEST = BUCKETS[-1]
MOST_SHAPES = 8
_LENGTHS = np.array([*range(2, 17), *range(18, 33, 2), *range(36, LONGEST + 1, 4)])


def bucket_of(length: int) -> int:
    """Return the smallest bucket that holds a length; beyond 64, the next multiple of 64."""
    more = -(-length // LONGEST) * LONGEST
    return next((bucket for bucket in BUCKETS if length <= bucket), more)


def fit_shapes(
    context_lengths: Array, target_lengths: Array, count: int = MOST_SHAPES
) -> list[tuple[int, int]]:
    """Find the few shapes that pad sentence pairs with the fewest padding tokens.

    The shapes (S₁, T₁) ≤ (S₂, T₂) ≤ … grow in both lengths, and a pair is padded to the first shape
    that holds both sentences. Let (S, T) hold N(S, T) pairs; those that the next smaller shape
    (S', T') does not hold are padded to (S, T). With k shapes, the largest of them (S, T), the
    fewest tokens are

        cost_k(S, T) = min_(S', T') cost_k−1(S', T') + (N(S, T) − N(S', T')) · (S + T)

    and dynamic programming finds the best shapes exactly. Candidate lengths are all lengths up to
    16, the even ones up to 32 and the multiples of 4 up to 64.

    Args:
        context_lengths: tokens of each context sentence, (N,).
        target_lengths: tokens of each target sentence, (N,).
        count: the most shapes to return.

    Returns:
        At most `count` pairs (S, T), from short to long; each is the first to hold some pair.

    Raises:
        ValueError: a sentence has more than 64 tokens, or no shape is allowed.

    Example:
    >>> fit_shapes([3, 3, 3, 9, 9, 12], [4, 4, 3, 7, 8, 12], count=2)
    [(3, 4), (12, 12)]
    """
    if count < 1:
        raise ValueError(f"count must be at least 1 shape, got {count}")
    longest = max(np.max(context_lengths), np.max(target_lengths))
    if longest > LONGEST:
        raise ValueError(f"a sentence has at most {LONGEST} tokens, got {longest}")
    counts = np.zeros((len(_LENGTHS), len(_LENGTHS)))
    places = np.searchsorted(_LENGTHS, context_lengths), np.searchsorted(_LENGTHS, target_lengths)
    np.add.at(counts, places, 1)
    grid = counts.cumsum(0).cumsum(1)[: np.max(places[0]) + 1, : np.max(places[1]) + 1]
    s, t = (_LENGTHS[side.ravel()] for side in np.indices(grid.shape))
    held = grid.ravel()

    is_below = (s <= s[:, None]) & (t <= t[:, None])
    of_rest = np.where(is_below, (held[:, None] - held) * (s + t)[:, None], np.inf)
    costs, befores = held * (s + t), []
    for _ in range(min(count, sum(grid.shape)) - 1):  # no more shapes can grow in both lengths
        totals = costs + of_rest
        befores.append(totals.argmin(axis=1))
        costs = totals.min(axis=1)

    place = len(s) - 1
    shapes = [(int(s[place]), int(t[place]))]
    for before in reversed(befores):
        place = before[place]
        shapes.append((int(s[place]), int(t[place])))
    shapes = sorted(set(shapes))
    used = np.unique(first_that_holds(shapes, context_lengths, target_lengths))
    return [shapes[number] for number in used]


def first_that_holds(
    shapes: Sequence[tuple[int, int]], context_lengths: Array, target_lengths: Array
) -> np.ndarray:
    """Return the index of the first shape that holds each pair, (N,)."""
    contexts, targets = zip(*shapes, strict=True)
    return np.maximum(
        np.searchsorted(contexts, context_lengths), np.searchsorted(targets, target_lengths)
    )
