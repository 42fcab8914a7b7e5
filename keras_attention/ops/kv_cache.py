"""A key/value cache: the projected keys and values of the tokens so far, with slots for more.

Token i is stored in slot i, counted from 0, so that each token is projected only once.
"""

from typing import NamedTuple

from keras import ops

from keras_attention.types import Array


class KVCache(NamedTuple):
    """The keys and values of the tokens so far.

    Attributes:
        keys: (B, H, K, P), projected for all heads, with P slots.
        values: (B, H, P, K).
        length: integers (B,), the number of filled slots, equal for all sentences.
    """

    keys: Array
    values: Array
    length: Array


def empty_cache(
    like: Array, num_heads: int, key_dim: int, value_dim: int, slots: int, dtype: str
) -> KVCache:
    """Return an empty cache.

    Args:
        like: a tensor (B, …), symbolic or not, which sets the batch size.
        num_heads: H.
        key_dim: depth of a key.
        value_dim: depth of a value.
        slots: P, the number of tokens that the cache can hold.
        dtype: of the keys and values.
    """
    first = (slice(None), *(0,) * (len(like.shape) - 1))
    length = ops.zeros_like(like[first], dtype="int32")
    zero = ops.reshape(ops.cast(length, dtype), (-1, 1, 1, 1))
    keys = ops.tile(zero, (1, num_heads, key_dim, slots))
    return KVCache(keys, ops.tile(zero, (1, num_heads, slots, value_dim)), length)


def extend_cache(cache: KVCache | None, keys: Array, values: Array) -> KVCache:
    """Store the keys (B, H, K, T) and values (B, H, T, K) of the next T tokens.

    Args:
        cache: the cache of the earlier tokens, with at least T free slots. None: start a new one.
        keys: of the new tokens.
        values: of the new tokens.

    Returns:
        A cache with all tokens; a new one has exactly T slots.
    """
    tokens = ops.sum(ops.ones_like(values[:, 0, :, 0], dtype="int32"), axis=1)
    if cache is None:
        return KVCache(keys, values, tokens)
    start = cache.length[0]
    return KVCache(
        _store(cache.keys, keys, start, axis=3),
        _store(cache.values, values, start, axis=2),
        cache.length + tokens,
    )


def resize_cache(cache: KVCache, slots: int) -> KVCache:
    """Change the number of slots of a cache; all stored tokens must still fit."""

    def resize(tensor, axis):
        more = slots - tensor.shape[axis]
        if more < 0:
            kept = (*axis * (slice(None),), slice(slots))
            return tensor[kept]
        return ops.pad(tensor, [(0, more if each == axis else 0) for each in range(4)])

    return KVCache(resize(cache.keys, 3), resize(cache.values, 2), cache.length)


def cache_mask(cache: KVCache, tokens: int) -> Array:
    """Return which slots each of the next tokens may attend to, once they are stored.

    Args:
        cache: the cache of the earlier tokens.
        tokens: T, the number of new tokens.

    Returns:
        Booleans (1, T, P): each token may attend to itself and to all earlier tokens.

    Example:
    >>> import numpy as np
    >>> cache = KVCache(np.zeros((1, 1, 2, 5)), np.zeros((1, 1, 5, 2)), np.array([1]))
    >>> ops.convert_to_numpy(cache_mask(cache, 2)[0]).astype(int).tolist()
    [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]
    """
    slots = ops.arange(ops.shape(cache.values)[2], dtype="int32")
    own = cache.length[0] + ops.arange(tokens, dtype="int32")
    return (slots[None, :] <= own[:, None])[None]


def _store(stored, new, start, axis):
    """Write T tokens into the slots from `start` on."""
    if new.shape[axis] == 1:  # in place: a compiled loop does not copy the cache
        at = [0] * 4
        at[axis] = start
        return ops.slice_update(stored, at, new)
    tokens = ops.shape(new)[axis]
    source = ops.arange(ops.shape(stored)[axis], dtype="int32") - start  # the token of each slot
    is_new = ops.logical_and(source >= 0, source < tokens)
    spread = ops.take(new, ops.where(is_new, source, 0), axis=axis)
    is_new = is_new if axis == 3 else is_new[:, None]  # the depth axis follows the slots
    return ops.where(is_new, spread, stored)
