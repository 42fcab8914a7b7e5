"""Attention inside and behind a recurrent decoder: what one vector, or one look, cannot carry."""

import keras
import numpy as np
from keras import layers, ops

from examples.mechanisms import answers
from examples.mechanisms.scores import shuffled
from examples.mechanisms.task import Task, share_of_sequences
from keras_attention.layers import (
    AdditiveAttention,
    AttendThenRecur,
    AttentionRNN,
    ContextSensitiveMemory,
    LuongAttention,
    Pooling,
    RecurThenAttend,
)

LABELS, UNITS = 10, 32

# Attend, then recur.

LENGTH = 10
PLACES = np.arange(LENGTH)[None]


def copy(rng, count):
    """Show ten tokens; ask for them again, a token after the other (teacher forcing)."""
    tokens = rng.integers(LABELS, size=(count, LENGTH), dtype="int32")
    before = np.pad(tokens[:, :-1], [(0, 0), (1, 0)], constant_values=LABELS)  # the start mark
    return {"context": tokens, "target": before}, tokens


def build_copier(with_mechanism):
    """Build an encoder, and a decoder that attends to its states or is given the last."""
    context = keras.Input((LENGTH,), dtype="int32", name="context")
    target = keras.Input((LENGTH,), dtype="int32", name="target")
    memory = layers.GRU(UNITS, return_sequences=True)(ops.one_hot(context, LABELS))
    attention = AdditiveAttention(UNITS) if with_mechanism else Pooling("last")
    decoder = AttentionRNN(AttendThenRecur(layers.GRUCell(UNITS), attention))
    x = decoder(ops.one_hot(target, LABELS + 1), memory)
    return keras.Model([context, target], layers.Dense(LABELS, name="logits")(x))


# Recur, then attend.

NODES, HOPS = 6, 3


def chain(rng, count):
    """Show nodes with a label each, and which follows which; ask for the labels along the way.

    Only the first node is named.
    """
    order = shuffled(rng, count, NODES)  # the way through the nodes, a circle
    after = np.empty_like(order)
    np.put_along_axis(after, order, np.roll(order, -1, axis=1), axis=1)
    values = rng.integers(LABELS, size=(count, NODES), dtype="int32")
    way = order[:, :HOPS]
    start = np.full((count, HOPS), NODES, "int32")  # no node
    start[:, 0] = way[:, 0]
    keys = shuffled(rng, count, NODES)  # the order in which the nodes are listed
    inputs = {"target": start, "keys": keys}
    inputs |= {
        name: np.take_along_axis(of_node, keys, axis=1)
        for name, of_node in (("after", after), ("values", values))
    }
    return inputs, np.take_along_axis(values, way, axis=1)


def build_chain(with_mechanism):
    """Feed what was read back into the cell; or attend after the loop, to nobody's knowledge."""
    target = keras.Input((HOPS,), dtype="int32", name="target")
    keys = keras.Input((NODES,), dtype="int32", name="keys")
    after = keras.Input((NODES,), dtype="int32", name="after")
    values = keras.Input((NODES,), dtype="int32", name="values")
    contents = layers.Concatenate()([ops.one_hot(after, NODES), ops.one_hot(values, LABELS)])
    names, x = ops.one_hot(keys, NODES), ops.one_hot(target, NODES + 1)
    cell, attention = layers.GRUCell(UNITS), ContextSensitiveMemory("general")
    if with_mechanism:
        x = AttentionRNN(RecurThenAttend(cell, attention))(x, value=contents, key=names)
    else:
        x = attention(layers.RNN(cell, return_sequences=True)(x), value=contents, key=names)
    return keras.Model([target, keys, after, values], layers.Dense(LABELS, name="logits")(x))


# Attention behind a decoder.

ENTRIES = 8


def dictionary(rng, count):
    """Show eight words with a label each, in any order; ask for all labels, in another order."""
    keys, target = shuffled(rng, count, ENTRIES), shuffled(rng, count, ENTRIES)
    values = rng.integers(LABELS, size=(count, ENTRIES), dtype="int32")
    by_key = np.take_along_axis(values, np.argsort(keys, axis=1), axis=1)
    inputs = {"target": target, "keys": keys, "values": values}
    return inputs, np.take_along_axis(by_key, target, axis=1)


def key_of_target(inputs):
    """Return which word of the dictionary each position asks for, (B, T, S)."""
    return answers.equal(inputs["target"], inputs["keys"])


def dictionary_inputs():
    """Return the inputs, the embedded target (B, T, UNITS) and the memory (B, S, UNITS)."""
    target = keras.Input((ENTRIES,), dtype="int32", name="target")
    keys = keras.Input((ENTRIES,), dtype="int32", name="keys")
    values = keras.Input((ENTRIES,), dtype="int32", name="values")
    entries = layers.Concatenate()([ops.one_hot(keys, ENTRIES), ops.one_hot(values, LABELS)])
    memory = layers.Dense(UNITS)(entries)
    return [target, keys, values], layers.Embedding(ENTRIES, UNITS)(target), memory


def build_luong(with_mechanism):
    """Start a decoder with a summary of the memory, and let it attend or not."""
    inputs, x, memory = dictionary_inputs()
    summary = Pooling("max")(x, layers.Dense(UNITS, activation="relu")(memory))[:, 0]
    x = layers.GRU(UNITS, return_sequences=True)(x, initial_state=summary)
    if with_mechanism:
        x = LuongAttention(ContextSensitiveMemory("general"))(x, memory)
    return keras.Model(inputs, layers.Dense(LABELS, name="logits")(x))


TASKS = [
    Task(
        mechanism="AttendThenRecur",
        instead="Pooling last",
        why="Ten tokens do not fit into one state, and attention need not put them there.",
        data=copy,
        answers=lambda inputs: answers.equal(PLACES, PLACES),
        build=build_copier,
        chance=0.0,
        at_least=0.9,
        at_most=0.3,
        steps=600,
        learning_rate=5e-3,
        score=share_of_sequences,
    ),
    Task(
        mechanism="RecurThenAttend",
        instead="attention after the loop",
        why="Where to look next was written where one has looked before.",
        data=chain,
        build=build_chain,
        chance=0.0,
        at_least=0.9,
        at_most=0.3,
        score=share_of_sequences,
    ),
    Task(
        mechanism="LuongAttention",
        instead="the decoder alone",
        why="Eight pairs do not fit into the state that the decoder starts from.",
        data=dictionary,
        answers=key_of_target,
        build=build_luong,
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
    ),
]
