"""Decoding goes on with the sentences that are left, and with as large a cache as they need."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.decoding import beam_search, generate, loop
from keras_attention.models.caches import with_slots
from tests.decoding import toys
from tests.decoding.toys import END

B, V, L = 37, 7, 4


@pytest.fixture
def in_one(monkeypatch):
    """Return a function that makes the loop one, over the whole batch and the whole cache."""

    def make():
        monkeypatch.setattr(loop, "FEWEST_SENTENCES", 1000)
        monkeypatch.setattr(loop, "FIRST_SLOTS", 1000)
        monkeypatch.setattr(loop, "FIRST_SLOTS_OF_A_BEAM", 1000)

    return make


def assert_equal(one, other):
    for some, every in zip(toys.as_numpy(one), toys.as_numpy(other), strict=True):
        np.testing.assert_allclose(some, every, atol=1e-5)


def eager(kind):
    """Decode sentences that end at different times, by a model that knows the whole history."""
    table = toys.history_table(B, V, L, scale=3.0)
    arguments = toys.History(), ops.array(table), toys.history_start(B, L)
    if kind == "beam":
        return beam_search(*arguments, max_length=L, beam=3, n_best=2)
    if kind == "greedy":
        return generate(*arguments, max_length=L)
    draws = np.random.default_rng(1).random((B, L), dtype="float32")
    return generate(*arguments, max_length=L, temperature=1.0, draws=ops.array(draws))


@pytest.mark.parametrize("kind", ["greedy", "sampling", "beam"])
def test_smaller_batches_decode_what_one_batch_would(kind, in_one, monkeypatch):
    monkeypatch.setattr(loop, "FEWEST_SENTENCES", 2)
    shrinking = eager(kind)
    in_one()
    whole = eager(kind)
    assert_equal(shrinking, whole)
    ends = (toys.as_numpy(whole).tokens == END).any(axis=0)
    assert ends.sum() > 2  # so that there was something to leave


class AtOnce(toys.History):
    """A step that is not traced; it counts the rows that it is called with."""

    rows = 0

    def __call__(self, tokens, memory, state):
        self.rows += len(tokens)
        return keras.tree.map_structure(
            ops.convert_to_numpy, super().__call__(ops.convert_to_tensor(tokens), memory, state)
        )

    @staticmethod
    def take(structure, rows):
        return keras.tree.map_structure(
            lambda each: None if each is None else ops.convert_to_numpy(each)[rows], structure
        )


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="compiles every shape")
@pytest.mark.parametrize("kind", ["greedy", "sampling", "beam"])
def test_a_step_that_computes_at_once_decodes_the_same_with_fewer_rows(kind, monkeypatch):
    expected = eager(kind)
    steps = []
    for leaving in (4, 0):
        monkeypatch.setattr(loop, "LEAVING", leaving)
        steps.append(AtOnce())
        monkeypatch.setattr(toys, "History", lambda: steps[-1])
        assert_equal(eager(kind), expected)
    assert steps[0].rows < steps[1].rows


class Counting(toys.History):
    """Counts the rows that it is called with."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def __call__(self, tokens, memory, state):
        self.rows.append(tokens.shape[0])
        return self.call(tokens, memory, state)


@pytest.mark.parametrize(("size", "fewer"), [(B, B // 4), (12, 12)])  # 3 are too few for a loop
def test_sentences_that_have_ended_leave_the_batch(size, fewer):
    # All but one in five end at once, and those never.
    lengths = np.where(np.arange(size) % 5 == 0, L, 1)
    table = np.zeros((size, (V**L - 1) // (V - 1), V), "float32")
    table[:, :, 5] = 1.0
    table[lengths == 1, :, END] = 2.0
    step = Counting()
    with_ends = generate(step, ops.array(table), toys.history_start(size, L), max_length=L)
    tokens = toys.as_numpy(with_ends).tokens
    np.testing.assert_array_equal((tokens != 0).sum(1), lengths)
    if keras.backend.backend() != "jax":  # which traces the body of a loop once
        assert step.rows == [size, *[fewer] * (L - 1)]


@pytest.mark.parametrize(
    ("size", "search", "slots"),
    [
        pytest.param(3, generate, [4, 8, 11], marks=pytest.mark.thorough),
        (B, generate, [4, 8, 11]),
        (B, partial(beam_search, beam=3), [2, 4, 8, 11]),
    ],
)
def test_a_growing_cache_decodes_what_a_whole_one_would(size, search, slots, in_one, monkeypatch):
    model = models.build_transformer(
        23, 29, units=16, num_layers=1, num_heads=2, feed_forward_dim=19
    )
    bias_of_logits = model.weights[-1]
    bias_of_logits.assign(np.eye(29)[END] * -9)  # it does not end soon
    context = np.random.default_rng(2).integers(4, 23, (size, 7))
    encoded = models.encode(model, slots=11)(ops.array(context))
    step, asked = models.step(model), []
    step.with_slots = lambda state, number: asked.append(number) or with_slots(state, number)
    arguments = step, encoded["memory"], encoded["state"]
    monkeypatch.setattr(loop, "FIRST_SLOTS", 4)
    monkeypatch.setattr(loop, "FIRST_SLOTS_OF_A_BEAM", 2)
    growing = search(*arguments, max_length=11)
    assert asked == slots
    in_one()
    whole = search(*arguments, max_length=11)
    assert_equal(growing, whole)
    assert (toys.as_numpy(whole).tokens[..., 8] != 0).any()  # beyond the first two caches
