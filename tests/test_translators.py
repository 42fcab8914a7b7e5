"""`make translators`: a small run writes translators that load, with their cards."""

import json

import pytest

pytest.importorskip("tensorflow")

from examples import translators
from keras_attention import Translator
from keras_attention.menu import TRANSLATORS

pytestmark = pytest.mark.thorough


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["translators", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        translators.main()
    return stop.value.code


def test_translators_are_trained_scored_and_written(tiny_run, tmp_path, monkeypatch):
    sources = ("--corpus", tiny_run.corpus, "--validation", tiny_run.validation_corpus)
    folders = ("--runs", tmp_path / "runs", "--out", tmp_path / "out")
    assert not run(monkeypatch, *sources, *folders, "--quick")
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(TRANSLATORS)
    for name in TRANSLATORS:
        translator = Translator.load(tmp_path / "out" / name)
        card = json.loads((tmp_path / "out" / name / "config.json").read_text())
        assert "CC BY 2.0 FR" in card["licence"]
        assert set(card["scores"]) == {"greedy", "beam 4"}
        assert card["builder"]["name"] == card["settings"]["model"]
        assert card["corpus"]["train_pairs"] == len(tiny_run.train)
        translation = translator(tiny_run.train[0].context, max_length=5)
        assert translation.languages == ("Spanish", "English")


def test_a_translator_that_is_none_is_one_line(monkeypatch, capsys):
    assert run(monkeypatch, "fra-eng") == 2
    assert capsys.readouterr().err == (
        "examples.translators: error: a translator is one of spa-eng, spa-eng-rnn, got fra-eng\n"
    )
