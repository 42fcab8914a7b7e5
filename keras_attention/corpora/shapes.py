"""To which few lengths sentences are padded: XLA compiles a program for each."""

import numpy as np

BUCKETS = (8, 10, 12, 16, 24, 32, 48, 64)
LONGEST = BUCKETS[-1]
MOST_SHAPES = 8
_LENGTHS = np.array([*range(2, 17), *range(18, 33, 2), *range(36, LONGEST + 1, 4)])


def bucket_of(length):
    """Return the smallest bucket that holds a length.

    Raises:
        ValueError: no bucket does.
    """
    for bucket in BUCKETS:
        if length <= bucket:
            return bucket
    raise ValueError(f"a sentence has at most {LONGEST} tokens, got {length}")


def fit_shapes(context_lengths, target_lengths, count=MOST_SHAPES):
    """Find the few shapes to which sentence pairs are padded with the fewest tokens of padding.

    The shapes (S₁, T₁) ≤ (S₂, T₂) ≤ … grow in both lengths, and a pair goes to the first that holds
    both its sentences. Of the N(S, T) pairs that (S, T) holds, those that a smaller (S', T') does
    not hold are padded to (S, T); so the fewest tokens in k shapes, the largest of them (S, T), are

        cost_k(S, T) = min_(S', T') cost_k−1(S', T') + (N(S, T) − N(S', T')) · (S + T)

    and the best shapes are found exactly, by dynamic programming. Shapes are chosen among all
    lengths up to 16, the even ones up to 32 and the multiples of 4 up to 64.

    Args:
        context_lengths: tokens of each context sentence, (N,).
        target_lengths: tokens of each target sentence, (N,).
        count: most shapes.

    Returns:
        At most `count` pairs (S, T), from short to long; each is the first that holds some pair.

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
    held = np.zeros((len(_LENGTHS), len(_LENGTHS)))
    places = np.searchsorted(_LENGTHS, context_lengths), np.searchsorted(_LENGTHS, target_lengths)
    np.add.at(held, places, 1)
    held = held.cumsum(0).cumsum(1)[: max(places[0]) + 1, : max(places[1]) + 1]
    s, t = (_LENGTHS[side.ravel()] for side in np.indices(held.shape))
    held = held.ravel()

    is_below = (s <= s[:, None]) & (t <= t[:, None])
    of_rest = np.where(is_below, (held[:, None] - held) * (s + t)[:, None], np.inf)
    costs, befores = held * (s + t), []
    for _ in range(count - 1):
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


def first_that_holds(shapes, context_lengths, target_lengths):
    """Return the number of the first shape that holds each pair, (N,)."""
    contexts, targets = zip(*shapes, strict=True)
    return np.maximum(
        np.searchsorted(contexts, context_lengths), np.searchsorted(targets, target_lengths)
    )
