"""Steps whose answers are known, and plain Python that finds the answers in float64."""

import itertools

import keras
import numpy as np
from keras import ops

PADDING, START, END = 0, 2, 3


class History(keras.layers.Layer):
    """Logits that depend on the whole history; all of it is in the state, as it was fed.

    The memory is a table of logits for each sentence of the batch, (B, rows, V): first the row of
    the empty history, then those of the histories of one token, of two, and so on.
    """

    def call(self, tokens, memory, state):
        position, history = state["position"], state["history"]
        length = history.shape[1]
        here = ops.arange(length)[None] == position[:, None]
        history = ops.where(here, tokens[:, None], history)
        size = memory.shape[-1]
        row = ops.zeros_like(tokens)
        for place in range(1, length):  # the start token apart
            row = ops.where(position >= place, row * size + history[:, place], row)
        row = row + ops.cast((size**position - 1) // (size - 1), "int32")
        logits = ops.take_along_axis(memory, row[:, None, None], axis=1)[:, 0]
        return logits, {}, {"history": history, "position": position + 1}


def history_table(batch, size, length, seed=0, scale=2.0):
    """Return random logits after each history of fewer than `length` tokens."""
    rows = (size**length - 1) // (size - 1)
    return np.random.default_rng(seed).normal(0, scale, (batch, rows, size)).astype("float32")


def history_start(batch, length):
    return {
        "history": ops.zeros((batch, length), dtype="int32"),
        "position": ops.zeros((batch,), dtype="int32"),
    }


def log_probability_after(table, history):
    """Return the log probabilities (V,) of the next token, in float64."""
    size = table.shape[-1]
    row = sum(token * size**power for power, token in enumerate(reversed(history)))
    logits = table[row + (size ** len(history) - 1) // (size - 1)].astype("float64")
    return logits - np.log(np.exp(logits).sum())


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def all_sentences(table, length, alpha):
    """Return (finished, score, log probability, tokens) of every sentence, best first."""
    words = [t for t in range(table.shape[-1]) if t not in (PADDING, START, END)]
    found = []
    for count in range(length + 1):
        for tokens in itertools.product(words, repeat=count):
            steps = [log_probability_after(table, tokens[:i])[t] for i, t in enumerate(tokens)]
            if count < length:
                steps.append(log_probability_after(table, tokens)[END])
                tokens = (*tokens, END)
            finished = tokens[-1] == END
            total = sum(steps)
            found.append((finished, total / penalty(len(tokens), alpha), total, tokens))
    return sorted(found, reverse=True)


def plain_beam_search(table, length, beam, alpha):
    """Return what `all_sentences` does of those that a beam finds: lists, and no cleverness."""
    alive, ended = [(0.0, ())], []
    for _ in range(length):
        continuations = []
        for total, tokens in alive:
            gained = log_probability_after(table, tokens)
            continuations += [
                (total + gained[t], (*tokens, t))
                for t in range(table.shape[-1])
                if t not in (PADDING, START)
            ]
        best = sorted(continuations, reverse=True)[: 2 * beam]
        ended += [
            (True, total / penalty(len(tokens), alpha), total, tokens)
            for total, tokens in best[:beam]
            if tokens[-1] == END
        ]
        alive = [each for each in best if each[1][-1] != END][:beam]
        if len(ended) >= beam:
            return sorted(ended, reverse=True)[:beam]
    unfinished = [(False, t / penalty(length, alpha), t, tokens) for t, tokens in alive]
    return (sorted(ended, reverse=True) + sorted(unfinished, reverse=True))[:beam]


class Fixed(keras.layers.Layer):
    """The same logits at every step; counts its calls."""

    calls = 0

    def __init__(self, logits, **kwargs):
        super().__init__(**kwargs)
        self.logits = logits

    def call(self, tokens, memory, state):
        self.calls += 1
        batch = ops.shape(state)[0]
        return ops.tile(ops.convert_to_tensor(self.logits)[None], (batch, 1)), {}, state


WORD = [4, 6, 5, END]  # what the speller spells


class Speller(keras.layers.Layer):
    """Spells WORD, beginning at the position in the state; counts how often Python runs it.

    That is each step where it runs eagerly, and each trace elsewhere.
    """

    calls = 0

    def call(self, tokens, memory, state):
        self.calls += 1
        letters = ops.take(ops.convert_to_tensor([*WORD, END, END, END, END]), state)
        return 9.0 * ops.one_hot(letters, 7), {}, state + 1


class FirstId(keras.layers.Layer):
    """An encoder whose state is the first id of the sentence."""

    def call(self, context):
        return {"memory": None, "state": context[:, 0]}


def as_numpy(generated):
    return type(generated)(*map(ops.convert_to_numpy, generated))
