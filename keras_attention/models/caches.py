"""Caches of models that read their tokens one at a time: one per layer with self-attention."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_attention.layers import CausalSelfAttention, TransformerDecoderLayer
from keras_attention.ops import KVCache, branch_cache, follow_cache, resize_cache
from keras_attention.types import Array


def cached_layers(model: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers of a model that take a cache, in order."""
    kinds = (CausalSelfAttention, TransformerDecoderLayer)
    return [layer for layer in model.layers if isinstance(layer, kinds)]


def cache_inputs(layers: Sequence[keras.layers.Layer], hypotheses: int | None = 1) -> list[KVCache]:
    """Return one symbolic cache per layer, with any number of slots.

    Args:
        layers: what `cached_layers` returns.
        hypotheses: W, how many share a row of a cache; None: any number.
    """
    caches = []
    for n, layer in enumerate(layers, start=1):
        keys, values, length, seen = layer.empty_cache(keras.Input((1,), dtype="int32"), slots=1)
        caches.append(
            KVCache(
                keras.Input((*keys.shape[1:3], None), dtype=keys.dtype, name=f"keys_{n}"),
                keras.Input(
                    (values.shape[1], None, values.shape[3]), dtype=values.dtype, name=f"values_{n}"
                ),
                keras.Input((), dtype=length.dtype, name=f"length_{n}"),
                keras.Input((hypotheses, None), dtype=seen.dtype, name=f"seen_{n}"),
            )
        )
    return caches


def of_the_same_tokens(caches: Sequence[KVCache]) -> list[KVCache]:
    """Return the caches, all with the length and the seen slots of the first.

    All caches store the same tokens. Sharing these tensors lets a program for several chips fetch
    them only once.
    """
    for cache in caches:  # Keras 3.13 takes no input of which nothing is made.
        ops.copy(cache.length)
        ops.copy(cache.seen)
    return [cache._replace(length=caches[0].length, seen=caches[0].seen) for cache in caches]


def next_position(caches: Sequence[KVCache]) -> Array | None:
    """Return the position of the next token, (1,), the same for all sentences; None: the first."""
    return ops.take(caches[0].length, [0]) if caches else None


def slots_of(state: Any) -> int | None:
    """Return the slots of each hypothesis in the caches of a state; None if it has no caches."""
    is_cached = isinstance(state, (list, tuple)) and state and isinstance(state[0], KVCache)
    return state[0].values.shape[2] // state[0].seen.shape[1] if is_cached else None


def with_slots(state: Sequence[KVCache], slots: int) -> list[KVCache]:
    """Return a state of caches with another number of slots for each hypothesis."""
    return [resize_cache(cache, slots * cache.seen.shape[1]) for cache in state]


def branch(state: Sequence[KVCache], hypotheses: int) -> list[KVCache]:
    """Return a state of caches that W hypotheses of each sentence share."""
    return [branch_cache(cache, hypotheses) for cache in state]


def follow(state: Sequence[KVCache], parents: Array) -> list[KVCache]:
    """Return a state of caches in which hypotheses go on from their parents, at (B, W)."""
    return [follow_cache(cache, parents) for cache in state]
