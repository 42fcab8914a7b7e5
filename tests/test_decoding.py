"""Decoding over toy steps whose answers are known, and over a model."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.decoding import Generator, generate

END, START, V, S = 3, 2, 7, 5
WORD = [4, 6, 5, END]  # what the speller spells


class Speller(keras.layers.Layer):
    """Spells WORD, beginning at the position in the state; looks at the place where it is."""

    def call(self, tokens, memory, state):
        letters = ops.take(ops.convert_to_tensor([*WORD, END, END, END, END]), state)
        logits = 9.0 * ops.one_hot(letters, V)
        return logits, {"look": ops.one_hot(state % S, S)}, state + 1


def spell(first, max_length=6, **options):
    state = ops.convert_to_tensor(first, dtype="int32")
    result = generate(Speller(), None, state, max_length=max_length, **options)
    return (
        ops.convert_to_numpy(result.tokens),
        ops.convert_to_numpy(result.weights["look"]),
        ops.convert_to_numpy(result.finished),
    )


def test_greedy_spells_the_word_and_pads_after_the_end():
    tokens, _, finished = spell([0, 2, 3])
    assert tokens.tolist() == [[4, 6, 5, 3, 0, 0], [5, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]]
    assert finished.all()


def test_weights_are_those_of_each_token_and_zero_after_the_end():
    _, weights, _ = spell([1, 3])
    assert weights.argmax(-1)[0, :3].tolist() == [1, 2, 3]
    assert weights.sum(-1).tolist() == [[1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]]


def test_a_sentence_stops_at_the_limit_and_says_so():
    tokens, _, finished = spell([0, 2], max_length=2)
    assert tokens.tolist() == [[4, 6], [5, 3]]
    assert finished.tolist() == [False, True]
    assert spell([0], max_length=1)[0].tolist() == [[4]]


class CountingSpeller(Speller):
    """Counts how often Python runs it: each step where it runs eagerly, each trace elsewhere."""

    calls = 0

    def call(self, tokens, memory, state):
        self.calls += 1
        return super().call(tokens, memory, state)


def test_the_loop_stops_when_every_sentence_has_ended():
    if keras.backend.backend() == "jax":
        pytest.skip("JAX traces the body of a loop once, so calls cannot be counted")
    speller = CountingSpeller()
    generate(speller, None, ops.convert_to_tensor([1, 2]), max_length=50)
    assert speller.calls == 3


class Fixed(keras.layers.Layer):
    """The same logits at every step."""

    def __init__(self, logits, **kwargs):
        super().__init__(**kwargs)
        self.logits = logits

    def call(self, tokens, memory, state):
        batch = ops.shape(state)[0]
        return ops.tile(ops.convert_to_tensor(self.logits)[None], (batch, 1)), {}, state


def sample(logits, temperature, n=4000, length=1, seed=0):
    draws = np.random.default_rng(seed).random((n, length), dtype="float32")
    state = ops.zeros((n, 1))
    result = generate(
        Fixed(logits),
        None,
        state,
        max_length=length,
        temperature=temperature,
        draws=ops.convert_to_tensor(draws),
    )
    return ops.convert_to_numpy(result.tokens)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_sampling_follows_the_distribution(temperature):
    logits = np.array([8.0, -1.0, 8.0, 0.5, 1.0, 0.0, -0.5], dtype="float32")
    shares = np.bincount(sample(logits, temperature)[:, 0], minlength=V) / 4000
    allowed = np.array([False, True, False, True, True, True, True])
    expected = np.where(allowed, np.exp(logits / temperature), 0)
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.025)


def test_padding_and_the_start_token_are_never_generated():
    logits = np.array([99.0, 0.0, 99.0, 0.0, 0.0, 1.0, 0.0], dtype="float32")
    assert set(np.unique(sample(logits, 1.0))) == {1, 3, 4, 5, 6}
    assert (sample(logits, 0.0, n=2) == 5).all()


def test_a_draw_next_to_one_takes_a_word_of_the_vocabulary():
    state = ops.zeros((1, 1))
    draws = ops.convert_to_tensor([[np.nextafter(np.float32(1), np.float32(0))]])
    step = Fixed(np.zeros(V, dtype="float32"))
    tokens = generate(step, None, state, max_length=1, temperature=1.0, draws=draws).tokens
    assert ops.convert_to_numpy(tokens).tolist() == [[V - 1]]


def test_bad_arguments_say_what_was_received():
    state = ops.convert_to_tensor([0])
    with pytest.raises(ValueError, match="max_length must be at least 1, got 0"):
        generate(Speller(), None, state, max_length=0)
    with pytest.raises(ValueError, match=r"temperature must be 0 .* got -1"):
        generate(Speller(), None, state, max_length=1, temperature=-1)
    with pytest.raises(ValueError, match="sampling needs draws"):
        generate(Speller(), None, state, max_length=1, temperature=1.0)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return models.build_rnn_attention(23, 29, units=16)


@pytest.fixture(scope="module")
def context():
    return np.random.default_rng(0).integers(4, 23, (3, 7))


def run(model, context, **options):
    return Generator(models.encode(model), models.step(model), max_length=6, **options).run(context)


def test_a_compiled_greedy_run_equals_a_loop_over_the_model(model, context):
    generated = run(model, context)
    target = np.full((3, 1), START)
    for t in range(6):
        outputs = models.attention(model)({"context": context, "target": target})
        logits = np.array(ops.convert_to_numpy(outputs["logits"])[:, -1])
        logits[:, [0, START]] = -np.inf
        chosen = logits.argmax(-1)
        going = ~(target == END).any(axis=1)
        assert generated.tokens[:, t].tolist() == np.where(going, chosen, 0).tolist()
        look = ops.convert_to_numpy(outputs["cross_attention"])[..., t, :]
        np.testing.assert_allclose(
            generated.weights["cross_attention"][..., t, :],
            look * going[:, None, None],
            atol=1e-5,
        )
        target = np.concatenate([target, np.where(going, chosen, END)[:, None]], axis=1)


def test_sampling_repeats_with_its_seed_and_differs_with_another(model, context):
    one, same, other = (run(model, context, temperature=1.0) for _ in range(3))
    np.testing.assert_array_equal(one.tokens, same.tokens)
    other = Generator(models.encode(model), models.step(model), max_length=6, temperature=1.0).run(
        context, seed=1
    )
    assert (one.tokens != other.tokens).any()


def test_a_cold_temperature_is_greedy(model, context):
    cold = run(model, context, temperature=1e-6)
    np.testing.assert_array_equal(cold.tokens, run(model, context).tokens)


def test_new_sentences_of_a_known_length_are_not_compiled_again():
    if keras.backend.backend() == "torch":
        pytest.skip("PyTorch runs eagerly: there is no program to compile again")
    speller = CountingSpeller()
    generator = Generator(FirstId(), speller, max_length=6)
    generator.run([[0, 1], [2, 1]])
    before = speller.calls
    assert before > 0
    assert generator.run([[1, 5], [3, 5]]).tokens.tolist() == [
        [6, 5, 3, 0, 0, 0],
        [3, 0, 0, 0, 0, 0],
    ]
    assert speller.calls == before


class FirstId(keras.layers.Layer):
    """An encoder whose state is the first id of the sentence."""

    def call(self, context):
        return {"memory": None, "state": context[:, 0]}
