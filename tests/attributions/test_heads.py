from dataclasses import replace

import numpy as np
import pytest
from keras.ops import convert_to_tensor as tensor

from keras_attention.attributions import aligned_head, fed_rows, head_ablation, head_importance
from keras_attention.attributions.heads import attentions_of
from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited
from tests.attributions.sentences import (
    S,
    T,
    log_probabilities,
    times,
    translation_of,
    translator_of,
)
from tests.models.transformers import LAYERS, H, build, stirred
from tests.numerics import as_numpy

each_kind = pytest.mark.parametrize("of", ["cross", "encoder", "decoder"])


@pytest.fixture(scope="module")
def dead_head():
    """A translator whose second head of the first layers adds nothing to any read."""
    model = build()
    model.set_weights(stirred().get_weights())
    translator = translator_of(model)
    inside = Inside.of(translator.model, translation_of(translator))
    for of in ("cross", "encoder", "decoder"):
        kernel = attentions_of(inside, of)[0].project_read.kernel
        kernel.assign(as_numpy(kernel) * [[[1]], [[0]]])
    return translator


@each_kind
def test_a_head_that_adds_nothing_loses_nothing(dead_head, of):
    losses = head_ablation(dead_head, translation_of(dead_head), of)
    assert losses.shape == (LAYERS, H)
    assert abs(losses[0, 1]) < 1e-6
    assert (np.abs(np.delete(losses.ravel(), 1)) > 1e-6).all()
    importance = head_importance(dead_head, [translation_of(dead_head)], of)
    assert importance.argmin() == 1
    assert importance[0, 1] < 1e-6


def test_the_loss_is_that_of_the_log_probability(translator):
    translation = translation_of(translator)
    losses = head_ablation(translator, translation)
    before = log_probabilities(translator.model).mean()

    def without_last_head(number, weights):
        mask = np.ones((H, 1, 1), "float32")
        mask[-1] = float(number < LAYERS - 1)
        return weights * tensor(mask)

    with edited(Inside.of(translator.model, translation).cross_attentions, without_last_head):
        after = log_probabilities(translator.model).mean()
    assert losses[-1, -1] == pytest.approx(before - after, abs=1e-5)


def test_importance_is_the_slope_at_a_gate_of_1(translator):
    translation = translation_of(translator)
    importance = head_importance(translator, [translation, translation])
    attentions = Inside.of(translator.model, translation).cross_attentions
    values = []
    for gate in (1.01, 0.99):
        gates = np.array([gate, 1.0], "float32")[:, None, None]
        with edited(attentions[:1], times(gates)):
            values.append(log_probabilities(translator.model).mean())
    assert importance[0, 0] == pytest.approx(abs(values[0] - values[1]) / 0.02, abs=2e-3)


def with_a_true_head(translation, layer, head, fed):
    """Give a translation an alignment and heads, of which one names the same words."""
    # Tokens 1 and 2 are one word, which comes from "one"; the third comes from "tw", "o".
    truth = np.array([[0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 0, 0, 0, 0]])
    false = np.roll(truth, 2, axis=1) + 0.01
    layers = np.tile(false, (LAYERS, H, 1, 1))
    layers[layer - 1, head - 1] = np.concatenate([false[:1], truth[:-1]]) if fed else truth
    return replace(
        translation, weights={"cross_attention": list(layers)}, align=lambda translation: truth
    )


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize(("layer", "head"), [(1, 2), (2, 1)])
def test_the_head_that_agrees_with_the_alignment_is_found(translator, layer, head, fed):
    translations = [with_a_true_head(translation_of(translator), layer, head, fed)] * 2
    assert aligned_head(translations) == (layer, head, fed, 1.0)


def test_a_word_without_evidence_does_not_count(translator):
    translation = with_a_true_head(translation_of(translator), 1, 2, fed=False)
    silent = replace(translation, align=lambda translation: np.zeros((T, S)))
    assert aligned_head([translation, silent]) == (1, 2, False, 1.0)
    with pytest.raises(ValueError, match="needs a translation in which a word has an alignment"):
        aligned_head([silent])


def test_weights_without_heads_are_an_error(translator):
    translation = with_a_true_head(translation_of(translator), 1, 2, fed=False)
    mean = [layer.mean(axis=0) for layer in translation.weights["cross_attention"]]
    with pytest.raises(ValueError, match="no heads to choose from"):
        aligned_head([replace(translation, weights={"cross_attention": mean})])
    with pytest.raises(ValueError, match="no heads to choose from"):
        aligned_head([replace(translation, weights={})])


def test_a_token_is_fed_one_step_after_it_is_said():
    np.testing.assert_array_equal(fed_rows(np.array([[[1], [2], [3]]])), [[[2], [3], [3]]])


def test_wrong_arguments_are_errors(translator):
    with pytest.raises(ValueError, match="of must be one of cross, encoder, decoder, got 'ear'"):
        head_ablation(translator, translation_of(translator), of="ear")
    with pytest.raises(ValueError, match="at least one translation, got none"):
        head_importance(translator, [])
