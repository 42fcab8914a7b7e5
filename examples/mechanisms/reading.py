"""How a memory is read: all of it, one position, a window; and where labels meet frames (CTC)."""

from functools import partial

import keras
import numpy as np
from keras import layers, ops

from examples.mechanisms import answers
from examples.mechanisms.task import Task, crossentropy, predictions
from keras_attention.lab.tasks import speak
from keras_attention.layers import (
    AdditiveAttention,
    ContextSensitiveMemory,
    HardAttention,
    MonotonicLocalAttention,
    Pooling,
    PredictiveLocalAttention,
)
from keras_attention.models import Reinforced
from keras_attention.ops import ctc_loss, marginal_log_likelihood

LABELS, FEATURES = 10, 8

# A flag anywhere.


def flagged(rng, count, length, noise):
    """Show labels, one of them under a flag; ask for that label.

    A flag is a 1 in the first feature; the others are noise, which may be far larger.
    """
    values = rng.integers(LABELS, size=(count, length), dtype="int32")
    where = rng.integers(length, size=count)
    flags = rng.normal(scale=noise, size=(count, length, FEATURES)).astype("float32")
    flags[..., 0] = np.arange(length) == where[:, None]
    return {"flags": flags, "values": values}, values[np.arange(count), where]


def under_the_flag(inputs):
    """Return which label is under the flag, (B, 1, S)."""
    flags = inputs["flags"][..., 0]
    return answers.at(flags.argmax(axis=1)[:, None], flags.shape[1])


def flag_inputs(length):
    """Return the inputs, and a query that says nothing: the score has to know what to look for."""
    flags = keras.Input((length, FEATURES), name="flags")
    values = keras.Input((length,), dtype="int32", name="values")
    return flags, values, ops.ones_like(flags[:, :1])


LONG = 50


def build_anywhere(with_mechanism):
    """Attend to fifty positions, or keep the last."""
    flags, values, query = flag_inputs(LONG)
    read = (AdditiveAttention(16) if with_mechanism else Pooling("last"))(
        query, ops.one_hot(values, LABELS), flags
    )
    return keras.Model([flags, values], layers.Dense(LABELS, name="logits")(read[:, 0]))


# Hard attention.

SLOTS = 8


def build_hard(with_mechanism, how):
    """Read one label; `how` is what brings a gradient to the choice."""
    flags, values, query = flag_inputs(SLOTS)
    straight_through = with_mechanism and how == "straight_through"
    attention = HardAttention("general", straight_through=straight_through)
    read, weights, distribution = attention(
        query, value=ops.one_hot(values, LABELS), key=flags, return_distribution=True
    )
    logits = layers.Dense(LABELS, name="logits")(read[:, 0])
    if with_mechanism and how == "reinforce":
        outputs = {"logits": logits, "weights": weights, "distribution": distribution}
        return Reinforced([flags, values], outputs, entropy_weight=0.01)
    return keras.Model([flags, values], logits)


def loss_beside_reinforced(with_mechanism):
    """Return no loss with REINFORCE, whose model has its own."""
    return None if with_mechanism else crossentropy(with_mechanism)


# Hard attention whose every choice can be tried.


def two_flags(rng, count):
    """Flag two positions; the label is that of either, and nothing says which."""
    values = rng.integers(LABELS, size=(count, SLOTS), dtype="int32")
    where = rng.permuted(np.tile(np.arange(SLOTS), (count, 1)), axis=1)[:, :2]
    rows = np.arange(count)
    flags = rng.normal(scale=0.1, size=(count, SLOTS, FEATURES)).astype("float32")
    flags[rows[:, None], where, 0] += 1
    return {"flags": flags, "values": values}, values[rows, where[:, 0]]


def build_marginal(with_mechanism):
    """Show labels as points of a circle; sum p(label) over the choices, or over the points."""
    flags, values, query = flag_inputs(SLOTS)
    angles = ops.cast(values, "float32") * (2 * np.pi / LABELS)
    points = ops.stack([ops.cos(angles), ops.sin(angles)], axis=-1)
    attention, to_logits = ContextSensitiveMemory("general"), layers.Dense(LABELS)
    read, weights = attention(query, value=points, key=flags, return_attention_scores=True)
    if not with_mechanism:
        return keras.Model([flags, values], to_logits(read[:, 0]))
    each = ops.swapaxes(ops.log_softmax(to_logits(points), axis=-1), 1, 2)  # (B, V, S)
    return keras.Model([flags, values], marginal_log_likelihood(weights, each))


def share_of_possible_labels(model, inputs, labels):
    """Score the share of the predictions that are the label of one of the two flags."""
    del labels
    where = np.argsort(inputs["flags"][..., 0], axis=1)[:, -2:]
    possible = np.take_along_axis(inputs["values"], where, axis=1)
    return float(np.mean(np.any(predictions(model, inputs)[:, None] == possible, axis=1)))


# Local attention.

PHRASE, PHRASES, WIDTH = 6, 4, 8


def unsteady_copy(rng, count):
    """Ask in order, give or take one position, for the labels of keys that come back later."""
    length = PHRASE * PHRASES
    keys = np.tile(rng.normal(size=(count, PHRASE, WIDTH)), (1, PHRASES, 1)).astype("float32")
    values = rng.integers(LABELS, size=(count, length), dtype="int32")
    where = np.arange(length) + rng.integers(-1, 2, size=(count, length))
    where = np.clip(where, 0, length - 1)
    query = np.take_along_axis(keys, where[..., None], axis=1)
    return {"query": query, "keys": keys, "values": values}, np.take_along_axis(values, where, 1)


def nearby(inputs):
    """Return which of the equal keys is meant, (B, T, S): the one beside the query's own place."""
    found = answers.nearest(inputs["query"], inputs["keys"][:, :PHRASE])  # of the first phrase
    found = np.tile(found, (1, 1, PHRASES))
    places = np.arange(found.shape[2])
    return found & (abs(places[:, None] - places) <= 1)


STRETCH, STEPS = 8, 4


def stretched_time(rng, count):
    """Flag one position of every eight; ask for the label of the t-th flag."""
    length = STRETCH * STEPS
    values = rng.integers(LABELS, size=(count, length), dtype="int32")
    where = STRETCH * np.arange(STEPS) + rng.integers(2, STRETCH - 2, size=(count, STEPS))
    keys = rng.normal(scale=0.1, size=(count, length, 4)).astype("float32")
    keys[np.arange(count)[:, None], where, 0] += 1
    query = np.stack([np.linspace(-1, 1, STEPS), np.ones(STEPS)], axis=-1).astype("float32")
    query = np.tile(query, (count, 1, 1))
    return {"query": query, "keys": keys, "values": values}, np.take_along_axis(values, where, 1)


def under_each_flag(inputs):
    """Return the place of the t-th flag, (B, T, S)."""
    flags = inputs["keys"][..., 0]
    places = np.sort(np.argsort(flags, axis=1)[:, -STEPS:], axis=1)
    return answers.at(places, flags.shape[1])


def ask_in_order(attention, queries, query_width, length, key_width):
    """Answer a sequence of queries with an attention layer."""
    query = keras.Input((queries, query_width), name="query")
    keys = keras.Input((length, key_width), name="keys")
    values = keras.Input((length,), dtype="int32", name="values")
    read = attention(query, value=ops.one_hot(values, LABELS), key=keys)
    return keras.Model([query, keys, values], layers.Dense(LABELS, name="logits")(read))


copy_unsteadily = partial(
    ask_in_order,
    queries=PHRASE * PHRASES,
    query_width=WIDTH,
    length=PHRASE * PHRASES,
    key_width=WIDTH,
)
stretch_time = partial(
    ask_in_order, queries=STEPS, query_width=2, length=STRETCH * STEPS, key_width=4
)

# Connectionist temporal classification.

CTC = "CTC"
SPOKEN, FRAMES = 4, 24  # labels of a sequence, and the frames that they are spoken in


def spoken(rng, count):
    """Speak labels 1 … V − 1 for one to four frames each, between silences; noise over all."""
    speech = speak(rng, count, labels=SPOKEN, frames=FRAMES, vocabulary=LABELS)
    return {"frames": speech.frames}, speech.labels


def build_spoken(with_mechanism):
    """Name every frame by itself and its neighbours; how it learns to is what differs."""
    del with_mechanism
    frames = keras.Input((FRAMES, LABELS), name="frames")
    x = layers.Conv1D(32, 3, padding="same", activation="relu")(frames)
    return keras.Model([frames], layers.Dense(LABELS, name="logits")(x))


def spoken_loss(with_mechanism):
    """Return the CTC loss; or that of every frame, with the labels spread evenly over them."""

    def of_alignments(labels, logits):
        return ctc_loss(logits, labels, ops.ones_like(logits[..., 0], dtype="bool"))

    def of_frames(labels, logits):
        spread = ops.repeat(labels, FRAMES // SPOKEN, axis=1)
        return ops.sparse_categorical_crossentropy(spread, logits, from_logits=True)

    return of_alignments if with_mechanism else of_frames


def share_of_transcripts(model, inputs, labels):
    """Score the share of the sequences that are right, once repeats and blanks are taken out."""
    right = [
        np.array_equal([a for a, b in zip(row, [0, *row], strict=False) if a not in (0, b)], wanted)
        for row, wanted in zip(predictions(model, inputs).tolist(), labels.tolist(), strict=True)
    ]
    return float(np.mean(right))


NO_GRADIENT = {
    "instead": "drawn, the loss alone",
    "why": "Which position was read has no gradient, so that a loss alone never moves the choice.",
    "data": partial(flagged, length=SLOTS, noise=1.0),
    "answers": under_the_flag,
    "chance": 1 / LABELS,
    "at_least": 0.9,
    "at_most": 0.5,
    "learning_rate": 3e-2,
}

TASKS = [
    Task(
        mechanism="soft attention",
        instead="Pooling last",
        why="The label may stand at any of fifty positions, and is seldom the last.",
        data=partial(flagged, length=LONG, noise=0.1),
        build=build_anywhere,
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
    ),
    Task(
        mechanism="HardAttention, REINFORCE",
        build=partial(build_hard, how="reinforce"),
        loss=loss_beside_reinforced,
        **NO_GRADIENT,
    ),
    Task(
        mechanism="HardAttention, straight-through",
        build=partial(build_hard, how="straight_through"),
        **NO_GRADIENT,
    ),
    Task(
        mechanism="exact marginal",
        instead="soft read",
        why="Two positions may be meant, and what lies halfway between two labels is a third one.",
        data=two_flags,
        build=build_marginal,
        chance=2 / LABELS,
        at_least=0.9,
        at_most=0.6,
        learning_rate=3e-2,
        score=share_of_possible_labels,
    ),
    Task(
        mechanism="MonotonicLocalAttention",
        instead="global, same score",
        why="Every key comes four times, and only the one nearby is meant.",
        data=unsteady_copy,
        answers=nearby,
        build=lambda with_mechanism: copy_unsteadily(
            MonotonicLocalAttention(2, "general")
            if with_mechanism
            else ContextSensitiveMemory("general")
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
        learning_rate=3e-2,
    ),
    Task(
        mechanism="PredictiveLocalAttention",
        instead="global, same score",
        why="All flags look alike: which one is meant follows from the time, stretched eightfold.",
        data=stretched_time,
        answers=under_each_flag,
        build=lambda with_mechanism: stretch_time(
            PredictiveLocalAttention(8, "general", units=16)
            if with_mechanism
            else ContextSensitiveMemory("general")
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
        learning_rate=3e-2,
    ),
    Task(
        mechanism=CTC,
        instead="even spread",
        why="Nothing says which frames speak which label.",
        data=spoken,
        build=build_spoken,
        chance=0.0,
        at_least=0.9,
        at_most=0.3,
        steps=400,
        loss=spoken_loss,
        score=share_of_transcripts,
    ),
]
