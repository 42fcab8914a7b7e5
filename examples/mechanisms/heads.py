"""Several heads, the block around them, and retrieval in several steps."""

import keras
import numpy as np
from keras import layers, ops

from examples.mechanisms import answers
from examples.mechanisms.decoders import (
    ENTRIES,
    LABELS,
    dictionary,
    dictionary_inputs,
    key_of_target,
)
from examples.mechanisms.task import Task, share_of_sequences
from keras_attention.layers import (
    CrossAttention,
    DenseMultiHeadAttention,
    Hopfield,
    MultiHeadAttention,
    Pooling,
)

WIDTH = 32


# Several questions at once.


def two_questions(rng, count):
    """Show keys 0 … S − 1 in random order, a label with each; ask for the labels of two keys."""
    inputs, labels = dictionary(rng, count)
    return {**inputs, "target": inputs["target"][:, :2]}, labels[:, :2]


def answer_two(attention):
    """Ask both questions with one query, and name both answers after one read."""
    target = keras.Input((2,), dtype="int32", name="target")
    keys = keras.Input((ENTRIES,), dtype="int32", name="keys")
    values = keras.Input((ENTRIES,), dtype="int32", name="values")
    query = layers.Reshape((1, 2 * ENTRIES))(ops.one_hot(target, ENTRIES))
    read = attention(query, value=ops.one_hot(values, LABELS), key=ops.one_hot(keys, ENTRIES))
    logits = layers.Reshape((2, LABELS), name="logits")(layers.Dense(2 * LABELS)(read))
    return keras.Model([target, keys, values], logits)


# The block of the Transformer.


def build_block(with_mechanism):
    """Put residual and norm around attention, or around the mean of the memory."""
    inputs, x, memory = dictionary_inputs()
    attention = MultiHeadAttention(1, WIDTH) if with_mechanism else Pooling("mean")
    x = CrossAttention(attention)(x, memory)
    return keras.Model(inputs, layers.Dense(LABELS, name="logits")(x))


# Retrieval.

LEVELS = np.array([-3, -1, 1, 3], "float32") / 5**0.5  # of mean 0 and variance 1
NUMBERS, PATTERNS, STRENGTH = 64, 32, 0.15


def broken_patterns(rng, count):
    """Store pictures in four shades of grey, and show one of them with half of it missing."""
    shades = rng.integers(len(LEVELS), size=(count, PATTERNS, NUMBERS))
    whole = shades[np.arange(count), rng.integers(PATTERNS, size=count)]
    kept = rng.permuted(np.tile(np.arange(NUMBERS) < NUMBERS // 2, (count, 1)), axis=1)
    return {"query": LEVELS[whole] * kept, "keys": LEVELS[shades]}, whole


def kept_pattern(inputs):
    """Return which stored picture has what is left of the one shown, (B, 1, S)."""
    query = inputs["query"][:, None]
    return answers.nearest(query, inputs["keys"] * (query != 0))


def complete(steps):
    """Complete pictures in so many lookups; every number counts as the shade that is nearest."""
    query = keras.Input((NUMBERS,), name="query")
    keys = keras.Input((PATTERNS, NUMBERS), name="keys")
    read = Hopfield(STRENGTH, steps)(query, keys)
    return keras.Model([query, keys], -ops.square(ops.expand_dims(read, -1) - LEVELS))


BOTH = {
    "why": "Two values are wanted at once and in order, and one head has one set of weights.",
    "data": two_questions,
    "answers": key_of_target,
    "chance": 1 / LABELS**2,
    "at_least": 0.9,
    "at_most": 0.5,
    "score": share_of_sequences,
}

TASKS = [
    Task(
        mechanism="MultiHeadAttention",
        instead="one head, as wide",
        build=lambda with_mechanism: answer_two(
            MultiHeadAttention(2, WIDTH // 2) if with_mechanism else MultiHeadAttention(1, WIDTH)
        ),
        **BOTH,
    ),
    Task(
        mechanism="DenseMultiHeadAttention",
        instead="one head, as wide",
        build=lambda with_mechanism: answer_two(
            DenseMultiHeadAttention(2 if with_mechanism else 1, WIDTH)
        ),
        **BOTH,
    ),
    Task(
        mechanism="CrossAttention",
        instead="the block around Pooling mean",
        why="Every position asks for something else.",
        data=dictionary,
        answers=key_of_target,
        build=build_block,
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
    ),
    Task(
        mechanism="Hopfield",
        instead="a single lookup",
        why="Half a picture resembles many; each lookup brings the query nearer to the right one.",
        data=broken_patterns,
        answers=kept_pattern,
        build=lambda with_mechanism: complete(steps=5 if with_mechanism else 1),
        chance=0.0,
        at_least=0.9,
        at_most=0.6,
        steps=0,
        score=share_of_sequences,
    ),
]
