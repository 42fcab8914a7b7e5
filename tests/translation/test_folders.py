"""Folders of finished translators: float16 weights, their hash, and what may be wrong with them."""

import json

import numpy as np
import pytest

from keras_attention import models
from keras_attention.text import SPECIAL_WORDS, Vocabulary, WordPieces
from keras_attention.translation.builders import least_weights
from keras_attention.translation.folders import folder_of
from keras_attention.translation.translator import Translator
from tests.conftest import change_config, sign_files

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
        ({"builder": {"name": "oracle", "arguments": {}}}, "model must be one of rnn, .*'oracle'"),
        ({"builder": {"name": "rnn", "arguments": {"horses": 2}}}, "rnn has no horses; it has"),
        (
            {"builder": {"name": "rnn", "arguments": {**ARGUMENTS, "units": "7"}}},
            "rnn.units must be a whole number, got '7'",
        ),
        (
            {"builder": {"name": "rnn", "arguments": {**ARGUMENTS, "units": 10**7}}},
            "how to build the model: a model .* GB of memory, this machine has",
        ),
        (
            {"builder": {"name": "rnn", "arguments": {**ARGUMENTS, "units": 7}}},
            "weights of another model",
        ),
        ({"builder": None}, r"files must hold the hashes of .*, model\.keras"),
        ({"builder": 7}, "builder must be an object, got 7"),
        ({"builder": {"name": "rnn"}}, "builder must have arguments, got"),
    ],
)
def test_a_configuration_of_another_model_is_an_error(folder, values, message):
    change_config(folder, **values)
    with pytest.raises(ValueError, match=message):
        Translator.load(folder)


def test_weights_that_are_not_finite_are_an_error(folder):
    with np.load(folder / "weights.npz") as weights:
        arrays = dict(weights)
    arrays["0003"][...] = np.nan
    np.savez(folder / "weights.npz", **arrays)
    sign_files(folder)
    with pytest.raises(
        ValueError, match=r"weights\.npz must have finite weights, .* weight 3 of sha"
    ):
        Translator.load(folder)


def test_a_file_that_is_no_archive_of_weights_is_an_error(folder):
    (folder / "weights.npz").write_bytes(b"no zip")
    sign_files(folder)
    with pytest.raises(ValueError, match=r"weights\.npz cannot be loaded: BadZipFile"):
        Translator.load(folder)


def test_a_translator_saved_in_another_form_keeps_nothing_of_the_first(translator, folder):
    Translator.load(folder).save(folder)
    config = json.loads((folder / "config.json").read_text())
    assert config["builder"] is None
    assert sorted(config["files"]) == [
        "context_vocabulary.txt",
        "model.keras",
        "target_vocabulary.txt",
    ]
    assert Translator.load(folder).context_vocabulary.words == translator.context_vocabulary.words


def test_a_configuration_that_could_not_be_read_again_is_not_written(translator, tmp_path):
    vocabularies = translator.context_vocabulary, translator.target_vocabulary
    other = Translator(translator.model, *vocabularies, {"languages": "Spanish"})
    with pytest.raises(ValueError, match=r"config.languages must be a list, got 'Spanish'"):
        other.save(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", models.BUILDERS)
def test_the_least_number_of_weights_is_below_the_true_one_and_of_its_size(name):
    arguments = {"context_vocabulary_size": 11, "target_vocabulary_size": 13, "units": 16}
    builder = {"name": name, "arguments": arguments}
    least = least_weights(builder)
    true = models.BUILDERS[name](**arguments).count_params()
    assert least <= true <= 9 * least


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
