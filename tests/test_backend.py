"""What computes a command: NumPy where it is sooner done, with the same result as TensorFlow."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention import graphs, models
from keras_attention.cli import backend
from keras_attention.menu import TRANSLATORS
from keras_attention.models import rnn_attention
from keras_attention.text import SPECIAL_WORDS, Vocabulary
from keras_attention.translation.translator import Translator

SENTENCES = ["¿Todavía están en casa?", "Mi hermana compró una casa cerca del mar.", "Gracias."]
needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="Keras' NumPy backend imports JAX"
)


def fresh(program, *arguments, **variables):
    """Return the lines that a fresh process prints; no backend is chosen unless by `variables`."""
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.splitlines()


def loaded(name):
    translator = Translator.load(name)
    translator.run_eagerly = True
    return translator


TRANSLATE = """
import json, sys
from keras_attention_command import main
sys.argv[0] = "keras-attention"
main()
print(json.dumps([name for name in ("keras", "tensorflow") if sys.modules.get(name)]))
"""


@needs_jax
@pytest.mark.parametrize("name", TRANSLATORS)
def test_numpy_translates_as_tensorflow_does_which_is_not_imported(name, tmp_path):
    home = {"KERAS_HOME": str(tmp_path)}
    *lines, modules = fresh(TRANSLATE, "translate", name, *SENTENCES, "--json", **home)
    assert json.loads(modules) == ["keras"]
    for line, translation in zip(lines, loaded(name)(SENTENCES), strict=True):
        found, expected = json.loads(line), translation.to_dict()
        assert found["translation"] == expected["translation"]
        np.testing.assert_allclose(found["attention"], expected["attention"], atol=1e-5)


EACH = """
import json, sys
import keras_attention_command
from keras_attention.cli import backend
sentence, *folders = sys.argv[1:]
backend.choose(folders[0], [sentence])
from keras_attention.translation.translator import Translator
for folder in folders:
    print(json.dumps(Translator.load(folder)(sentence, max_length=7).to_dict()))
print(json.dumps([name for name in ("keras", "tensorflow") if sys.modules.get(name)]))
"""
SMALL = {"num_layers": 1, "units": 8, "num_heads": 2, "feed_forward_dim": 16}
MODELS = {
    **{
        name: ("rnn", partial(models.build_rnn_attention, units=8, attention=name))
        for name in rnn_attention.ATTENTIONS
    },
    "post_norm": ("transformer", partial(models.build_transformer, **SMALL)),
    "pre_norm": (
        "transformer",
        partial(models.build_transformer, **SMALL, norm_first=True, positions="learned"),
    ),
}


@needs_jax
def test_numpy_computes_every_rnn_and_transformer(tmp_path):
    sentence = "la casa roja"
    words = Vocabulary([*SPECIAL_WORDS, *sentence.split()])
    expected = []
    for name, (model, build) in MODELS.items():
        config = {"settings": {"model": model, "dtype_policy": "float32"}}
        translator = Translator(build(len(words), len(words)), words, words, config)
        translator.run_eagerly = True
        translator.save(tmp_path / name)
        expected.append(translator(sentence, max_length=7).to_dict())
    folders = [str(tmp_path / name) for name in MODELS]
    *lines, modules = fresh(EACH, sentence, *folders, KERAS_HOME=str(tmp_path))
    assert json.loads(modules) == ["keras"]
    for line, translation in zip(lines, expected, strict=True):
        found = json.loads(line)
        assert found["target_tokens"] == translation["target_tokens"]
        np.testing.assert_allclose(found["attention"], translation["attention"], atol=1e-5)


@needs_jax
def test_a_beam_and_drawn_words_are_the_same_with_numpy(tmp_path):
    translator = loaded("spa-eng")
    home = {"KERAS_HOME": str(tmp_path)}
    beam = fresh(TRANSLATE, "translate", *SENTENCES, "--beam", "3", **home)
    assert beam[:-1] == [each.text for each in translator(SENTENCES, beam=3)]
    drawn = fresh(TRANSLATE, "translate", *SENTENCES, "--temperature", "1", "--seed", "7", **home)
    assert drawn[:-1] == [each.text for each in translator(SENTENCES, temperature=1.0, seed=7)]


CHOOSE = """
import json, os, sys
import keras_attention_command
from keras_attention.cli import backend
name, number, has_jax, *others = json.loads(sys.argv[1])
has_runtime, has_accelerator, runtime = others or [False, False, None]
backend._has_jax = lambda: has_jax
backend._has_onnx_runtime = lambda: has_runtime
backend._has_accelerator = lambda: has_accelerator
backend.choose(name, ["casa"] * number, runtime)
print(os.environ.get("KERAS_BACKEND"), "keras" in sys.modules, "pandas" in sys.modules)
"""
CHOSEN, UNCHANGED = ["numpy False True"], ["None False False"]


def test_numpy_is_chosen_for_few_sentences_where_there_is_jax(tmp_path):
    home = {"KERAS_HOME": str(tmp_path)}
    few = backend.FEW_SENTENCES
    assert fresh(CHOOSE, json.dumps(["spa-eng", few, True]), **home) == CHOSEN
    assert fresh(CHOOSE, json.dumps(["spa-eng-rnn", few + 1, True]), **home) == UNCHANGED
    assert fresh(CHOOSE, json.dumps(["spa-eng", few, False]), **home) == UNCHANGED


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ({"settings": {"model": "transformer", "dtype_policy": "float32"}}, CHOSEN),
        ({"settings": {"model": "transformer", "dtype_policy": "mixed_bfloat16"}}, UNCHANGED),
        ({"settings": {"model": "bilstm", "dtype_policy": "float32"}}, UNCHANGED),
        ({"settings": {}}, UNCHANGED),
        ({}, UNCHANGED),
        ([], UNCHANGED),
        (None, UNCHANGED),
    ],
)
def test_numpy_is_chosen_for_runs_that_it_can_compute(tmp_path, config, chosen):
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    arguments = json.dumps([str(tmp_path), 1, True])
    assert fresh(CHOOSE, arguments, KERAS_HOME=str(tmp_path)) == chosen


def test_a_pipe_in_place_of_a_configuration_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    arguments = json.dumps([str(tmp_path), 1, True])
    assert fresh(CHOOSE, arguments, KERAS_HOME=str(tmp_path)) == UNCHANGED


@pytest.mark.parametrize(
    ("written", "chosen"),
    [
        ('{"backend": "jax"}', UNCHANGED),
        ('{"backend": "tensorflow"}', CHOSEN),
        ('{"floatx": "float32"}', CHOSEN),
        ("{", CHOSEN),  # Keras reads it as it reads none
        ("[]", CHOSEN),
    ],
)
def test_the_configuration_of_keras_is_heeded(tmp_path, written, chosen):
    (tmp_path / "keras.json").write_text(written)
    program = fresh(CHOOSE, json.dumps(["spa-eng", 1, True]), KERAS_HOME=str(tmp_path))
    assert program == chosen


def test_a_backend_that_the_user_names_stays():
    arguments = json.dumps(["spa-eng", 1, True])
    assert fresh(CHOOSE, arguments, KERAS_BACKEND="torch") == ["torch False False"]


@pytest.mark.parametrize(
    ("name", "has_runtime", "has_accelerator", "runtime", "chosen"),
    [
        ("spa-eng", True, False, None, CHOSEN),
        ("spa-eng", True, False, "onnxruntime-int8", CHOSEN),
        ("spa-eng", True, False, "keras", UNCHANGED),
        ("spa-eng", True, True, None, UNCHANGED),
        ("spa-eng", False, False, None, UNCHANGED),
        ("spa-eng-rnn", True, False, None, UNCHANGED),
    ],
)
def test_numpy_is_chosen_for_many_sentences_where_onnx_runtime_translates_them(
    tmp_path, name, has_runtime, has_accelerator, runtime, chosen
):
    many = backend.FEW_SENTENCES + 1
    arguments = json.dumps([name, many, True, has_runtime, has_accelerator, runtime])
    assert fresh(CHOOSE, arguments, KERAS_HOME=str(tmp_path)) == chosen


class Fake:
    """What a command asks of a translator."""

    run_eagerly = runtime = None
    model = None


FEW = ["casa"] * backend.FEW_SENTENCES


@pytest.fixture
def can_compute(monkeypatch):
    """Return a function that says whether ONNX Runtime can compute a model."""
    monkeypatch.setattr(backend, "_has_accelerator", lambda: False)

    def say(answer):
        monkeypatch.setattr(graphs, "can_compute", lambda model: answer)

    return say


def test_few_sentences_are_translated_without_compiling(can_compute):
    can_compute(False)
    for sentences, is_few in ((FEW, True), ([*FEW, "casa"], False)):
        translator = backend.without_compiling(Fake(), sentences)
        assert (translator.runtime, translator.run_eagerly) == ("keras", is_few)


def test_onnx_runtime_translates_several_sentences(can_compute, monkeypatch):
    can_compute(True)
    several = backend.SEVERAL_SENTENCES

    def chosen(count, *runtime):
        return backend.without_compiling(Fake(), ["casa"] * count, *runtime).runtime

    assert chosen(several) == "keras"
    assert chosen(several + 1) == chosen(10_000) == "onnxruntime"
    assert chosen(10_000, "keras") == "keras"
    assert chosen(1, "onnxruntime-int8") == "onnxruntime-int8"
    monkeypatch.setattr(backend, "_has_accelerator", lambda: True)
    assert chosen(several + 1) == "keras"


@pytest.mark.parametrize("name", ["nvidia0", "accel0", "kfd", "vfio/3", "nvidiactl"])
def test_an_accelerator_is_found_by_its_file(tmp_path, monkeypatch, name):
    monkeypatch.setattr(backend, "_DEVICES", tmp_path)
    assert not backend._has_accelerator()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert backend._has_accelerator() == (name != "nvidiactl")


@needs_jax
@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="needs the extra onnxruntime"
)
def test_many_sentences_need_no_tensorflow(tmp_path):
    sentences = [f"{sentence} {number}" for number in range(3) for sentence in SENTENCES]
    program = TRANSLATE.replace('"tensorflow"', '"tensorflow", "onnxruntime"')
    *found, modules = fresh(program, "translate", *sentences, KERAS_HOME=str(tmp_path))
    assert json.loads(modules) == ["keras", "onnxruntime"]
    assert found == [each.text for each in loaded("spa-eng")(sentences)]
