import numpy as np

from keras_attention import models
from keras_attention.attributions import leave_one_out, permuted_attention, uniform_attention
from keras_attention.translation.inside import Inside
from tests.attributions.sentences import (
    CONTEXT_IDS,
    S,
    T,
    log_probabilities,
    translation_of,
    translator_of,
)
from tests.models.transformers import CONTEXT, TARGET, build, stirred


def test_leaving_out_a_word_is_translating_with_padding_in_its_place(translator):
    found = leave_one_out(translator, translation_of(translator))
    assert found.shape == (T, S)
    whole = log_probabilities(translator.model)
    without_one = log_probabilities(translator.model, (2, 0, 7, 11, 3))
    np.testing.assert_allclose(found[:, 1], whole - without_one, atol=1e-4)
    without_two = log_probabilities(translator.model, (2, 5, 0, 0, 3))  # both pieces of the word
    np.testing.assert_allclose(found[:, 2] + found[:, 3], whole - without_two, atol=1e-4)
    np.testing.assert_allclose(found[:, 2], found[:, 3])
    assert (found[:, [0, 4]] == 0).all()


def test_leaving_out_serves_a_model_without_attention():
    translator = translator_of(models.build_seq2seq(CONTEXT, TARGET, units=5))
    found = leave_one_out(translator, translation_of(translator))
    expected = log_probabilities(translator.model) - log_probabilities(
        translator.model, CONTEXT_IDS[:1] + CONTEXT_IDS[2:]
    )
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-4)


def test_even_attention_can_be_permuted_and_flattened(translator):
    model = build()
    model.set_weights(stirred().get_weights())
    even = translator_of(model)
    for attention in Inside.of(even.model, translation_of(even)).cross_attentions:
        for weight in attention.project_query.weights:
            weight.assign(0 * weight)
    for distances in (
        permuted_attention(even, translation_of(even), samples=3),
        uniform_attention(even, translation_of(even)),
    ):
        np.testing.assert_allclose(distances, np.zeros(T), atol=1e-5)


def test_attention_that_matters_cannot(translator):
    translation = translation_of(translator)
    for distances in (
        permuted_attention(translator, translation),
        uniform_attention(translator, translation),
    ):
        assert distances.shape == (T,)
        assert ((distances > 1e-5) & (distances <= 1)).all()
    one, same, other = (permuted_attention(translator, translation, 5, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
