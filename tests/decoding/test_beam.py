"""Beam search against brute force and against plain lists, both in float64."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.decoding import beam_search, generate, loop
from tests.decoding import toys
from tests.decoding.toys import END, Fixed, Speller

B, V, L = 3, 5, 4


def search(table, beam, length=L, step=None, **options):
    return toys.as_numpy(
        beam_search(
            step or toys.History(),
            ops.array(table),
            toys.history_start(len(table), length),
            beam=beam,
            max_length=length,
            **options,
        )
    )


def assert_is(result, row, expected):
    """Check one sentence of the batch against a list of (finished, score, total, tokens)."""
    finished, scores, totals, tokens = zip(*expected, strict=True)
    padded = [[*each, *[0] * (result.tokens.shape[2] - len(each))] for each in tokens]
    assert result.tokens[row].tolist() == padded
    assert result.finished[row].tolist() == list(finished)
    np.testing.assert_allclose(result.log_probabilities[row], totals, atol=1e-4)
    np.testing.assert_allclose(result.scores[row], scores, atol=1e-4)


def test_a_beam_of_2_finds_what_greedy_misses():
    # Greedy goes for 4, 0.6, after which nothing is likely; 1 and then the end have 0.4 · 0.9.
    table = np.full((1, 1 + V, V), 1e-6)
    table[0, 0, [4, 1]] = 0.6, 0.4
    table[0, 1 + 4, [4, 1, END]] = 0.4, 0.3, 0.3
    table[0, 1 + 1, [4, END]] = 0.1, 0.9
    table = np.log(table).astype("float32")
    assert search(table, 1, length=2).tokens.tolist() == [[[4, 4]]]
    best = search(table, 2, length=2, length_penalty=0)
    assert best.tokens.tolist() == [[[1, END]]]
    np.testing.assert_allclose(np.exp(best.log_probabilities), [[0.36]], atol=1e-4)


@pytest.mark.parametrize("alpha", [0, 0.6, 2.0])
def test_a_wide_beam_finds_the_best_of_all_sentences(alpha):
    table = toys.history_table(B, V, L)
    result = search(table, 31, length_penalty=alpha, n_best=31)
    for row in range(B):
        assert_is(result, row, toys.all_sentences(table[row], L, alpha))


@pytest.mark.parametrize(("beam", "alpha"), [(1, 0), (2, 1.0), (3, 0), (5, 1.0)])
def test_a_narrow_beam_finds_what_plain_lists_find(beam, alpha):
    table = toys.history_table(23, V, L, seed=1)
    result = search(table, beam, length_penalty=alpha, n_best=beam)
    for row in range(23):
        assert_is(result, row, toys.plain_beam_search(table[row], L, beam, alpha))
    assert result.tokens.dtype == np.int32


@pytest.mark.parametrize("alpha", [pytest.param(0, marks=pytest.mark.thorough), 1.0])
def test_the_best_of_a_beam_are_the_first_of_all_its_hypotheses(alpha):
    table = toys.history_table(7, V, L, seed=11)
    every = search(table, 4, length_penalty=alpha, n_best=4)
    for n_best in (1, 3):
        first = search(table, 4, length_penalty=alpha, n_best=n_best)
        for some, all_of_them in zip(first, every, strict=True):
            np.testing.assert_array_equal(some, all_of_them[:, :n_best])


def test_each_sentence_is_decoded_as_if_it_were_alone():
    table = toys.history_table(B, V, L, seed=5)
    together = search(table, 3, n_best=3)
    for row in range(B):
        alone = search(table[row : row + 1], 3, n_best=3)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], other[row], atol=1e-6)


@pytest.mark.parametrize(("length", "end"), [(L, -9.0), (L, 0.0), (L, 3.0), (1, 0.0)])
def test_a_beam_of_1_is_greedy_decoding(length, end):
    # From sentences that all stop at the limit to sentences that all end.
    table = toys.history_table(13, V, length, seed=7)
    table[..., END] += end
    start = toys.history_start(13, length)
    greedy = generate(toys.History(), ops.array(table), start, max_length=length)
    greedy, beam = toys.as_numpy(greedy), search(table, 1, length, length_penalty=0)
    np.testing.assert_array_equal(beam.tokens[:, 0], greedy.tokens)
    np.testing.assert_array_equal(beam.finished[:, 0], greedy.finished)
    np.testing.assert_allclose(beam.log_probabilities[:, 0], greedy.log_probabilities, atol=1e-5)
    np.testing.assert_allclose(beam.scores[:, 0], greedy.scores, atol=1e-5)


def test_hypotheses_that_share_a_row_of_the_cache_find_what_those_with_their_own_find(monkeypatch):
    monkeypatch.setattr(loop, "FEWEST_SENTENCES", 1)  # so that sentences leave the batch
    model = models.build_transformer(
        23, 29, units=16, num_layers=2, num_heads=2, feed_forward_dim=19
    )
    rng = np.random.default_rng(2)
    for weight in model.weights:  # so that the hypotheses differ and change places
        if len(weight.shape) > 1:
            weight.assign(rng.normal(0, 0.6, weight.shape))
    model.weights[-1].assign(np.eye(29)[END] * 2)
    context = rng.integers(4, 23, (9, 7))
    encoded = models.encode(model, slots=11)(ops.convert_to_tensor(context))
    step = models.step(model)
    shared, own = (
        toys.as_numpy(
            beam_search(each, encoded["memory"], encoded["state"], beam=3, max_length=11, n_best=3)
        )
        for each in (step, models.Step(step.decoder))
    )
    for one, other in zip(shared, own, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert len(np.unique(shared.tokens.reshape(27, 11), axis=0)) > 14
    assert 0 < shared.finished.mean() < 1


def test_a_larger_penalty_prefers_longer_sentences():
    table = toys.history_table(17, V, L, seed=3, scale=1.0)
    lengths = [
        (search(table, 31, length_penalty=alpha).tokens[:, 0] != 0).sum(1) for alpha in (0, 1, 4)
    ]
    assert (lengths[0] <= lengths[1]).all()
    assert (lengths[1] <= lengths[2]).all()
    assert lengths[0].sum() < lengths[1].sum() < lengths[2].sum()


def test_sentences_that_never_end_stop_at_the_limit_and_come_last():
    logits = np.array([0, 2, 0, -99, 1, 0.5, 0], dtype="float32")
    result = beam_search(Fixed(logits), None, ops.zeros((2, 1)), beam=2, max_length=3, n_best=2)
    result = toys.as_numpy(result)
    assert not result.finished.any()
    assert result.tokens[0, 0].tolist() == [1, 1, 1]
    np.testing.assert_allclose(result.scores, result.log_probabilities / (8 / 6) ** 0.6, rtol=1e-5)

    logits[END] = -3  # found by a wide beam: worse than the unfinished, but it ends
    result = beam_search(Fixed(logits), None, ops.zeros((2, 1)), beam=6, max_length=2, n_best=4)
    result = toys.as_numpy(result)
    assert result.finished.tolist() == [[True, False, False, False]] * 2
    assert result.tokens[0, 0].tolist() == [END, 0]
    assert (result.scores[:, 0] < result.scores[:, 1]).all()


def test_sentences_that_do_not_exist_are_empty():
    logits = np.array([0, -np.inf, 0, 1, 2], dtype="float32")  # 3 ends, 4 is the only word
    result = beam_search(Fixed(logits), None, ops.zeros((1, 1)), beam=5, max_length=2, n_best=5)
    result = toys.as_numpy(result)
    assert result.tokens[0].tolist() == [[4, 3], [3, 0], [4, 4], [0, 0], [0, 0]] or (
        result.tokens[0].tolist() == [[3, 0], [4, 3], [4, 4], [0, 0], [0, 0]]
    )
    assert result.finished[0].tolist() == [True, True, False, False, False]
    assert np.isneginf(result.scores[0, 3:]).all()
    assert np.isneginf(result.log_probabilities[0, 3:]).all()


def test_padding_and_the_start_token_are_never_generated():
    logits = np.array([99.0, 0.0, 99.0, -9.0, 0.0, 1.0, 0.0], dtype="float32")
    result = beam_search(Fixed(logits), None, ops.zeros((2, 1)), beam=4, max_length=3, n_best=4)
    assert set(np.unique(ops.convert_to_numpy(result.tokens))) <= {1, 4, 5, 6}


class Successor(keras.layers.Layer):
    """After each token comes the next one."""

    def call(self, tokens, memory, state):
        return 9.0 * ops.one_hot(ops.minimum(tokens + 1, 6), 7), {}, state


def test_a_sentence_may_begin_and_end_with_other_ids():
    options = {"beam": 2, "max_length": 4, "start_id": 3, "end_id": 6}
    result = toys.as_numpy(beam_search(Successor(), None, ops.zeros((2, 1)), **options))
    assert result.tokens[:, 0].tolist() == [[4, 5, 6, 0]] * 2
    assert result.finished.all()


def test_the_loop_stops_when_every_sentence_is_done():
    if keras.backend.backend() == "jax":
        pytest.skip("JAX traces the body of a loop once, so calls cannot be counted")
    speller = Speller()
    state = ops.convert_to_tensor([1, 2])
    result = beam_search(speller, None, state, beam=3, max_length=50, length_penalty=0)
    assert ops.convert_to_numpy(result.tokens)[:, 0, :3].tolist() == [[6, 5, 3], [5, 3, 0]]
    assert speller.calls == 3


def test_a_sentence_is_done_when_nothing_alive_could_still_be_wanted():
    if keras.backend.backend() == "jax":
        pytest.skip("JAX traces the body of a loop once, so calls cannot be counted")
    # The end has 0.9 at once, all others together 0.1: the best of three is known after one step.
    logits = np.log(np.array([1e-9, 0.06, 1e-9, 0.9, 0.04], dtype="float32"))
    for n_best, calls in ((1, 1), (2, 2)):
        step = Fixed(logits)
        beam_search(step, None, ops.zeros((2, 1)), beam=3, max_length=50, n_best=n_best)
        assert step.calls == calls


class Counting(keras.layers.Layer):
    """Says 4 twice and ends, as long as all tensors of its state agree on how many steps it is."""

    def call(self, tokens, memory, state):
        count = state["count"] + 1
        odd = ops.logical_not(state["odd"])
        cache = state["cache"] + 1.0
        agree = ops.cast(odd == (count % 2 == 1), "float32") * ops.cast(
            cache[:, 0, 1, 2] == ops.cast(count, "float32"), "float32"
        )
        ends = ops.one_hot(ops.full_like(tokens, END), 6) * ops.cast(count > 2, "float32")[:, None]
        words = ops.one_hot(ops.full_like(tokens, 4), 6)
        logits = (9.0 * ends + 4.0 * words) * agree[:, None]
        return logits, {}, {"cache": cache, "count": count, "odd": odd}


def test_a_state_may_hold_tensors_of_every_rank_and_type():
    state = {
        "cache": ops.zeros((2, 3, 5, 7)),
        "count": ops.zeros((2,), dtype="int32"),
        "odd": ops.zeros((2,), dtype="bool"),
    }
    result = beam_search(Counting(), None, state, beam=2, max_length=6)
    assert ops.convert_to_numpy(result.tokens)[:, 0].tolist() == [[4, 4, END, 0, 0, 0]] * 2


@pytest.mark.thorough
def test_kerasnlp_finds_the_same_where_nothing_ends():
    # It knows no end while it searches, and no penalty: so these are off.
    samplers = pytest.importorskip("keras_nlp").samplers
    table = toys.history_table(B, 7, L, seed=9)
    table[..., [toys.PADDING, toys.START, END]] = -1e9
    memory = ops.array(np.repeat(table, 3, axis=0))

    def following(prompt, cache, index):
        tokens = ops.take(prompt, index - 1, axis=1)
        logits, _, cache = toys.History()(tokens, memory, cache)
        return logits, None, cache

    prompt = ops.concatenate(
        [ops.full((B, 1), toys.START, dtype="int32"), ops.zeros((B, L), dtype="int32")], axis=1
    )
    sampler = samplers.BeamSampler(num_beams=3, return_all_beams=True)
    tokens, totals = sampler(following, prompt, toys.history_start(B, L), index=1)
    result = search(table, 3, length_penalty=0, n_best=3)
    np.testing.assert_array_equal(result.tokens, ops.convert_to_numpy(tokens)[:, :, 1:])
    np.testing.assert_allclose(result.scores, ops.convert_to_numpy(totals), atol=1e-4)
