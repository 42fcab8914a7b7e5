"""A SavedModel translates as the translator does, also where this package is not."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

import tensorflow as tf

from keras_attention.export import export
from keras_attention.text import split_words
from tests.conftest import ROOT

MODELS = {
    "rnn": {"max_length": 9},
    "bilstm": {"max_length": 9},
    "transformer": {"max_length": 11, "beam": 3, "length_penalty": 1.0},
}


@pytest.fixture(scope="module")
def exported(translators, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved-models")

    def write(name):
        if not (folder / name).exists():
            export(translators(name), "saved-model", folder / name, **MODELS[name])
        return folder / name

    return write


def texts_of(strings):
    return [text.decode() for text in strings.numpy()]


@pytest.mark.parametrize("name", MODELS)
def test_it_translates_as_the_translator_does(name, exported, translations, with_words):
    translate = tf.saved_model.load(exported(name)).signatures["serving_default"]
    expected = translations(name, **MODELS[name])
    got = translate(tf.constant(with_words))
    assert texts_of(got["text"]) == [each.text for each in expected]
    assert len({each.text for each in expected}) > 4  # not one answer for all
    for place, each in enumerate(expected):
        tokens = tuple(text for text in texts_of(got["tokens"][place]) if text)
        context = [text for text in texts_of(got["context_tokens"][place]) if text]
        weights = got["weights"][place].numpy()
        assert tokens == each.target_tokens
        assert len(context) == len(each.context_tokens)
        np.testing.assert_allclose(
            weights[: len(tokens), : len(context)], each.attention, atol=2e-5
        )
        assert np.abs(weights[len(tokens) :]).sum() == np.abs(weights[:, len(context) :]).sum() == 0


def test_a_sentence_alone_is_translated_as_in_a_batch(exported, with_words):
    translate = tf.saved_model.load(exported("rnn")).signatures["serving_default"]
    together = texts_of(translate(tf.constant(with_words))["text"])
    for place in (0, 3, 50):
        alone = translate(tf.constant(with_words[place : place + 1]))
        assert texts_of(alone["text"]) == [together[place]]
    assert texts_of(translate(sentences=tf.constant(with_words[:7]))["text"]) == together[:7]


@pytest.mark.parametrize("name", ["rnn", "transformer"])
def test_what_has_no_word_says_nothing(name, exported, sentences):
    translate = tf.saved_model.load(exported(name)).signatures["serving_default"]
    silent = ["", " \t"]
    assert not any(map(split_words, silent))
    got = translate(tf.constant([*silent, sentences[-1]]))
    assert texts_of(got["text"])[:2] == ["", ""]
    assert texts_of(got["text"])[2] != ""
    assert not got["weights"][:2].numpy().any()
    alone = translate(tf.constant(silent))
    assert texts_of(alone["text"]) == ["", ""]
    assert alone["weights"].shape == (2, 1, 2)


def test_a_sentence_that_is_too_long_is_refused(exported):
    translate = tf.saved_model.load(exported("rnn")).signatures["serving_default"]
    assert texts_of(translate(tf.constant(["casa " * 62]))["text"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 62 tokens"):
        translate(tf.constant(["casa", "casa " * 63]))


def test_it_runs_in_a_process_without_this_package(exported, translations, with_words):
    program = """
import json, sys
import tensorflow as tf
import tensorflow_text
folder, sentences = json.loads(sys.stdin.read())
got = tf.saved_model.load(folder).signatures["serving_default"](tf.constant(sentences))
texts = [text.decode() for text in got["text"].numpy()]
loaded = [name for name in sys.modules if name.split(".")[0] == "keras_attention"]
print(json.dumps([texts, loaded]))
"""
    given = json.dumps([str(exported("transformer")), with_words])
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        input=given,
        cwd=ROOT / "data",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    texts, loaded = json.loads(done.stdout.splitlines()[-1])
    expected = translations("transformer", **MODELS["transformer"])
    assert texts == [each.text for each in expected]
    assert loaded == []


def test_another_backend_is_refused(translators, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"set KERAS_BACKEND=tensorflow .* the backend jax"):
        export(translators("rnn"), "saved-model", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
