import numpy as np
import pytest

from keras_attention.attributions import gradient_attention, relevance
from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited
from tests.attributions.sentences import (
    TARGET_IDS,
    S,
    T,
    log_probabilities,
    times,
    translation_of,
    translator_of,
    with_bias,
)
from tests.models.transformers import build, called, each_order, stirred


def test_gradient_times_attention_is_the_slope_of_the_log_probability():
    translator = translator_of(stirred())
    translation = translation_of(translator)
    found = gradient_attention(translator, translation)
    assert found.shape == (T, S)
    attentions = Inside.of(translator.model, translation).cross_attentions
    for s in range(S):
        slopes = []
        for change in (0.01, -0.01):
            gates = np.ones(S, "float32")
            gates[s] += change
            with edited(attentions, times(gates)):
                slopes.append(log_probabilities(translator.model))
        expected = (slopes[0] - slopes[1]) / 0.02
        np.testing.assert_allclose(found[:, s], expected, atol=2e-3)


@each_order
def test_relevances_sum_to_the_logit_where_no_bias_adds_to_it(norm_first):
    translator = translator_of(build(norm_first=norm_first))
    found = relevance(translator, translation_of(translator))
    assert (found.context.shape, found.target.shape) == ((T, S), (T, T))
    fed = {"context": (2, 5, 7, 11, 3), "target": (2, *TARGET_IDS[:-1])}
    logits = called(translator.model, {n: np.array([ids], "int32") for n, ids in fed.items()})[0]
    expected = logits[np.arange(T), list(TARGET_IDS)]
    np.testing.assert_allclose(found.logits, expected, atol=1e-5)
    total = found.context.sum(axis=1) + found.target.sum(axis=1)
    np.testing.assert_allclose(total, expected, atol=1e-4)
    assert np.abs(found.context).max() > 1e-3
    np.testing.assert_allclose(np.triu(found.target, 1), 0, atol=1e-6)  # the future adds nothing


def test_a_bias_takes_the_rest_of_the_logit():
    translator = translator_of(with_bias(build(), 0.3))
    found = relevance(translator, translation_of(translator))
    total = found.context.sum(axis=1) + found.target.sum(axis=1)
    assert np.abs(total - found.logits).max() > 0.01


def test_relevance_needs_a_transformer():
    from keras_attention import models
    from tests.models.transformers import CONTEXT, TARGET

    translator = translator_of(models.build_rnn_attention(CONTEXT, TARGET, units=5))
    with pytest.raises(ValueError, match="needs a Transformer, got the model rnn_attention"):
        relevance(translator, translation_of(translator))
