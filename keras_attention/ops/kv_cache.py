"""A key/value cache: the projected keys and values of the tokens so far, with slots for more.

Token i is stored in slot i, counted from 0, so that each token is projected only once.

The W hypotheses of a beam search share a cache. Their tokens form a tree: token i of hypothesis w
is stored in slot i·W + w, and `seen` marks the slots that lead to each hypothesis. A hypothesis
that continues another one takes over its row of `seen`; the keys and values stay where they are.
"""

from typing import NamedTuple

from keras import ops

from keras_attention.types import Array


class KVCache(NamedTuple):
    """The keys and values of the tokens so far.

    Attributes:
        keys: (B, H, K, P), projected for all heads, with P slots.
        values: (B, H, P, K).
        length: integers (B,), the number of tokens so far, equal for all sentences.
        seen: booleans (B, W, P), the slots with the tokens of each hypothesis. Outside a beam
            search W is 1, and these are the first slots.
    """

    keys: Array
    values: Array
    length: Array
    seen: Array


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
    return KVCache(
        ops.tile(zero, (1, num_heads, key_dim, slots)),
        ops.tile(zero, (1, num_heads, slots, value_dim)),
        length,
        ops.tile(zero[..., 0] > 0, (1, 1, slots)),
    )


def extend_cache(cache: KVCache | None, keys: Array, values: Array) -> KVCache:
    """Store the keys (B, H, K, T) and values (B, H, T, K) of the next T tokens.

    Args:
        cache: the cache of the earlier tokens, with at least T free slots. None: start a new one.
        keys: of the new tokens. They follow each other; or, if W hypotheses share the cache, T is
            W, and each hypothesis gets one of them.
        values: of the new tokens.

    Returns:
        A cache with all tokens; a new one has exactly T slots.
    """
    ones = ops.ones_like(values[:, 0, :, 0], dtype="int32")
    tokens = ops.sum(ones, axis=1)
    if cache is None:
        return KVCache(keys, values, tokens, ones[:, None] > 0)
    hypotheses, start = cache.seen.shape[1], _first_free_slot(cache)
    return KVCache(
        _store(cache.keys, keys, start, 3, hypotheses),
        _store(cache.values, values, start, 2, hypotheses),
        cache.length + tokens // hypotheses,
        ops.logical_or(cache.seen, _own_slots(cache, ops.shape(values)[2])),
    )


def branch_cache(cache: KVCache, hypotheses: int) -> KVCache:
    """Let W hypotheses, which all begin with the tokens so far, share each row of a cache.

    These tokens stay in their slots, which all hypotheses see.

    Args:
        cache: a cache of one hypothesis, with P slots.
        hypotheses: W.

    Returns:
        A cache with P·W slots and `seen` (B, W, P·W).
    """
    cache = resize_cache(cache, cache.values.shape[2] * hypotheses)
    return cache._replace(seen=ops.repeat(cache.seen, hypotheses, axis=1))


def follow_cache(cache: KVCache, parents: Array) -> KVCache:
    """Let each hypothesis go on from another one of its sentence.

    Args:
        cache: a cache of W hypotheses.
        parents: integers (B, W), the hypotheses whose tokens they take over.

    Returns:
        The cache with the same keys and values, and new rows of `seen` (B, W, P).
    """
    return cache._replace(seen=ops.take_along_axis(cache.seen, parents[:, :, None], axis=1))


def resize_cache(cache: KVCache, slots: int) -> KVCache:
    """Change P, the number of slots of a cache; all stored tokens must still fit."""

    def resize(tensor, axis):
        more = slots - tensor.shape[axis]
        if more < 0:
            kept = (*axis * (slice(None),), slice(slots))
            return tensor[kept]
        axes = range(len(tensor.shape))
        return ops.pad(tensor, [(0, more if each == axis else 0) for each in axes])

    return KVCache(
        resize(cache.keys, 3), resize(cache.values, 2), cache.length, resize(cache.seen, 2)
    )


def cache_mask(cache: KVCache, tokens: int) -> Array:
    """Return which slots each of the latest tokens may attend to.

    Args:
        cache: the cache with these tokens.
        tokens: T, how many they are, as for `extend_cache`.

    Returns:
        Booleans (B, T, P): each token may attend to itself and to all tokens before it.

    Example:
    >>> import numpy as np
    >>> cache = empty_cache(np.zeros((1,)), 1, 2, 2, slots=5, dtype="float32")
    >>> cache = extend_cache(cache, np.zeros((1, 1, 2, 3)), np.zeros((1, 1, 3, 2)))
    >>> ops.convert_to_numpy(cache_mask(cache, 2)[0]).astype(int).tolist()
    [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]
    """
    if cache.seen.shape[1] > 1 or (isinstance(tokens, int) and tokens == 1):
        return cache.seen  # one new token for each hypothesis
    later = _slots_after(cache, cache.length[0] - tokens)
    return ops.logical_and(cache.seen, later <= ops.arange(tokens, dtype="int32")[:, None])


def _first_free_slot(cache):
    return cache.length[0] * cache.seen.shape[1]


def _slots_after(cache, first):
    """Return the number of each slot (P,), counted from a first one."""
    return ops.arange(ops.shape(cache.values)[2], dtype="int32") - first


def _own_slots(cache, tokens):
    """Return which slots the next T tokens get: (1, P), or (W, P) for one of each hypothesis."""
    slots, hypotheses = _slots_after(cache, _first_free_slot(cache)), cache.seen.shape[1]
    if hypotheses > 1:
        return slots == ops.arange(hypotheses, dtype="int32")[:, None]
    return ops.logical_and(slots >= 0, slots < tokens)[None]


def _store(stored, new, start, axis, hypotheses):
    """Write T tokens into the slots from `start` on."""
    if new.shape[axis] == hypotheses:  # in place: a compiled loop does not copy the cache
        at = [0] * 4
        at[axis] = start
        return ops.slice_update(stored, at, new)
    tokens = ops.shape(new)[axis]
    source = ops.arange(ops.shape(stored)[axis], dtype="int32") - start  # the token of each slot
    is_new = ops.logical_and(source >= 0, source < tokens)
    spread = ops.take(new, ops.where(is_new, source, 0), axis=axis)
    is_new = is_new if axis == 3 else is_new[:, None]  # the depth axis follows the slots
    return ops.where(is_new, spread, stored)
