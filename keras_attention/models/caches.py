"""The caches of models whose tokens come one at a time: one for each layer that attends to them."""

import keras

from keras_attention.layers import CausalSelfAttention, TransformerDecoderLayer
from keras_attention.ops import KVCache, resize_cache


def cached_layers(model):
    """Return the layers of a model that take a cache, in their order."""
    kinds = (CausalSelfAttention, TransformerDecoderLayer)
    return [layer for layer in model.layers if isinstance(layer, kinds)]


def cache_inputs(layers):
    """Return a symbolic cache for each of some layers, of any number of slots."""
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


def of_one_length(caches):
    """Return caches that all have the length of the first.

    It is the same for all layers; but only so does a program for several chips fetch it once.
    """
    return [cache._replace(length=caches[0].length) for cache in caches]


def slots_of(state):
    """Return how many slots the caches in a state have; None for a state without any."""
    is_cached = isinstance(state, (list, tuple)) and state and isinstance(state[0], KVCache)
    return state[0].values.shape[2] if is_cached else None


def with_slots(state, slots):
    """Return a state of caches with another number of slots, enough for what they hold."""
    return [resize_cache(cache, slots) for cache in state]
