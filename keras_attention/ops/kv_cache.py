"""A ring: P places for the last P tokens of a sequence, where token number i stands at i mod P."""

from keras import ops


def tokens_in_ring(places, count):
    """Say which token stands at each place of a ring after `count` tokens have been written.

    Args:
        places: P.
        count: a scalar integer.

    Returns:
        Integers (P,), the number of the token at each place, counted from 0; below 0 where none
        has been written.

    Example:
    >>> [int(token) for token in tokens_in_ring(4, 6)], [int(x) for x in tokens_in_ring(4, 2)]
    ([4, 5, 2, 3], [0, 1, -2, -1])
    """
    newest = ops.cast(count, "int32") - 1
    return newest - (newest - ops.arange(places, dtype="int32")) % places


def write_in_ring(ring, new, start, axis):
    """Write some tokens over the oldest ones of a ring.

    Args:
        ring: the tensor with P places along an axis.
        new: what is written, with T places along this axis.
        start: a scalar integer, how many tokens were written before.
        axis: the axis, from 0.

    Returns:
        The ring with the last P of all tokens. Of a single token only its place is written, so that
        a compiled loop changes its ring where it is; more are gathered into a new one.
    """
    start, places, length = ops.cast(start, "int32"), ops.shape(ring)[axis], ops.shape(new)[axis]
    if new.shape[axis] == 1:
        at = [0] * len(ring.shape)
        at[axis] = start % places
        return ops.slice_update(ring, at, new)
    tokens = tokens_in_ring(places, start + length)
    here = ops.arange(places, dtype="int32")
    source = ops.where(tokens >= start, places + tokens - start, here)
    return ops.take(ops.concatenate([ring, new], axis=axis), source, axis=axis)


def window_mask(queries, tokens, width):
    """Say which tokens each query may see: itself, and the `width` − 1 before it that exist.

    Args:
        queries: the numbers (T,) of the queries' own tokens.
        tokens: the numbers (S,) of the tokens that are looked at; below 0: there is none.
        width: an integer.

    Returns:
        Booleans (1, T, S).

    Example:
    >>> import numpy as np
    >>> mask = window_mask(np.array([2, 3]), np.array([-1, 0, 1, 2, 3]), 3)
    >>> ops.convert_to_numpy(mask[0]).astype(int).tolist()
    [[0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    """
    back = queries[:, None] - tokens[None, :]
    near = ops.logical_and(back >= 0, back < width)
    return ops.logical_and(near, tokens >= 0)[None]
