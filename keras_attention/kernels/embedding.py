"""An embedding that remembers which of its vectors are the same.

A batch repeats its words: 32 short sentences have less than half as many different ids as places.
What a layer computes from each vector alone, it can compute once for equal ones. With
ids = distinct[places],

E[ids] W = (E[distinct] W)[places]
"""

from typing import Any, NamedTuple

import tensorflow as tf
from keras import ops

from keras_attention.types import Array


class Distinct(NamedTuple):
    """What vectors (…, E) consist of: vectors = rows[places].

    Attributes:
        rows: the vectors of N different ids, (N, E).
        places: which row stands where, int32 (…).
    """

    rows: Array
    places: Array


def embedding(table: Any, ids: Array, dtype: str) -> Array:
    """Return the vectors of ids, of which `distinct_of` knows which are the same.

    Whoever computes with the rows of that `Distinct` leaves the vectors unused, and TensorFlow does
    not compute them.

    Args:
        table: the vectors of all ids, (V, E); a tensor or a variable.
        ids: int32 (…), from 0 to V − 1.
        dtype: of the vectors.

    Returns:
        (…, E).
    """
    distinct, places = tf.unique(tf.reshape(ids, (-1,)))
    rows, vectors = (ops.cast(ops.take(table, wanted, axis=0), dtype) for wanted in (distinct, ids))
    vectors._keras_attention_distinct = Distinct(rows, tf.reshape(places, tf.shape(ids)))
    return vectors


def distinct_of(vectors: Array) -> Distinct | None:
    """Return what vectors consist of if `embedding` returned them, else None."""
    return getattr(vectors, "_keras_attention_distinct", None)


@tf.custom_gradient
def spread(rows: Array, places: Array) -> Array:
    """Return rows (N, D) at places (…), (…, D); their gradients are summed as one dense array."""

    def gradient(upstream):
        upstream = tf.reshape(upstream, (-1, upstream.shape[-1]))
        flat, count = tf.reshape(places, (-1,)), tf.shape(rows)[0]
        return tf.math.unsorted_segment_sum(upstream, flat, count), None

    return tf.gather(rows, places), gradient
