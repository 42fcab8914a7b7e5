"""`python -m examples.benchmarks`: what it says, what it refuses, what it leaves."""

import json
import math
import sys

import pytest

pytest.importorskip("tensorflow")

from examples.benchmarks.__main__ import main
from examples.benchmarks.gallery import SUBJECTS


def run(monkeypatch, *options):
    """Run the command line; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, options)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code


def test_help_and_list_name_every_subject(monkeypatch, capsys):
    assert not run(monkeypatch, "--help")
    shown = capsys.readouterr().out
    assert all(name in shown for name in SUBJECTS)
    assert not run(monkeypatch, "--list")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(SUBJECTS)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["levitation"], "no subject 'levitation'; there are rnn-training, "),
        (["--rounds", "0"], "--rounds"),
        (["--corpus", "no/such/file.txt"], "no/such/file.txt is no file"),
        (["--rnn", "no/such/folder"], "--rnn: expected the folder of a trained model"),
        (["--out", __file__], "--out: expected a folder"),
    ],
)
def test_a_wrong_option_is_one_line_and_nothing_is_written(monkeypatch, capsys, options, expected):
    assert run(monkeypatch, *options) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("examples.benchmarks: error: ")
    assert expected in line


def test_a_model_of_another_kind_is_one_line(monkeypatch, capsys, tmp_path, tiny_run):
    options = ["memory", "--quick", "--transformer", tiny_run.folder, "--out", tmp_path / "out"]
    assert run(monkeypatch, *options) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    assert "holds a model of another kind, rnn" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_quick_run_leaves_figures_tables_and_a_picture(monkeypatch, capsys, tmp_path, name):
    assert not run(monkeypatch, name, "--quick", "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f"{name}.json", f"{name}.png", "results.md"]
    )
    content = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert content["quick"]
    figures = SUBJECTS[name].figures(content["measured"])
    assert all(math.isfinite(held.figure.value) for held in figures)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    for held in figures:
        assert f"| {held.figure.name} |" in page
    for table in SUBJECTS[name].tables(content["measured"]):
        assert table.title in page
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
