"""CTranslate2 translates as the translator does."""

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("ctranslate2", reason="needs the extra ctranslate2")

import ctranslate2

from keras_attention.export import export
from keras_attention.text import KINDS
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


def test_what_is_no_transformer_is_refused(translators, tmp_path):
    with pytest.raises(ValueError, match="needs a Transformer, got rnn_attention"):
        export(translators("rnn"), "ctranslate2", tmp_path / "new")
    assert files(tmp_path) == []


def test_heads_of_another_width_are_refused(vocabularies, tmp_path):
    from keras_attention.models import build_transformer
    from keras_attention.translation.translator import Translator

    small = {"units": 6, "num_layers": 1, "num_heads": 2, "key_dim": 5, "feed_forward_dim": 7}
    model = build_transformer(*map(len, vocabularies.word), **small)
    with pytest.raises(ValueError, match="must be the width of the model, 6, got 2 heads of 5"):
        export(Translator(model, *vocabularies.word), "ctranslate2", tmp_path / "new")
    assert files(tmp_path) == []
