"""Caches of models that read their tokens one at a time: one per layer with self-attention."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_attention.layers import CausalSelfAttention, TransformerDecoderLayer
from keras_attention.ops import KVCache, resize_cache


def cached_layers(model: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers of a model that take a cache, in order."""
    kinds = (CausalSelfAttention, TransformerDecoderLayer)
    return [layer for layer in model.layers if isinstance(layer, kinds)]


def cache_inputs(layers: Sequence[keras.layers.Layer]) -> list[KVCache]:
    """Return one symbolic cache per layer, with any number of slots."""
    caches = []
    for n, layer in enumerate(layers, start=1):
        keys, values, length = layer.empty_cache(keras.Input((1,), dtype="int32"), slots=1)
        caches.append(
            KVCache(
                keras.Input((*keys.shape[1:3], None), dtype=keys.dtype, name=f"keys_{n}"),
                keras.Input(
                    (values.shape[1], None, values.shape[3]), dtype=values.dtype, name=f"values_{n}"
                ),
                keras.Input((), dtype=length.dtype, name=f"length_{n}"),
            )
        )
    return caches


def of_one_length(caches: Sequence[KVCache]) -> list[KVCache]:
    """Return the caches, all with the length of the first.

    All caches store the same number of tokens. Sharing the tensor of that number lets a program for
    several chips fetch it only once.
    """
    for cache in caches:
        keras.ops.copy(cache.length)  # Keras 3.13 takes no input of which nothing is made.
    return [cache._replace(length=caches[0].length) for cache in caches]


def slots_of(state: Any) -> int | None:
    """Return the number of slots of the caches in a state; None if it has no caches."""
    is_cached = isinstance(state, (list, tuple)) and state and isinstance(state[0], KVCache)
    return state[0].values.shape[2] if is_cached else None


def with_slots(state: Sequence[KVCache], slots: int) -> list[KVCache]:
    """Return a state of caches with another number of slots, enough for what they store."""
    return [resize_cache(cache, slots) for cache in state]
