"""What decoding does with logits (B, V): rule out, find the likeliest, narrow down, draw.

XLA on a CPU sorts slowly and takes the argmax of a long row slowly. So the vocabulary is cut into
chunks: a first look at each as a whole says in which few of them to look closely. The numbers are
those that one look at everything would give.
"""

import math

from keras import ops

from keras_attention.decoding.options import PADDING

_HALVINGS = 32


def rule_out(logits, start_id):
    """Give padding and the start token, which are never generated, the logit −∞."""
    ids = ops.arange(logits.shape[-1])
    ruled_out = ops.logical_or(ids == PADDING, ids == start_id)
    return ops.where(ruled_out, -math.inf, logits)


def likeliest(logits, k):
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


def log_probabilities(logits, ids):
    """Return log softmax(logits) at ids (B, k): what remains of (B, V) are a sum and k numbers."""
    return ops.take_along_axis(logits, ids, axis=1) - ops.logsumexp(logits, axis=-1, keepdims=True)


def keep_top_k(logits, k):
    """Keep the k largest logits of a row, and those equal to the k-th; the others become −∞.

    Fan, Lewis, Dauphin (2018), arXiv:1805.04833.

    Args:
        logits: (B, V).
        k: 0 or None keeps all.
    """
    if not k or k >= logits.shape[-1]:
        return logits
    values, _ = likeliest(logits, k)
    # Not values[:, -1:]: XLA would join the slices, no longer see a top-k, and sort all instead.
    smallest = ops.min(values, axis=-1, keepdims=True)
    return ops.where(logits >= smallest, logits, -math.inf)


def keep_top_p(logits, p):
    """Keep the nucleus: the likeliest tokens, just enough to have the probability p together.

    Holtzman et al. (2020), arXiv:1904.09751, equation (2). The smallest probability of the nucleus
    is found by halving an interval: 25 times faster than sorting the vocabulary. Tokens that differ
    from it by less than 2⁻³² of the largest probability count as equal to it, and stay.

    Args:
        logits: (B, V).
        p: from (0, 1]; 1 or None keeps all.
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


def draw_token(logits, draws):
    """Draw an id of each row from softmax(logits), by inverting the cumulative distribution.

    Args:
        logits: (B, V).
        draws: numbers from [0, 1), (B,).

    Returns:
        Ids (B,), none of probability 0.
    """
    size = math.isqrt(logits.shape[-1])
    # As large as probabilities to each other; the sum of all need not be 1.
    shares = _in_chunks(ops.exp(logits - ops.max(logits, axis=-1, keepdims=True)), size, 0.0)
    sums = ops.sum(shares, axis=-1)
    chunk, rest = _fall_into(sums, draws[:, None] * ops.sum(sums, axis=-1, keepdims=True))
    place, _ = _fall_into(ops.take_along_axis(shares, chunk[:, :, None], axis=1)[:, 0], rest)
    return (chunk * size + place)[:, 0]


def _fall_into(shares, points):
    """Find the share (B, 1) that a point (B, 1) of the line of shares (B, N) falls into, and where.

    Where rounding puts a point behind the line, it falls into the last share that is not 0.
    """
    ends = ops.cumsum(shares, axis=-1)
    places = ops.arange(shares.shape[-1])
    filled = shares > 0
    last = ops.max(ops.where(filled, places, 0), axis=-1, keepdims=True)
    here = ops.logical_and(filled, ends > points)
    place = ops.min(ops.where(here, places, last), axis=-1, keepdims=True)
    return place, points - ops.take_along_axis(ends - shares, place, axis=1)


def _in_chunks(values, size, filler):
    """(B, V) → (B, N, size), the last chunk filled up."""
    missing = -values.shape[-1] % size
    if missing:
        values = ops.pad(values, ((0, 0), (0, missing)), constant_values=filler)
    return ops.reshape(values, (-1, values.shape[-1] // size, size))
