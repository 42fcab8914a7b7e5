"""Looking up a memory, and the scores: what can, and what cannot, tell the right key.

Every example brings fresh keys, each with a label drawn at random as its value; asked for is the
label of one key. A summary of the memory tells which labels are there, and no more.
"""

import keras
import numpy as np
from keras import layers, ops

from examples.mechanisms import answers
from examples.mechanisms.task import Task
from keras_attention.layers import AdditiveAttention, ContextSensitiveMemory, Pooling
from keras_attention.layers.scores import ConcatScore, LocationScore, TwoLayerScore

SLOTS, LABELS, WIDTH, UNITS = 8, 32, 16, 32


def shuffled(rng, count, slots):
    """Draw the numbers from 0 to `slots` − 1 in random order, (count, slots)."""
    return rng.permuted(np.tile(np.arange(slots, dtype="int32"), (count, 1)), axis=1)


def asking(query_and_keys):
    """Return the data of a lookup; `query_and_keys(rng, wanted)` gives (B, Q) and (B, S, K)."""

    def data(rng, count):
        wanted = rng.integers(SLOTS, size=count)
        query, keys = query_and_keys(rng, wanted)
        values = rng.integers(LABELS, size=(count, SLOTS), dtype="int32")
        inputs = {"query": query.astype("float32"), "keys": keys.astype("float32")}
        return {**inputs, "values": values}, values[np.arange(count), wanted]

    return data


def key_of_query(inputs):
    """Return which key was asked for, (B, 1, S)."""
    return answers.nearest(inputs["query"][:, None], inputs["keys"])


def lookup_model(attention, query_width=WIDTH, key_width=WIDTH):
    """Read the memory with an attention layer; what was read is a label, up to its name."""
    query = keras.Input((query_width,), name="query")
    keys = keras.Input((SLOTS, key_width), name="keys")
    values = keras.Input((SLOTS,), dtype="int32", name="values")
    read = attention(query, value=ops.one_hot(values, LABELS), key=keys)
    return keras.Model([query, keys, values], layers.Dense(LABELS, name="logits")(read))


# A memory at all.


def equal_keys(rng, wanted):
    """Ask with the key itself."""
    keys = rng.normal(size=(len(wanted), SLOTS, WIDTH))
    return keys[np.arange(len(wanted)), wanted], keys


def build_memory(with_mechanism):
    """Build a soft dictionary; or a network that sees the query and the mean of all pairs."""
    if with_mechanism:
        return lookup_model(ContextSensitiveMemory("scaled_dot", key_dim=WIDTH))
    query = keras.Input((WIDTH,), name="query")
    keys = keras.Input((SLOTS, WIDTH), name="keys")
    values = keras.Input((SLOTS,), dtype="int32", name="values")
    pairs = layers.Concatenate()([keys, ops.one_hot(values, LABELS)])
    pairs = layers.Dense(64, activation="relu")(pairs)
    x = layers.Concatenate()([query, Pooling("mean")(query, pairs)])
    x = layers.Dense(64, activation="relu")(x)
    return keras.Model([query, keys, values], layers.Dense(LABELS, name="logits")(x))


# Which score.


def rescaled_keys(rng, wanted):
    """Ask with the key itself, but let the memory hold keys of very different lengths."""
    query, keys = equal_keys(rng, wanted)
    return query, keys * 10 ** rng.uniform(-1, 1, size=(*keys.shape[:2], 1))


ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(WIDTH, WIDTH)))[0]


def rotated_query(rng, wanted):
    """Ask with the key as seen from another frame of reference, always the same one."""
    query, keys = equal_keys(rng, wanted)
    return query @ ROTATION, keys


DEEP, WORDS = 512, 64


def two_languages(rng, wanted):
    """Ask with the translation of a key: word w of one language means word w of the other."""
    keys = rng.permuted(np.tile(np.arange(WORDS), (len(wanted), 1)), axis=1)[:, :SLOTS]
    return keys[np.arange(len(wanted)), wanted][:, None], keys[..., None]


def build_deep(with_mechanism):
    """Embed the words of both languages in 512 numbers of variance 1, and compare them."""
    query = keras.Input((1,), name="query")
    keys = keras.Input((SLOTS, 1), name="keys")
    values = keras.Input((SLOTS,), dtype="int32", name="values")
    of_query, of_keys = (
        layers.Embedding(WORDS, DEEP, keras.initializers.RandomNormal(stddev=1.0)) for _ in range(2)
    )
    attention = ContextSensitiveMemory("scaled_dot" if with_mechanism else "dot")
    values_of_labels = ops.one_hot(values, LABELS)
    read = attention(of_query(query[:, 0]), value=values_of_labels, key=of_keys(keys[..., 0]))
    return keras.Model([query, keys, values], layers.Dense(LABELS, name="logits")(read))


def neighbours(constant):
    """Return what asks for the nearest number; `constant` puts a 1 beside every number."""

    def query_and_keys(rng, wanted):
        rows = np.arange(len(wanted))
        grid = np.linspace(-1, 1, 2 * SLOTS)
        keys = rng.permuted(np.tile(grid, (len(wanted), 1)), axis=1)[:, :SLOTS]
        query = keys[rows, wanted] + rng.uniform(-0.02, 0.02, size=len(wanted))
        query, keys = query[:, None], keys[..., None]
        if constant:
            query, keys = (np.concatenate([x, np.ones_like(x)], -1) for x in (query, keys))
        return query, keys

    return query_and_keys


def build_nearest(attention, width):
    """Return a build that compares numbers, with `attention()` or with the general score."""
    return lambda with_mechanism: lookup_model(
        attention() if with_mechanism else ContextSensitiveMemory("general"), width, width
    )


PLACES = np.random.default_rng(1).permutation(SLOTS)


def fixed_places(rng, wanted):
    """Ask for a position by its number in a list that is always the same; keys are noise."""
    query = np.eye(SLOTS)[np.argsort(PLACES)[wanted]]
    return query, rng.normal(size=(len(wanted), SLOTS, WIDTH))


def build_location(with_mechanism):
    """Build a lookup by position; or by content, through projections of query and keys."""
    by_content = {"score": "scaled_dot", "key_dim": WIDTH}
    by_location = {"score": LocationScore(longest=SLOTS)}
    attention = ContextSensitiveMemory(**(by_location if with_mechanism else by_content))
    return lookup_model(attention, query_width=SLOTS)


NEAREST = {"chance": 1 / LABELS, "at_least": 0.9, "at_most": 0.4, "steps": 800}
MONOTONE = "q·w·k only grows or only falls along k, so it cannot be largest where k = q."

TASKS = [
    Task(
        mechanism="ContextSensitiveMemory",
        instead="Pooling mean and an MLP",
        why="The answer is the value of one key among eight, and the pairs are new every time.",
        data=asking(equal_keys),
        answers=key_of_query,
        build=build_memory,
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.3,
        steps=400,
        learning_rate=3e-2,
    ),
    Task(
        mechanism="cosine",
        instead="dot",
        why="Keys differ in length by up to a hundred times, and the dot product likes long ones.",
        data=asking(rescaled_keys),
        build=lambda with_mechanism: lookup_model(
            ContextSensitiveMemory("cosine" if with_mechanism else "dot")
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.7,
        learning_rate=3e-2,
    ),
    Task(
        mechanism="scaled_dot",
        instead="dot",
        why="The dot product of 512 numbers starts near ±23: one-hot weights, hardly a gradient.",
        data=asking(two_languages),
        build=build_deep,
        chance=1 / LABELS,
        at_least=0.95,
        at_most=0.8,
    ),
    Task(
        mechanism="general",
        instead="dot",
        why="The query is the key in other coordinates, which only a learned matrix undoes.",
        data=asking(rotated_query),
        build=lambda with_mechanism: lookup_model(
            ContextSensitiveMemory("general" if with_mechanism else "dot")
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.3,
        steps=600,
        learning_rate=2e-2,
    ),
    Task(
        mechanism="two_layer",
        instead="general",
        why=MONOTONE,
        data=asking(neighbours(constant=False)),
        build=build_nearest(lambda: ContextSensitiveMemory(TwoLayerScore(UNITS)), width=1),
        **NEAREST,
    ),
    Task(
        mechanism="AdditiveAttention",
        instead="general",
        why=MONOTONE,
        data=asking(neighbours(constant=True)),
        answers=key_of_query,
        build=build_nearest(lambda: AdditiveAttention(UNITS), width=2),
        **NEAREST,
    ),
    Task(
        mechanism="concat",
        instead="general",
        why=MONOTONE,
        data=asking(neighbours(constant=True)),
        build=build_nearest(lambda: ContextSensitiveMemory(ConcatScore(UNITS)), width=2),
        **NEAREST,
    ),
    Task(
        mechanism="location",
        instead="scaled_dot",
        why="The query names a position, and the keys do not know theirs.",
        data=asking(fixed_places),
        build=build_location,
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.3,
    ),
]
