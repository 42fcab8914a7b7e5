"""Exporting from the command line: what is refused, and that nothing is half-written."""

import re
import sys

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

from keras_attention import cli
from keras_attention.export import FORMATS, export, formats
from keras_attention.installing import pip_install
from tests.conftest import files


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return a function that runs `keras-attention export` in a folder: (status, err)."""
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["keras-attention", "export", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            cli.main()
        except SystemExit as exit_:
            status = exit_.code or 0
        return status, capsys.readouterr().err

    return call


@pytest.fixture
def standing(tmp_path):
    """Write what is already there into the working folder, and return what is in it."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "saved_model.pb").write_text("")
    return files(tmp_path)


SAVED = ("--format", "saved-model", "--out")
WRONG = [
    (("--format", "horse", "--out", "new"), "format must be one of saved-model, onnx, .* 'horse'"),
    ((*SAVED, "new", "--beam", "0"), "beam must be at least 1, got 0"),
    ((*SAVED, "new", "--max-length", "0"), "max_length must be at least 1, got 0"),
    ((*SAVED, "file"), "file is a file, expected a folder"),
    ((*SAVED, "file/new"), "file is a file"),
    ((*SAVED, "before"), "before exists already: .* --force"),
    ((*SAVED, "mine", "--force"), "mine must be empty or an earlier export"),
    (("--format", "ctranslate2", "--out", "new", "--beam", "2"), "ctranslate2 has no beam: .* 2"),
    (("--format", "onnx", "--out", "new", "--length-penalty", "1"), "onnx has no length_penalty"),
    (("--out", "new"), "Missing option '--format'"),
    (("--format", "saved-model"), "Missing option '--out'"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_input_is_one_line_and_writes_nothing(
    run, standing, tiny_run, tmp_path, arguments, message
):
    status, errors = run(tiny_run.folder, *arguments)
    assert status == 2
    assert errors.count("\n") == 1, errors
    assert re.search(message, errors), errors
    assert files(tmp_path) == standing


def test_a_run_that_is_not_there_is_one_line(run, tmp_path):
    status, errors = run("none", *SAVED, "new")
    assert status == 2
    assert re.fullmatch(r"keras-attention: error: there is no model folder none; .*\n", errors)
    assert files(tmp_path) == []


@pytest.mark.parametrize("kind", ["onnx", "ctranslate2"])
def test_a_missing_library_is_one_line_with_its_extra(run, monkeypatch, tmp_path, kind):
    monkeypatch.setattr(formats, "missing", list)
    status, errors = run("none", "--format", kind, "--out", "new")
    assert status == 2
    assert re.fullmatch(rf".* {kind} needs [^:]*: {re.escape(pip_install(kind))}\n", errors)
    assert files(tmp_path) == []


def test_the_command_writes_a_folder_and_replaces_it_when_told_to(run, tiny_run, tmp_path):
    import tensorflow as tf

    assert run(tiny_run.folder, *SAVED, "new/casa", "--max-length", "5")[0] == 0
    assert run(tiny_run.folder, *SAVED, "new/casa")[0] == 2
    sentence = tiny_run.validation[0].context
    for length, more in ((5, ()), (3, ("--max-length", 3, "--force"))):
        if more:
            assert run(tiny_run.folder, *SAVED, "new/casa", *more)[0] == 0
        translate = tf.saved_model.load("new/casa").signatures["serving_default"]
        expected = tiny_run.translator(sentence, max_length=length, attention=False).text
        assert translate(tf.constant([sentence]))["text"].numpy()[0].decode() == expected
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["casa"]


@pytest.mark.parametrize("stands", [False, True])
def test_what_fails_leaves_what_was_there(translators, tmp_path, monkeypatch, stands):
    import tensorflow as tf

    def fail(module, folder, **options):
        from pathlib import Path

        Path(folder).mkdir()
        (Path(folder) / "half").write_text("")
        raise OSError("disk full")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    if stands:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / FORMATS["saved-model"].mark).write_text("before")
    before = files(tmp_path)
    with pytest.raises(OSError, match="disk full"):
        export(translators("rnn"), "saved-model", tmp_path / "new", force=True, max_length=3)
    assert files(tmp_path) == before
