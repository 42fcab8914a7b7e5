import copy
import pickle
import re
from dataclasses import replace

import keras
import numpy as np
import pytest

from keras_attention import attributions, models
from keras_attention.metrics import spread
from keras_attention.plotting import merge_tokens
from keras_attention.translation import alignment
from keras_attention.translation.agreement import agreement
from tests.attributions.sentences import (
    CONTEXT_IDS,
    S,
    T,
    log_probabilities,
    translation_of,
    translator_of,
)
from tests.models.transformers import CONTEXT, TARGET, stirred


@pytest.fixture(scope="module")
def translator():
    return translator_of(stirred())


@pytest.fixture
def translation(translator):
    return replace(translation_of(translator), align=translator.align)


def losses_by_numpy(model):
    """Return the losses of the two target words without each of the two source words."""
    whole = log_probabilities(model)
    without = [(*CONTEXT_IDS[:1], 0, *CONTEXT_IDS[2:]), (*CONTEXT_IDS[:2], 0, 0, *CONTEXT_IDS[4:])]
    tokens = np.stack([whole - log_probabilities(model, ids) for ids in without], axis=1)
    return np.stack([tokens[:2].sum(axis=0), tokens[2]])  # the words; [END] is none


def evidence_by_hand(numbers):
    """Return the evidence of words: the part of its row times the part of its column."""
    positive = np.maximum(numbers, 0)
    assert positive.any()  # or nothing would be compared
    product = positive * positive / np.maximum(positive.sum(axis=0), 1e-30)
    return product / np.maximum(product.sum(axis=1, keepdims=True), 1e-30)


def of_tokens(words):
    """Return the map of tokens: of two words and `[END]`, to two words between marks."""
    expected = np.zeros((T, S))
    for rows, word in ((slice(0, 2), words[0]), (slice(2, 3), words[1])):
        expected[rows, 1], expected[rows, 2:4] = word[0], word[1] / 2
    return expected


def test_the_alignment_of_a_transformer_is_of_two_kinds_of_evidence(translator, translation):
    relevances = attributions.relevance(translator, translation).context
    words = [relevances[:2, 1:].sum(axis=0), relevances[2, 1:]]
    words = [[row[0], row[1] + row[2]] for row in words]
    evidence = evidence_by_hand(losses_by_numpy(translator.model)) + evidence_by_hand(words)
    expected = of_tokens(agreement(evidence))
    np.testing.assert_allclose(translation.alignment, expected, atol=1e-3)


@pytest.mark.parametrize("has_attention", [True, False])
def test_the_alignment_of_a_recurrent_model_is_by_leave_one_out_and_where_it_looks(has_attention):
    keras.utils.set_random_seed(0)  # one model in 25 has no evidence for any word
    build = models.build_rnn_attention if has_attention else models.build_seq2seq
    model = build(CONTEXT, TARGET, units=5)
    translator = translator_of(model)
    translation = translation_of(translator)
    evidence = evidence_by_hand(losses_by_numpy(model))
    if has_attention:
        (layer,) = translation.weights["cross_attention"]
        weights = np.reshape(layer, (-1, T, S)).mean(axis=0)
        looks = np.stack([weights[:2].sum(axis=0), weights[2]])  # of the words
        looks = np.stack([looks[:, 1], looks[:, 2] + looks[:, 3]], axis=1)
        evidence = 0.85 * evidence + 0.15 * evidence_by_hand(looks)
    found = alignment.align(translator.evidence, translation)
    np.testing.assert_allclose(found, of_tokens(agreement(evidence)), atol=1e-3)


@pytest.mark.parametrize(
    ("word", "id", "expected"),
    [
        ("¿", 5, [[False, True], [True, False]]),  # the other source word is "two"
        ("…»", 5, [[False, True], [True, False]]),
        ("%", 5, [[True, True], [False, False]]),  # which is read as a word is, like these
        ("€", 5, [[True, True], [False, False]]),
        ("7", 5, [[True, True], [False, False]]),
        ("[UNK]", 1, [[True, True], [True, False]]),  # a word or punctuation, nobody knows
    ],
)
def test_words_come_from_words_and_punctuation_from_punctuation(
    translator, translation, monkeypatch, word, id, expected
):
    given = []

    def spy(evidence, possible):
        given.append(possible)
        return agreement(evidence, possible)

    monkeypatch.setattr(alignment, "agreement", spy)
    asked = replace(
        translation,
        context_ids=(2, id, *CONTEXT_IDS[2:]),
        context_tokens=("[START]", word, "tw", "o", "[END]"),
        target_tokens=("un", "o", "?", "[END]"),
    )
    found = alignment.align(translator.evidence, asked)
    np.testing.assert_array_equal(given, [expected])
    np.testing.assert_array_equal(found[:3][~of_tokens(np.array(expected))[:3].astype(bool)], 0)


def test_to_a_recurrent_model_a_hidden_word_is_a_deleted_one():
    model = models.build_rnn_attention(CONTEXT, TARGET, units=5)
    translator = translator_of(model)
    found = alignment.leave_one_out(translator.evidence, translation_of(translator))
    hidden = log_probabilities(model, (*CONTEXT_IDS[:2], 0, 0, *CONTEXT_IDS[4:]))
    np.testing.assert_allclose(found[:, 1], log_probabilities(model) - hidden, atol=1e-5)


def test_both_ways_by_hand():
    # Rows 2+1, 0 and 1; columns 2+1 and 1. Row 1: 2·(2/3) and 1·1, of their sum 7/3.
    found = alignment.both_ways([[2.0, 1.0], [-3.0, 0.0], [1.0, -0.5]])
    np.testing.assert_allclose(found, [[4 / 7, 3 / 7], [0, 0], [1, 0]])


def test_a_translation_without_words_comes_from_nowhere(translator, translation):
    empty = replace(translation, target_ids=(3,), target_groups=([0],), target_tokens=("[END]",))
    np.testing.assert_array_equal(empty.alignment, np.zeros((1, S)))


def test_a_copy_and_a_pickle_leave_the_translator_behind(translation):
    lazy = pickle.loads(pickle.dumps(translation))
    assert lazy.align is copy.deepcopy(translation).align is None
    assert lazy.text == translation.text
    found = translation.alignment  # what was found is taken along
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(translation)).alignment, found)


def test_alignment_is_found_once_and_only_if_asked_for(translation):
    calls = []

    def align(each):
        calls.append(each)
        return np.eye(T, S)

    lazy = replace(translation, align=align)
    assert not calls
    assert lazy.alignment is lazy.alignment
    assert calls == [lazy]


def test_without_a_translator_there_is_no_alignment(translator, translation):
    with pytest.raises(ValueError, match="no translator made this translation"):
        _ = replace(translation, align=None).alignment
    parts = replace(translation, parts=(translation, translation))
    with pytest.raises(ValueError, match="in 2 parts"):
        _ = parts.alignment
    with pytest.raises(ValueError, match="got 'one two three', which has 0 parts"):
        translator.align(replace(translation, context_ids=()))


def test_the_picture_has_the_weights_and_the_alignment(translation, tmp_path):
    left, right = translation.plot_alignment(tmp_path / "both.png", links=[(1, 0)])
    assert (tmp_path / "both.png").stat().st_size > 1000
    groups = translation.context_groups, translation.target_groups
    for axes, weights in ((left, translation.attention), (right, translation.alignment)):
        merged = merge_tokens(weights, *groups)
        np.testing.assert_allclose(axes.images[0].get_array(), merged)
        assert f", over {spread(merged):.1f} words" in axes.get_title()
        assert len(axes.patches) == 1  # the outline
    assert re.match("attention,", left.get_title())
    assert re.match("alignment,", right.get_title())
    pieces, _ = translation.plot_alignment(tmp_path / "pieces.png", pieces=True)
    assert pieces.images[0].get_array().shape == (T, S)


def test_the_page_has_the_alignment_or_other_evidence(translation):
    assert "translation → sentence: alignment" in translation.view().html
    page = translation.view(evidence={"of mine": [np.eye(T, S), np.eye(T, S)]}).html
    assert "of mine" in page
    assert "translation → sentence: alignment" not in page
