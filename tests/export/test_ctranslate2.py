"""CTranslate2 translates as the translator does."""

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("ctranslate2", reason="needs the extra ctranslate2")

import ctranslate2
import numpy as np

from keras_attention.export import export
from keras_attention.models import build_transformer
from keras_attention.text import KINDS
from keras_attention.translation.translator import Translator
from tests.conftest import files

LENGTH = 9


@pytest.mark.parametrize("name", ["transformer", "pre-norm"])
def test_it_translates_as_the_translator_does(
    name, translators, translations, with_words, tmp_path
):
    translator = translators(name)
    export(translator, "ctranslate2", tmp_path / "new")
    kind = KINDS[translator.context_vocabulary.kind]
    context, target = (
        kind.load(tmp_path / "new" / f"{side}_vocabulary.txt") for side in ("context", "target")
    )
    results = ctranslate2.Translator(
        str(tmp_path / "new"), compute_type="float32", intra_threads=2
    ).translate_batch(
        [[token for token, _ in tokens] for tokens in context.tokenize(with_words)],
        beam_size=1,
        max_decoding_length=LENGTH,
        suppress_sequences=[["<blank>"], ["[START]"]],
    )
    expected = translations(name, max_length=LENGTH)
    texts = [target.join(each.hypotheses[0]) for each in results]
    assert texts == [each.text for each in expected]
    assert len(set(texts)) > 4


@pytest.mark.parametrize("chosen", [{}, {"layer": 1, "head": 3}, {"layer": 2, "head": 2}])
def test_its_attention_is_that_of_the_head_that_the_configuration_names(
    chosen, translators, with_words, tmp_path
):
    translator = translators("pre-norm")
    config = {"alignment_head": chosen} if chosen else {}
    parts = translator.model, translator.context_vocabulary, translator.target_vocabulary
    export(Translator(*parts, config), "ctranslate2", tmp_path / "new")
    sentence = next(text for text in with_words if len(text.split()) > 4)
    expected = translator(sentence, max_length=LENGTH)
    result = ctranslate2.Translator(str(tmp_path / "new"), compute_type="float32").translate_batch(
        [[token for token, _ in translator.context_vocabulary.tokenize([sentence])[0]]],
        beam_size=1,
        max_decoding_length=LENGTH,
        return_attention=True,
        suppress_sequences=[["<blank>"], ["[START]"]],
    )[0]
    layer, head = chosen.get("layer", 2), chosen.get("head", 1)
    weights = expected.weights["cross_attention"][layer - 1][head - 1]
    found = np.array(result.attention[0])
    # Without the columns of [START] and [END]
    np.testing.assert_allclose(found, weights[: len(found), 1:-1], atol=1e-5)
    assert len(found) >= len(result.hypotheses[0])


@pytest.mark.parametrize("chosen", [{"layer": 3}, {"head": 0}, {"head": "first"}])
def test_an_alignment_head_that_the_model_lacks_is_refused(chosen, translators, tmp_path):
    translator = translators("pre-norm")
    parts = translator.model, translator.context_vocabulary, translator.target_vocabulary
    with pytest.raises(ValueError, match=r"alignment_head in the configuration names .* 1 to"):
        export(Translator(*parts, {"alignment_head": chosen}), "ctranslate2", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_encoder_may_be_deeper_than_the_decoder(vocabularies, tmp_path):
    small = {"units": 6, "num_layers": 3, "num_decoder_layers": 1, "num_heads": 2}
    model = build_transformer(*map(len, vocabularies.word), **small, feed_forward_dim=7)
    translator = Translator(model, *vocabularies.word)
    export(translator, "ctranslate2", tmp_path / "new")
    words = ["los", "niños"]
    found = ctranslate2.Translator(str(tmp_path / "new"), compute_type="float32").translate_batch(
        [words], beam_size=1, max_decoding_length=LENGTH, suppress_sequences=[["[START]"]]
    )
    expected = translator(" ".join(words), max_length=LENGTH)
    tokens = [token for token in expected.target_tokens if token != "[END]"]
    assert found[0].hypotheses[0] == tokens


def test_what_is_no_transformer_is_refused(translators, tmp_path):
    with pytest.raises(ValueError, match="needs a Transformer, got rnn_attention"):
        export(translators("rnn"), "ctranslate2", tmp_path / "new")
    assert files(tmp_path) == []


def test_heads_of_another_width_are_refused(vocabularies, tmp_path):
    small = {"units": 6, "num_layers": 1, "num_heads": 2, "key_dim": 5, "feed_forward_dim": 7}
    model = build_transformer(*map(len, vocabularies.word), **small)
    with pytest.raises(ValueError, match="must be the width of the model, 6, got 2 heads of 5"):
        export(Translator(model, *vocabularies.word), "ctranslate2", tmp_path / "new")
    assert files(tmp_path) == []
