"""The graphs give the numbers of the model, and its greedy translations, in ONNX Runtime."""

import json

import numpy as np
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tf2onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")

import onnxruntime
from keras import ops

from keras_attention import models
from keras_attention.export import export
from keras_attention.text import KINDS
from tests.conftest import files

MODELS = ("rnn", "bilstm", "transformer")
LENGTH = 9


@pytest.fixture(scope="module")
def exported(translators, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx")

    def write(name):
        if not (folder / name).exists():
            export(translators(name), "onnx", folder / name, max_length=LENGTH)
        return folder / name

    return write


class Graphs:
    """The two graphs as a program has them that knows their folder only."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.encode_graph, self.step_graph = (
            onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("encode", "step")
        )
        self.vocabularies = {
            side: KINDS[self.config["tokens"]].load(folder / name)
            for side, name in self.config["vocabularies"].items()
        }

    def encode(self, ids):
        outputs = self.encode_graph.run(self.config["encode"]["outputs"], {"context": ids})
        return dict(zip(self.config["encode"]["outputs"], outputs, strict=True))

    def step(self, tokens, given):
        feed = {"tokens": tokens, **given}
        feed = {name: feed[name] for name in self.config["step"]["inputs"]}
        names = self.config["step"]["outputs"]
        outputs = dict(zip(names, self.step_graph.run(names, feed), strict=True))
        after = {name: outputs[new] for name, new in self.config["step"]["state"].items()}
        return outputs, {**given, **after}

    def translate(self, sentences):
        ids = self.vocabularies["context"].ids(sentences)
        given = self.encode(ids)
        tokens = [np.full((len(ids), 1), self.config["ids"]["start"], "int32")]
        for _ in range(self.config["max_length"]):
            outputs, given = self.step(tokens[-1], given)
            logits = outputs["logits"]
            logits[..., [self.config["ids"]["padding"], self.config["ids"]["start"]]] = -np.inf
            tokens.append(logits.argmax(-1).astype("int32"))
        target = self.vocabularies["target"]
        rows = np.concatenate(tokens[1:], axis=1)
        return [target.join(target.words_of(row)) for row in rows]


@pytest.mark.parametrize("name", MODELS)
def test_the_graphs_translate_as_the_translator_does(name, exported, translations, with_words):
    expected = translations(name, max_length=LENGTH)
    got = Graphs(exported(name)).translate(with_words)
    assert got == [each.text for each in expected]
    assert len(set(got)) > 4


@pytest.mark.parametrize("name", MODELS)
def test_step_after_step_gives_the_logits_and_weights_of_the_model(
    name, exported, translators, with_words
):
    translator = translators(name)
    graphs = Graphs(exported(name))
    ids = translator.context_vocabulary.ids(with_words[:17])
    random = np.random.default_rng(2)
    target = random.integers(4, len(translator.target_vocabulary), (17, 7)).astype("int32")
    expected = models.attention(translator.model)({"context": ids, "target": target})
    logits = ops.convert_to_numpy(translator.model({"context": ids, "target": target}))
    given = graphs.encode(ids)
    for place in range(7):
        outputs, given = graphs.step(target[:, place : place + 1], given)
        np.testing.assert_allclose(outputs["logits"][:, 0], logits[:, place], atol=1e-4)
        for number, each in enumerate(expected["cross_attention"], start=1):
            found = outputs[f"cross_attention_{number}"][..., 0, :]
            weights = ops.convert_to_numpy(each)[..., place, :]
            np.testing.assert_allclose(found, weights, atol=1e-4)


@pytest.mark.parametrize("name", ["rnn", "transformer"])
def test_several_tokens_at_once_are_the_same_as_one_after_the_other(name, exported, with_words):
    graphs = Graphs(exported(name))
    given = graphs.encode(graphs.vocabularies["context"].ids(with_words[:5]))
    tokens = np.random.default_rng(3).integers(4, 50, (5, 6)).astype("int32")
    at_once, after = graphs.step(tokens, given)
    for place in range(6):
        outputs, given = graphs.step(tokens[:, place : place + 1], given)
        np.testing.assert_allclose(outputs["logits"][:, 0], at_once["logits"][:, place], atol=1e-4)
    for each in after:
        np.testing.assert_allclose(given[each], after[each], atol=1e-4)


def test_the_folder_has_all_that_a_program_needs(exported):
    names = ["config.json", "context_vocabulary.txt", "encode.onnx", "step.onnx"]
    assert files(exported("rnn")) == [*names, "target_vocabulary.txt"]


def test_a_model_in_bfloat16_is_refused(tmp_path, vocabularies):
    from keras_attention.models import build_rnn_attention
    from keras_attention.translation.translator import Translator

    model = build_rnn_attention(*map(len, vocabularies.word), units=4, dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match="compute in float32, got bfloat16 for memory_values"):
        export(Translator(model, *vocabularies.word), "onnx", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
