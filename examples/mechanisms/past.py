"""Attention with a past: a decoder that is told nothing must know where it has looked.

The queries say nothing (or nothing that tells equal items apart), so that attention without a past
looks at the same place at every step.
"""

from functools import partial

import keras
import numpy as np
from keras import layers, ops

from examples.mechanisms import answers
from examples.mechanisms.scores import shuffled
from examples.mechanisms.task import Task
from keras_attention.layers import (
    AdditiveAttention,
    CoverageAttention,
    LocationAwareAttention,
    NeuralCoverageAttention,
    RecurrentLocationAttention,
)

ITEMS, UNITS = 5, 32
SEGMENT, REPEATS, LABELS = 4, 3, 10


def in_order(rng, count):
    """Show keys 0 … S − 1 in random order, a label with each; ask for all labels by rising key."""
    keys = shuffled(rng, count, ITEMS)
    values = rng.integers(LABELS, size=(count, ITEMS), dtype="int32")
    inputs = {"query": np.zeros((count, ITEMS), "int32"), "keys": keys, "values": values}
    return inputs, np.take_along_axis(values, np.argsort(keys, axis=1), axis=1)


def repeated_segments(rng, count):
    """Show a word of four sounds three times, every time with other labels; ask for all of them.

    The query is the sound that comes next, which was heard three times.
    """
    keys = np.tile(shuffled(rng, count, SEGMENT), (1, REPEATS))
    values = rng.integers(LABELS, size=keys.shape, dtype="int32")
    return {"query": keys, "keys": keys, "values": values}, values


PLACES = np.arange(SEGMENT * REPEATS)[None]


def emit(attention, length, kinds, labels):
    """Read a label at every step, with an attention layer between one-hot queries and keys."""
    query = keras.Input((length,), dtype="int32", name="query")
    keys = keras.Input((length,), dtype="int32", name="keys")
    values = keras.Input((length,), dtype="int32", name="values")
    read = attention(
        ops.one_hot(query, kinds), value=ops.one_hot(values, labels), key=ops.one_hot(keys, kinds)
    )
    return keras.Model([query, keys, values], layers.Dense(labels, name="logits")(read))


emit_all = partial(emit, length=ITEMS, kinds=ITEMS, labels=LABELS)
emit_segments = partial(emit, length=SEGMENT * REPEATS, kinds=SEGMENT, labels=LABELS)

ALL_ONCE = {
    "instead": "AdditiveAttention",
    "why": "All items are wanted, one after another, and no query says which is next.",
    "data": in_order,
    "answers": lambda inputs: answers.at(np.argsort(inputs["keys"], axis=1), ITEMS),
    "chance": 1 / LABELS,
    "at_least": 0.9,
    "at_most": 0.5,
}

TASKS = [
    Task(
        mechanism="CoverageAttention",
        build=lambda with_mechanism: emit_all(
            (CoverageAttention if with_mechanism else AdditiveAttention)(UNITS)
        ),
        **ALL_ONCE,
    ),
    Task(
        mechanism="NeuralCoverageAttention",
        build=lambda with_mechanism: emit_all(
            (NeuralCoverageAttention if with_mechanism else AdditiveAttention)(UNITS)
        ),
        steps=500,
        **ALL_ONCE,
    ),
    Task(
        mechanism="RecurrentLocationAttention",
        build=lambda with_mechanism: emit_all(
            (RecurrentLocationAttention if with_mechanism else AdditiveAttention)(UNITS)
        ),
        **ALL_ONCE,
    ),
    Task(
        mechanism="LocationAwareAttention",
        instead="AdditiveAttention",
        why="Every segment is heard three times: only the place of the last look tells them apart.",
        data=repeated_segments,
        answers=lambda inputs: answers.equal(PLACES, PLACES),
        build=lambda with_mechanism: emit_segments(
            (LocationAwareAttention if with_mechanism else AdditiveAttention)(UNITS)
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
    ),
]
