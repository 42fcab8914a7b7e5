"""Greedy decoding and sampling over toy steps whose answers are known."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.decoding import generate
from tests.decoding import toys
from tests.decoding.toys import Fixed, Speller

V = 7


def spell(first, max_length=6, **options):
    state = ops.convert_to_tensor(first, dtype="int32")
    return toys.as_numpy(generate(Speller(), None, state, max_length=max_length, **options))


def test_greedy_spells_the_word_and_pads_after_the_end():
    result = spell([0, 2, 3])
    assert result.tokens.tolist() == [[4, 6, 5, 3, 0, 0], [5, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]]
    assert result.finished.all()


def test_log_probabilities_are_summed_up_to_the_end_token():
    result = spell([0, 2, 3])
    each = 9 - np.log(np.exp(9) + 6)
    np.testing.assert_allclose(result.log_probabilities, [4 * each, 2 * each, each], rtol=1e-3)
    np.testing.assert_array_equal(result.scores, result.log_probabilities)


def test_a_sentence_stops_at_the_limit_and_says_so():
    result = spell([0, 2], max_length=2)
    assert result.tokens.tolist() == [[4, 6], [5, 3]]
    assert result.finished.tolist() == [False, True]
    assert spell([0], max_length=1).tokens.tolist() == [[4]]


def test_the_loop_stops_when_every_sentence_has_ended():
    if keras.backend.backend() == "jax":
        pytest.skip("JAX traces the body of a loop once, so calls cannot be counted")
    speller = Speller()
    generate(speller, None, ops.convert_to_tensor([1, 2]), max_length=50)
    assert speller.calls == 3


@pytest.mark.parametrize("options", [{"temperature": 1e-6}, {"temperature": 2.0, "top_k": 1}])
def test_a_cold_temperature_and_a_single_candidate_are_greedy(options):
    rows, length = 13, 4
    arguments = toys.History(), ops.array(toys.history_table(rows, V, length))
    start = toys.history_start(rows, length)
    draws = np.random.default_rng(0).random((rows, length), dtype="float32")
    cold = generate(*arguments, start, max_length=length, draws=ops.array(draws), **options)
    greedy = generate(*arguments, start, max_length=length)
    for one, other in zip(toys.as_numpy(cold), toys.as_numpy(greedy), strict=True):
        np.testing.assert_array_equal(one, other)


def sample(logits, n=4000, length=1, seed=0, **options):
    draws = np.random.default_rng(seed).random((n, length), dtype="float32")
    return toys.as_numpy(
        generate(
            Fixed(logits),
            None,
            ops.zeros((n, 1)),
            max_length=length,
            draws=ops.convert_to_tensor(draws),
            **options,
        )
    )


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_sampling_follows_the_distribution(temperature):
    logits = np.array([8.0, -1.0, 8.0, 0.5, 1.0, 0.0, -0.5], dtype="float32")
    tokens = sample(logits, temperature=temperature).tokens
    shares = np.bincount(tokens[:, 0], minlength=V) / 4000
    allowed = np.array([False, True, False, True, True, True, True])
    expected = np.where(allowed, np.exp(logits / temperature), 0)
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.025)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"top_k": 1}, {5}),
        ({"top_k": 3}, {1, 4, 5}),
        ({"top_k": 99}, {1, 3, 4, 5, 6}),
        ({"top_p": 0.35}, {5}),
        ({"top_p": 0.65}, {1, 5}),
        ({"top_k": 3, "top_p": 0.8}, {1, 4, 5}),
        ({"top_k": 2, "top_p": 0.55}, {5}),
        ({"top_k": 0, "top_p": 1}, {1, 3, 4, 5, 6}),
    ],
)
def test_top_k_and_top_p_narrow_what_is_drawn(options, expected):
    probabilities = np.array([9.0, 0.3, 9.0, 0.05, 0.2, 0.4, 0.05], dtype="float32")
    tokens = sample(np.log(probabilities), temperature=1.0, **options).tokens
    assert set(np.unique(tokens)) == expected


def test_temperature_comes_before_top_p():
    # Squared, 0.5, 0.3 and 0.2 weigh 25, 9 and 4: the first has two thirds by itself.
    probabilities = np.array([9.0, 0.5, 9.0, 1e-6, 0.3, 0.2, 1e-6], dtype="float32")
    logits = np.log(probabilities)
    assert set(np.unique(sample(logits, temperature=0.5, top_p=0.6).tokens)) == {1}
    assert set(np.unique(sample(logits, temperature=1.0, top_p=0.6).tokens)) == {1, 4}


def test_log_probabilities_are_of_the_logits_as_they_came():
    logits = np.array([1.0, 0.0, 2.0, -9.0, 0.5, 1.0, 0.0], dtype="float32")
    result = sample(logits, n=11, length=3, temperature=0.5, top_k=4, top_p=0.9)
    exact = logits - np.log(np.exp(logits.astype("float64")).sum())
    np.testing.assert_allclose(result.log_probabilities, exact[result.tokens].sum(1), atol=1e-5)


def test_padding_and_the_start_token_are_never_generated():
    logits = np.array([99.0, 0.0, 99.0, 0.0, 0.0, 1.0, 0.0], dtype="float32")
    assert set(np.unique(sample(logits, temperature=1.0).tokens)) == {1, 3, 4, 5, 6}
    np.testing.assert_array_equal(sample(logits, temperature=0.0, n=2).tokens, 5)


def test_a_draw_next_to_one_takes_a_word_of_the_vocabulary():
    state = ops.zeros((1, 1))
    draws = ops.convert_to_tensor([[np.nextafter(np.float32(1), np.float32(0))]])
    step = Fixed(np.zeros(V, dtype="float32"))
    tokens = generate(step, None, state, max_length=1, temperature=1.0, draws=draws).tokens
    assert ops.convert_to_numpy(tokens).tolist() == [[V - 1]]


def test_sampling_needs_draws():
    state = ops.convert_to_tensor([0])
    with pytest.raises(ValueError, match="sampling needs draws"):
        generate(Speller(), None, state, max_length=1, temperature=1.0)
