"""Decoding compiled, over a model of the package."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.decoding import Generator, beam_search, generate
from keras_attention.decoding.generator import Search
from tests.decoding import toys
from tests.decoding.toys import END, START
from tests.numerics import as_numpy

LIMIT = 6
GREEDY, SAMPLED, BEAM = {}, {"temperature": 1.0, "top_k": 4, "top_p": 0.9}, {"beam": 3, "n_best": 3}
each_way = pytest.mark.parametrize(
    "options", [GREEDY, SAMPLED, BEAM], ids=["greedy", "sampled", "beam"]
)


@pytest.fixture(scope="module")
def generator(model):
    """Return a function options → `Generator` that makes, and so compiles, each but once."""
    made = {}

    def make(**options):
        key = tuple(options.items())
        if key not in made:
            encode, step = models.encode(model, slots=LIMIT), models.step(model)
            made[key] = Generator(encode, step, max_length=LIMIT, **options)
        return made[key]

    return make


def by_function(model, context, **options):
    """Call the function that a `Generator` with these options compiles, and compile nothing."""
    encoded = models.encode(model, slots=LIMIT)(ops.array(context))
    arguments = models.step(model), encoded["memory"], encoded["state"]
    if "beam" in options:
        return toys.as_numpy(beam_search(*arguments, max_length=LIMIT, **options))
    draws = np.random.default_rng(5).random((len(context), LIMIT), dtype="float32")
    return toys.as_numpy(generate(*arguments, max_length=LIMIT, draws=ops.array(draws), **options))


def teacher_forced(model, context, tokens):
    """Return the logits (B, L, V) of one pass over tokens (B, L): each is fed the one before."""
    target = np.concatenate([np.full((len(tokens), 1), START), tokens[:, :-1]], axis=1)
    return as_numpy(model({"context": ops.array(context), "target": ops.array(target)}))


def sums_of(logits, tokens):
    """Return the log probabilities (B,) of sentences, tokens (B, L), from logits (B, L, V)."""
    logits = logits.astype("float64")
    each = np.take_along_axis(logits, tokens[:, :, None].astype("int64"), axis=2)[:, :, 0]
    each = each - np.log(np.exp(logits).sum(-1))
    return (each * (tokens != 0)).sum(1)


@pytest.mark.xla
@each_way
def test_the_compiled_program_gives_what_the_function_gives(model, generator, context, options):
    # comes first: what is compiled here serves the tests below
    compiled = generator(**options).run(context, seed=5)
    for one, other in zip(compiled, by_function(model, context, **options), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_each_greedy_token_is_the_likeliest_after_those_before(model, generator, context):
    tokens = generator(**GREEDY).run(context).tokens
    logits = teacher_forced(model, context, tokens)
    logits[..., [0, START]] = -np.inf
    ended = np.cumsum(tokens == END, axis=1) - (tokens == END) > 0
    np.testing.assert_array_equal(tokens, np.where(ended, 0, logits.argmax(-1)))
    assert len(set(ended.sum(1))) == 3  # they end at different places, and some do not


def test_sampling_repeats_with_its_seed_and_differs_with_another(generator, context):
    one, same, other = (generator(**SAMPLED).run(context, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.tokens, same.tokens)
    assert (one.tokens != other.tokens).any()


@each_way
def test_log_probabilities_are_those_of_one_pass_over_the_chosen_tokens(
    model, generator, context, options
):
    generated = generator(**options).run(context)
    tokens = generated.tokens.reshape(-1, LIMIT)
    logits = teacher_forced(model, np.repeat(context, len(tokens) // len(context), axis=0), tokens)
    found = generated.log_probabilities.ravel()
    np.testing.assert_allclose(found, sums_of(logits, tokens), rtol=1e-5)


def test_a_beam_of_1_is_greedy_decoding(model, context):
    greedy, beam = by_function(model, context), by_function(model, context, beam=1)
    np.testing.assert_array_equal(beam.tokens[:, 0], greedy.tokens)
    np.testing.assert_array_equal(beam.finished[:, 0], greedy.finished)
    np.testing.assert_allclose(beam.log_probabilities[:, 0], greedy.log_probabilities, rtol=1e-5)


def test_the_sentences_of_a_beam_are_sorted_and_distinct(generator, context):
    result = generator(**BEAM).run(context)
    assert result.tokens.shape == (len(context), 3, LIMIT)
    length = (result.tokens != 0).sum(-1)
    penalty = ((5 + length) / 6) ** 0.6
    np.testing.assert_allclose(result.scores, result.log_probabilities / penalty, rtol=1e-5)
    assert len(np.unique(length)) > 1
    for tokens, finished, scores in zip(result.tokens, result.finished, result.scores, strict=True):
        assert len({tuple(each) for each in tokens}) == 3
        keys = list(zip(~finished, -scores, strict=True))
        assert keys == sorted(keys)
        assert ((tokens == END).any(axis=1) == finished).all()


@pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam"])
def test_neither_the_batch_nor_its_padding_changes_a_sentence(model, context, options):
    together = by_function(model, context, **options)
    alone = by_function(model, np.pad(context[1:2], ((0, 0), (0, 4))), **options)
    for some, every in zip(alone, together, strict=True):
        np.testing.assert_allclose(some[0], every[1], rtol=1e-5)


@pytest.mark.parametrize("options", [{}, pytest.param({"beam": 2}, marks=pytest.mark.thorough)])
def test_new_sentences_of_a_known_length_are_not_compiled_again(options):
    if keras.backend.backend() == "torch":
        pytest.skip("PyTorch runs eagerly: there is no program to compile again")
    speller = toys.Speller()
    generator = Generator(toys.FirstId(), speller, max_length=6, **options)
    generator.run([[0, 1], [2, 1]])
    before = speller.calls
    assert before > 0
    tokens = generator.run([[1, 5], [3, 5]]).tokens.reshape(2, 6)
    assert tokens.tolist() == [[6, 5, 3, 0, 0, 0], [3, 0, 0, 0, 0, 0]]
    assert speller.calls == before


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(GREEDY, id="greedy"),
        pytest.param(BEAM, id="beam", marks=pytest.mark.thorough),
    ],
)
def test_a_model_in_half_precision_has_scores_in_single(context, options):
    half = models.build_rnn_attention(23, 29, units=16, dtype="mixed_bfloat16")
    result = by_function(half, context, **options)
    assert result.scores.dtype == np.float32
    tokens = result.tokens.reshape(len(context), -1, LIMIT)[:, 0]
    found = result.log_probabilities.reshape(len(context), -1)[:, 0]
    np.testing.assert_allclose(
        found, sums_of(teacher_forced(half, context, tokens), tokens), rtol=0.01
    )
    rounded = as_numpy(ops.cast(ops.convert_to_tensor(result.scores), "bfloat16"))
    assert (result.scores != rounded).any()  # no sum of theirs was rounded to half precision


def test_every_batch_has_draws_of_its_own_by_its_number():
    search, ids = Search(max_length=3, temperature=1.0), [[4, 5], [6, 7]]
    one, other = (each["draws"] for each in search.inputs_of_batches([ids, ids], 5))
    assert (one != other).all()
    np.testing.assert_array_equal(other, search.inputs(ids, (5, 1))["draws"])
    (again,) = search.inputs_of_batches([ids], 5, [1])
    np.testing.assert_array_equal(again["draws"], other)
