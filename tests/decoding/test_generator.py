"""Decoding compiled, over a model of the package."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.decoding import Generator, beam_search, generate
from tests.decoding import toys
from tests.decoding.toys import END, START

LIMIT = 6
GREEDY, SAMPLED, BEAM = {}, {"temperature": 1.0, "top_k": 9, "top_p": 0.8}, {"beam": 3, "n_best": 3}


def generator_of(model, limit=LIMIT, **options):
    encode = models.encode(model, room=limit)
    return Generator(encode, models.step(model), max_length=limit, **options)


@pytest.fixture(scope="module")
def generator(model):
    """Return a function options → `Generator` that makes, and so compiles, each but once."""
    made = {}

    def make(**options):
        return made.setdefault(tuple(options.items()), generator_of(model, **options))

    return make


@pytest.fixture(scope="module")
def teacher_forced(model):
    """Return a function context, tokens (B, L) → logits (B, L, V), of one pass over all tokens."""
    view = models.attention(model)

    def logits(context, tokens):
        target = np.concatenate([np.full((len(tokens), 1), START), tokens[:, :-1]], axis=1)
        return view.predict_on_batch({"context": context, "target": target})["logits"]

    return logits


def test_each_greedy_token_is_the_likeliest_after_those_before(teacher_forced, generator, context):
    tokens = generator(**GREEDY).run(context).tokens
    logits = np.array(teacher_forced(context, tokens))
    logits[..., [0, START]] = -np.inf
    assert (tokens[:, 0] != 0).all()
    np.testing.assert_array_equal(tokens, np.where(tokens == 0, 0, logits.argmax(-1)))


def test_sampling_repeats_with_its_seed_and_differs_with_another(generator, context):
    one, same, other = (generator(**SAMPLED).run(context, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.tokens, same.tokens)
    assert (one.tokens != other.tokens).any()


@pytest.mark.parametrize("options", [{"temperature": 1e-6}, {"temperature": 2.0, "top_k": 1}])
def test_a_cold_temperature_and_a_single_candidate_are_greedy(generator, context, options):
    greedy = generator(**GREEDY).run(context)
    np.testing.assert_array_equal(generator(**options).run(context).tokens, greedy.tokens)


@pytest.mark.parametrize("options", [GREEDY, SAMPLED, BEAM])
def test_log_probabilities_are_those_of_one_pass_over_the_chosen_tokens(
    teacher_forced, generator, context, options
):
    generated = generator(**options).run(context)
    sentences = generated.tokens.reshape(len(context), -1, LIMIT)
    totals = generated.log_probabilities.reshape(len(context), -1)
    for place in range(sentences.shape[1]):
        tokens = sentences[:, place]
        logits = teacher_forced(context, tokens).astype("float64")
        each = np.take_along_axis(logits, tokens[:, :, None].astype("int64"), axis=2)[:, :, 0]
        each = each - np.log(np.exp(logits).sum(-1))
        np.testing.assert_allclose(totals[:, place], (each * (tokens != 0)).sum(1), atol=1e-4)


@pytest.mark.parametrize("options", [GREEDY, SAMPLED, BEAM])
def test_the_compiled_program_gives_what_the_function_gives(model, generator, context, options):
    compiled = generator(**options).run(context, seed=5)
    encoded = models.encode(model, room=LIMIT)(ops.array(context))
    arguments = models.step(model), encoded["memory"], encoded["state"]
    if options == BEAM:
        eager = beam_search(*arguments, max_length=LIMIT, **options)
    else:
        draws = np.random.default_rng(5).random((len(context), LIMIT), dtype="float32")
        eager = generate(*arguments, max_length=LIMIT, draws=ops.array(draws), **options)
    for one, other in zip(compiled, toys.as_numpy(eager), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("limit", [1, 11])
def test_a_beam_of_1_is_greedy_decoding(model, context, limit):
    greedy = generator_of(model, limit, beam=1).run(context)
    encoded = models.encode(model, room=limit)(ops.array(context))
    beam = beam_search(
        models.step(model), encoded["memory"], encoded["state"], beam=1, max_length=limit
    )
    beam = toys.as_numpy(beam)
    np.testing.assert_array_equal(beam.tokens[:, 0], greedy.tokens)
    np.testing.assert_array_equal(beam.finished[:, 0], greedy.finished)
    np.testing.assert_allclose(beam.log_probabilities[:, 0], greedy.log_probabilities, atol=1e-5)


def test_the_sentences_of_a_beam_are_sorted_and_distinct(generator, context):
    result = generator(**BEAM).run(context)
    assert result.tokens.shape == (len(context), 3, LIMIT)
    for tokens, finished, scores in zip(result.tokens, result.finished, result.scores, strict=True):
        assert len({tuple(each) for each in tokens}) == 3
        keys = list(zip(~finished, -scores, strict=True))
        assert keys == sorted(keys)
        assert ((tokens == END).any(axis=1) == finished).all()


@pytest.mark.parametrize("options", [GREEDY, BEAM])
def test_neither_the_batch_nor_its_padding_changes_a_sentence(generator, context, options):
    generator = generator(**options)
    together = generator.run(context)
    for batch in (context[:1], np.pad(context[:2], ((0, 0), (0, 4)))):
        for some, every in zip(generator.run(batch), together, strict=True):
            np.testing.assert_allclose(some, every[: len(batch)], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"beam": 2}])
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


@pytest.mark.parametrize("options", [GREEDY, BEAM])
def test_a_model_in_half_precision_has_scores_in_single(context, options):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = models.build_rnn_attention(23, 29, units=16)
    finally:
        keras.config.set_dtype_policy(policy)
    result = generator_of(half, **options).run(context)
    assert result.scores.dtype == np.float32
    assert np.isfinite(result.scores).all()
