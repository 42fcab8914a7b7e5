"""What decoding does with logits (B, V): rule out, find the likeliest, narrow down, draw.

On a CPU, XLA is slow at sorting and at the argmax of a long row. So the vocabulary is cut into
chunks: a first pass over all chunks finds the few to search closely. The results equal those of a
search of the whole row.
"""

import math
from typing import NamedTuple

from keras import ops

from keras_attention.decoding.arrays import as_given
from keras_attention.decoding.options import PADDING
from keras_attention.types import Array

_HALVINGS = 32


class Candidates(NamedTuple):
    """The likeliest tokens that may be written, best first.

    A step may return them in place of its logits.

    Attributes:
        log_probabilities: (B, k), of a softmax over all logits.
        ids: (B, k).
    """

    log_probabilities: Array
    ids: Array


def candidates(logits: Array | Candidates, k: int, start_id: int) -> Candidates:
    """Find the k likeliest tokens of each row; never padding or the start token.

    Args:
        logits: (B, V), or what a step found already.
        k: fewer are found if there are not as many.
        start_id: id of the start token.
    """
    if isinstance(logits, Candidates):
        return logits
    numbers = ops.cast(logits, "float32")
    values, ids = likeliest(rule_out(numbers, start_id), min(k, logits.shape[-1]))
    log_probabilities = values - ops.logsumexp(numbers, axis=-1, keepdims=True)
    return Candidates(*as_given(logits, (log_probabilities, ids)))


def rule_out(logits: Array, start_id: int) -> Array:
    """Set the logits of padding and the start token, which are never generated, to −∞."""
    ids = ops.arange(logits.shape[-1])
    ruled_out = ops.logical_or(ids == PADDING, ids == start_id)
    return ops.where(ruled_out, -math.inf, logits)


def likeliest(logits: Array, k: int) -> tuple[Array, Array]:
    """Find the k largest logits of each row.

    Exact: the k largest lie in the k chunks with the largest maxima.

    Args:
        logits: (B, V).
        k: at most V.

    Returns:
        The logits (B, k), largest first, and their ids (B, k).

    Example:
        >>> logits, ids = likeliest(ops.array([[3.0, 9.0, 5.0, 7.0, 1.0]]), 3)
        >>> [int(number) for number in ids[0]]
        [1, 3, 2]
    """
    size = math.isqrt(logits.shape[-1] // k)
    chunks = _in_chunks(logits, size, -math.inf)
    _, best = ops.top_k(ops.max(chunks, axis=-1), k)
    best = ops.cast(best, "int32")
    candidates = ops.take_along_axis(chunks, best[:, :, None], axis=1)
    values, places = ops.top_k(ops.reshape(candidates, (-1, k * size)), k)
    places = ops.cast(places, "int32")
    return values, ops.take_along_axis(best, places // size, axis=1) * size + places % size


def log_probabilities(logits: Array, ids: Array) -> Array:
    """Return log softmax(logits) at ids (B, k) without storing the softmax (B, V)."""
    return ops.take_along_axis(logits, ids, axis=1) - ops.logsumexp(logits, axis=-1, keepdims=True)


def keep_top_k(logits: Array, k: int | None) -> Array:
    """Keep the k largest logits of a row, and those equal to the k-th; set the others to −∞.

    Fan, Lewis, Dauphin (2018), arXiv:1805.04833.

    Args:
        logits: (B, V).
        k: 0 or None keeps all.
    """
    if not k or k >= logits.shape[-1]:
        return logits
    values, _ = likeliest(logits, k)
    # Not values[:, -1:]: XLA would join the slices, no longer see a top-k, and sort everything.
    smallest = ops.min(values, axis=-1, keepdims=True)
    return ops.where(logits >= smallest, logits, -math.inf)


def keep_top_p(logits: Array, p: float | None) -> Array:
    """Keep the nucleus: the fewest likeliest tokens with total probability at least p.

    Holtzman et al. (2020), arXiv:1904.09751, equation (2). Bisection finds the smallest probability
    of the nucleus, 25 times faster than sorting the vocabulary. Tokens that differ from it by less
    than 2⁻³² of the largest probability count as equal to it, and stay.

    Args:
        logits: (B, V).
        p: in (0, 1]; 1 or None keeps all.
    """
    if p is None or p >= 1:
        return logits
    probabilities = ops.softmax(logits)

    def halve(_, interval):
        low, high = interval
        middle = (low + high) / 2
        kept = ops.where(probabilities >= middle, probabilities, 0.0)
        enough = ops.sum(kept, axis=-1, keepdims=True) >= p
        return ops.where(enough, middle, low), ops.where(enough, high, middle)

    high = ops.max(probabilities, axis=-1, keepdims=True)
    low, _ = ops.fori_loop(0, _HALVINGS, halve, (ops.zeros_like(high), high))
    return ops.where(probabilities >= low, logits, -math.inf)


def draw_token(logits: Array, draws: Array) -> Array:
    """Draw an id for each row from softmax(logits), by inverting the cumulative distribution.

    Args:
        logits: (B, V).
        draws: random numbers in [0, 1), (B,).

    Returns:
        Ids (B,), none of probability 0.
    """
    size = math.isqrt(logits.shape[-1])
    # Proportional to probabilities; their sum need not be 1.
    masses = _in_chunks(ops.exp(logits - ops.max(logits, axis=-1, keepdims=True)), size, 0.0)
    sums = ops.sum(masses, axis=-1)
    chunk, rest = _fall_into(sums, draws[:, None] * ops.sum(sums, axis=-1, keepdims=True))
    place, _ = _fall_into(ops.take_along_axis(masses, chunk[:, :, None], axis=1)[:, 0], rest)
    return (chunk * size + place)[:, 0]


def _fall_into(masses, points):
    """Find the index (B, 1) of the mass (B, N) that each point (B, 1) falls into, and the rest.

    The masses lie end to end. A point that rounding puts beyond the last end falls into the last
    mass that is not 0.
    """
    ends = ops.cumsum(masses, axis=-1)
    places = ops.arange(masses.shape[-1])
    filled = masses > 0
    last = ops.max(ops.where(filled, places, 0), axis=-1, keepdims=True)
    here = ops.logical_and(filled, ends > points)
    place = ops.min(ops.where(here, places, last), axis=-1, keepdims=True)
    return place, points - ops.take_along_axis(ends - masses, place, axis=1)


def _in_chunks(values, size, filler):
    """(B, V) → (B, N, size), with the last chunk filled up."""
    missing = -values.shape[-1] % size
    if missing:
        values = ops.pad(values, ((0, 0), (0, missing)), constant_values=filler)
    return ops.reshape(values, (-1, values.shape[-1] // size, size))
