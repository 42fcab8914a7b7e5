"""Files made to do harm: nothing in them is executed, and nothing is written elsewhere."""

import json
import os
import pickle
import warnings
import zipfile

import keras
import numpy as np
import pytest

from keras_attention import corpora, models
from keras_attention.text import SPECIAL_WORDS, Vocabulary
from keras_attention.translation.translator import Translator
from tests.conftest import sign_files

ARGUMENTS = {"context_vocabulary_size": 5, "target_vocabulary_size": 5, "units": 3}
WORDS = Vocabulary([*SPECIAL_WORDS, "word"])


@pytest.fixture
def harm(tmp_path):
    """Return the path of a folder that only executed code would make."""
    path = tmp_path / "harm"
    yield path
    assert not path.exists()


class Payload:
    """When unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def save(folder, builder=None):
    Translator(models.build_rnn_attention(**ARGUMENTS), WORDS, WORDS).save(folder, builder)
    return folder


def rewrite(path, name, text):
    """Replace a file in a zip."""
    with zipfile.ZipFile(path) as archive:
        files = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for each, data in (files | {name: text}).items():
            archive.writestr(each, data)


def test_the_payload_would_do_harm(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "done")))
    assert (tmp_path / "done").exists()


def test_pickled_weights_are_not_unpickled(tmp_path, harm):
    folder = save(tmp_path / "small", {"name": "rnn", "arguments": ARGUMENTS})
    np.savez(folder / "weights.npz", np.array([Payload(harm)], dtype=object))
    sign_files(folder)
    with pytest.raises(ValueError, match=r"weights.npz cannot be loaded: .*allow_pickle"):
        Translator.load(folder)


def test_a_model_with_python_code_is_not_loaded(tmp_path, harm):
    folder = save(tmp_path / "small")
    code = keras.layers.Lambda(lambda x, path=str(harm): os.makedirs(path, exist_ok=True) or x)
    model = keras.Sequential([keras.Input((1,)), code])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(folder / "model.keras")
    harm.rmdir()  # to call the layer is to execute its code
    sign_files(folder)
    with pytest.raises(ValueError, match=r"model.keras cannot be loaded: .*unsafe|.*safe_mode"):
        Translator.load(folder)


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "exec")])
def test_a_model_of_classes_from_elsewhere_is_not_loaded(tmp_path, harm, module, name):
    folder = save(tmp_path / "small")
    call = {"module": module, "class_name": name, "registered_name": name}
    code = f"mkdir {harm}" if module == "os" else f"__import__('os').mkdir({str(harm)!r})"
    rewrite(folder / "model.keras", "config.json", json.dumps(call | {"config": code}))
    sign_files(folder)
    with pytest.raises(ValueError, match=r"model.keras cannot be loaded"):
        Translator.load(folder)


@pytest.mark.parametrize("name", ["../spa.txt", "/spa.txt", "a/../../spa.txt"])
def test_a_corpus_is_read_where_it_is_and_unpacked_nowhere(tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    with zipfile.ZipFile(inside / "corpus.zip", "w") as archive:
        archive.writestr(name, "Go.\tVe.\n")
    assert len(corpora.read_pairs(inside / "corpus.zip")) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "corpus.zip"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe is a file of Unix")
@pytest.mark.parametrize("name", ["config.json", "model.keras", "target_vocabulary.txt"])
def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path, name):
    folder = save(tmp_path / "small")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(FileNotFoundError, match=r"small"):
        Translator.load(folder)
