"""The parts of a Transformer: tokens that meet, do not look ahead, think, and know their place.

Each model is a block or two between an embedding and the logits, and lacks one part.
"""

from functools import partial

import keras
import numpy as np
from keras import layers, ops

from examples.mechanisms import answers
from examples.mechanisms.task import Task, predictions
from keras_attention.layers import (
    CausalSelfAttention,
    FeedForward,
    GlobalSelfAttention,
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
)

LABELS, WIDTH = 10, 32


def attention():
    """Return the attention of every block here: one head, as wide as the model."""
    return MultiHeadAttention(1, WIDTH)


# Twins.

PAIRS = 4


def twins(rng, count, summed=False):
    """Show every name twice, a label with each; ask every token for the label of its twin.

    Or for the sum of the two labels: the last digit of it.
    """
    pairs = np.repeat(np.arange(PAIRS, dtype="int32"), 2)
    names = rng.permuted(np.tile(pairs, (count, 1)), axis=1)
    values = rng.integers(LABELS, size=names.shape, dtype="int32")
    one, other = np.argsort(names, axis=1).reshape(count, PAIRS, 2).transpose(2, 0, 1)
    rows, labels = np.arange(count)[:, None], np.empty_like(values)
    labels[rows, one], labels[rows, other] = values[rows, other], values[rows, one]
    if summed:
        labels = (labels + values) % LABELS
    return {"names": names, "values": values}, labels


def twin(inputs):
    """Return the other token of the same name, (B, T, T)."""
    same = answers.equal(inputs["names"], inputs["names"])
    return same & ~np.eye(2 * PAIRS, dtype=bool)


def meet(*blocks):
    """Embed the tokens, and put these blocks on them, one after another."""
    names = keras.Input((2 * PAIRS,), dtype="int32", name="names")
    values = keras.Input((2 * PAIRS,), dtype="int32", name="values")
    tokens = layers.Concatenate()([ops.one_hot(names, PAIRS), ops.one_hot(values, LABELS)])
    x = layers.Dense(WIDTH)(tokens)
    for block in blocks:
        x = block(x)
    return keras.Model([names, values], layers.Dense(LABELS, name="logits")(x))


# No look ahead.

PHRASE = 6
UNWRITTEN = LABELS  # the token where nothing stands yet


def refrain(rng, count):
    """Sing a phrase twice, half the notes wrong the second time; ask every note for the next one.

    What stands in the first phrase cannot be foreseen, nor what goes wrong in the second.
    """
    phrase, noise = rng.integers(LABELS, size=(2, count, PHRASE), dtype="int32")
    wrong = rng.random(phrase.shape) < 1 / 2
    tokens = np.concatenate([phrase, np.where(wrong, noise, phrase)], axis=1)
    return {"tokens": tokens[:, :-1]}, tokens[:, 1:]


def note_to_come(inputs):
    """Return where the next note was sung in the first phrase, (B, T, T); it has none itself."""
    length = inputs["tokens"].shape[1]
    places = np.arange(1, length + 1)[None] - PHRASE
    return np.repeat(answers.at(places, length), len(inputs["tokens"]), axis=0)


def build_singer(with_mechanism):
    """Let every token look at what came before, or at the whole sentence."""
    tokens = keras.Input((2 * PHRASE - 1,), dtype="int32", name="tokens")
    x = LearnedPositions(2 * PHRASE - 1)(layers.Embedding(LABELS + 1, WIDTH)(tokens))
    x = (CausalSelfAttention if with_mechanism else GlobalSelfAttention)(attention())(x)
    return keras.Model([tokens], layers.Dense(LABELS, name="logits")(x))


def share_of_written_tokens(model, inputs, labels):
    """Let the model write the second phrase; score the share of tokens as in the first."""
    del labels
    tokens = np.pad(inputs["tokens"], [(0, 0), (0, 1)])
    tokens[:, PHRASE:] = UNWRITTEN
    for t in range(PHRASE, 2 * PHRASE):
        tokens[:, t] = predictions(model, {"tokens": tokens[:, :-1]})[:, t - 1]
    return float(np.mean(tokens[:, PHRASE:] == tokens[:, :PHRASE]))


# The order.

LENGTH = 12
REVERSED = np.arange(LENGTH)[::-1]
SCRAMBLED = np.random.default_rng(2).permutation(LENGTH)


def rearranged(rng, count, places):
    """Show tokens; ask at every position for the token of another one, always the same."""
    tokens = rng.integers(LABELS, size=(count, LENGTH), dtype="int32")
    return {"tokens": tokens}, tokens[:, places]


def rearranger(positions, **options):
    """Return a build that adds these positions, or none, and lets the tokens meet."""

    def build(with_mechanism):
        tokens = keras.Input((LENGTH,), dtype="int32", name="tokens")
        x = layers.Embedding(LABELS, WIDTH)(tokens)
        x = positions(**options)(x) if with_mechanism else x
        x = GlobalSelfAttention(attention())(x)
        return keras.Model([tokens], layers.Dense(LABELS, name="logits")(x))

    return build


NOWHERE = {
    "instead": "no positions",
    "why": "Attention sees a bag of tokens: shuffle them, and the answers are shuffled alike.",
    "chance": 1 / LABELS,
    "at_least": 0.9,
    "at_most": 0.5,
}

TASKS = [
    Task(
        mechanism="GlobalSelfAttention",
        instead="FeedForward",
        why="What is asked of a token stands at another one, anywhere in the sentence.",
        data=twins,
        answers=twin,
        build=lambda with_mechanism: meet(
            GlobalSelfAttention(attention()) if with_mechanism else FeedForward(4 * WIDTH)
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.3,
    ),
    Task(
        mechanism="CausalSelfAttention",
        instead="GlobalSelfAttention",
        why="Whoever sees the next token in training learns to copy it, and writing has none.",
        data=refrain,
        answers=note_to_come,
        build=build_singer,
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.5,
        score=share_of_written_tokens,
    ),
    Task(
        mechanism="FeedForward",
        instead="the self-attention alone",
        why="Attention brings two digits together; what they make, if not a mean, has to be known.",
        data=partial(twins, summed=True),
        build=lambda with_mechanism: meet(
            GlobalSelfAttention(attention()),
            *([FeedForward(4 * WIDTH)] if with_mechanism else []),
        ),
        chance=1 / LABELS,
        at_least=0.9,
        at_most=0.6,
        learning_rate=5e-3,
    ),
    Task(
        mechanism="SinusoidalPositions",
        data=partial(rearranged, places=REVERSED),
        build=rearranger(SinusoidalPositions),
        **NOWHERE,
    ),
    Task(
        mechanism="LearnedPositions",
        data=partial(rearranged, places=SCRAMBLED),
        build=rearranger(LearnedPositions, length=LENGTH),
        **NOWHERE,
    ),
]
