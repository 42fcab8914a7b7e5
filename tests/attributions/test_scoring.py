from dataclasses import replace

import numpy as np
import pytest

from keras_attention import models
from keras_attention.attributions import METHODS, attribute, by_words, deletion, named_words
from keras_attention.menu import ATTRIBUTIONS
from tests.attributions.sentences import S, T, translator_of
from tests.models.transformers import CONTEXT, TARGET


def test_tokens_become_words_without_start_and_end(translation):
    tokens = np.arange(T * S, dtype=float).reshape(T, S)
    # Columns: "one" is token 1, "two" tokens 2 and 3. Rows: "uno" is tokens 0 and 1, "dos" token 2.
    np.testing.assert_allclose(by_words(translation, tokens), [[3.5, 10.0], [11.0, 25.0]])


def test_a_word_that_the_model_writes_as_unknown_is_a_word(translation):
    unknown = replace(translation, target_tokens=("un", "o", "[UNK]", "[END]"))
    assert by_words(unknown, np.zeros((T, S))).shape == (2, 2)


def test_a_deletion_by_hand(translation):
    losses = np.zeros((T, S))
    losses[:2, 1], losses[2, 2], losses[2, 3] = 4.0, 0.5, 0.5  # uno ← one; dos ← two
    evidence = np.zeros((T, S))
    evidence[:2, 1] = evidence[2, 1] = 1.0  # the map names "one" for both
    score = deletion(translation, evidence, losses)
    assert score == (pytest.approx((4 + 0) / 2), pytest.approx(5 / 4), pytest.approx((4 + 1) / 2))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_drawn_as_weights(translator, translation, method):
    shown = attribute(translator, translation, method)
    for layer in shown.weights["cross_attention"]:
        assert layer.shape == (T, S)
        assert layer.min() >= 0
        total = layer.sum(axis=-1)
        np.testing.assert_allclose(total, total > 0, atol=1e-5)  # a row without evidence is 0
    words = named_words(shown)
    assert [word for word, _, _ in words] == ["uno", "dos"]
    for _, source, part in words:
        assert source in (("one", "two") if part else ("",))
        assert 0 <= part <= 1


def test_the_command_line_lists_every_method():
    assert list(METHODS) == list(ATTRIBUTIONS)


def test_what_cannot_be_attributed_is_an_error(translator, translation):
    with pytest.raises(ValueError, match=r"method must be one of attention, .*, got 'guess'"):
        attribute(translator, translation, "guess")
    with pytest.raises(
        ValueError, match=r"one sentence by this translator, with its ids; .* 0 parts"
    ):
        attribute(translator, replace(translation, target_ids=()), "relevance")
    other = translator_of(models.build_bilstm_attention(CONTEXT, TARGET, units=5))
    with pytest.raises(ValueError, match="multi-head attention to the context"):
        attribute(other, translation, "gradient-attention")
