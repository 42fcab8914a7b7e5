"""Folders of finished translators: float16 weights, their hash, and what may be wrong with them."""

import json

import numpy as np
import pytest

from keras_attention import models
from keras_attention.text import SPECIAL_WORDS, Vocabulary, WordPieces
from keras_attention.translation.folders import folder_of
from keras_attention.translation.translator import Translator

FILES = ["config.json", "context_vocabulary.txt", "target_vocabulary.txt", "weights.npz"]
ARGUMENTS = {"context_vocabulary_size": 29, "target_vocabulary_size": 31, "units": 5}
BUILDER = {"name": "rnn", "arguments": ARGUMENTS}


def vocabulary(size):
    return Vocabulary([*SPECIAL_WORDS, *(f"word{chr(97 + n)}" for n in range(size - 4))])


@pytest.fixture(scope="module")
def translator():
    model = models.build_rnn_attention(**ARGUMENTS)
    return Translator(model, vocabulary(29), vocabulary(31), {"colour": "blue"})


@pytest.fixture
def folder(translator, tmp_path):
    translator.save(tmp_path / "small", BUILDER)
    return tmp_path / "small"


def change(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **values}))


def test_weights_come_back_rounded_to_float16(translator, folder):
    assert sorted(path.name for path in folder.iterdir()) == FILES
    back = Translator.load(folder)
    pairs = list(zip(back.model.get_weights(), translator.model.get_weights(), strict=True))
    assert len(pairs) > 10
    for got, written in pairs:
        assert got.dtype == "float32"
        np.testing.assert_array_equal(got, written.astype("float16").astype("float32"))
    assert back.config["colour"] == "blue"
    assert back.context_vocabulary.words == translator.context_vocabulary.words


def test_a_translator_that_came_back_translates_alike(translator, folder):
    sentence = "worda wordb wordc"
    one, other = translator(sentence, max_length=5), Translator.load(folder)(sentence, max_length=5)
    assert one.target_tokens == other.target_tokens
    np.testing.assert_allclose(one.attention, other.attention, atol=2e-3)


def test_the_same_weights_make_the_same_file(translator, folder, tmp_path):
    translator.save(tmp_path / "again", BUILDER)
    for name in FILES:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_changed_byte_is_noticed(folder):
    damaged = bytearray((folder / "weights.npz").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "weights.npz").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"weights.npz is not the file that was written: .*sha256"):
        Translator.load(folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"builder": {"name": "oracle", "arguments": {}}}, "does not say how to build the model"),
        ({"builder": {"name": "rnn", "arguments": {"horses": 2}}}, "horses"),
        (
            {"builder": {"name": "rnn", "arguments": {**ARGUMENTS, "units": 7}}},
            "weights of another model",
        ),
        ({"builder": None}, "does not say how to build the model"),
    ],
)
def test_a_configuration_of_another_model_is_an_error(folder, values, message):
    change(folder, **values)
    with pytest.raises(ValueError, match=message):
        Translator.load(folder)


def test_a_weight_beyond_float16_is_refused_and_nothing_is_written(translator, tmp_path):
    model = models.build_rnn_attention(**ARGUMENTS)
    model.set_weights([array + 1e6 for array in model.get_weights()])
    large = Translator(model, translator.context_vocabulary, translator.target_vocabulary)
    with pytest.raises(ValueError, match="weight 0 has numbers beyond float16"):
        large.save(tmp_path / "large", BUILDER)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_nothing_has_is_an_error_that_lists_the_translators(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"folder spa-eng-ctc; .* comes with spa-eng, spa-eng-rnn"
    ):
        folder_of("spa-eng-ctc")


def test_the_words_that_pieces_were_learned_from_come_back(tmp_path):
    pieces = WordPieces([*SPECIAL_WORDS, "casa", "##s"], known=["casa", "casas"])
    model = models.build_rnn_attention(6, 31, units=5)
    Translator(model, pieces, WordPieces([*SPECIAL_WORDS, "##a", *map(str, range(26))])).save(
        tmp_path / "run"
    )
    assert (tmp_path / "run" / "known_words.txt").read_text() == "casa\ncasas\n"
    assert Translator.load(tmp_path / "run").context_vocabulary.known == {"casa", "casas"}
