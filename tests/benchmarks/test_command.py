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
        (["--rnn", "no/such/folder"], "--rnn: there is no model folder no/such/folder"),
        (["--rnn", "tests"], "--rnn: expected the folder of a trained model, got tests"),
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


def pretend(monkeypatch, measure):
    """Let the only subject be one that is quickly measured; nothing is prepared for it."""
    from examples.benchmarks import gallery, prepared, subject

    pretended = subject.Subject(
        "What is pretended.",
        measure,
        lambda raw: [subject.held("height", raw["heights"], "m", at_least=(1, None))],
        lambda raw: [
            subject.Table("Heights", ("height",), [(str(each),) for each in raw["heights"]])
        ],
        lambda raw, figure: figure.subplots().plot(raw["heights"]),
    )
    monkeypatch.setattr(gallery, "SUBJECTS", {"high": pretended, "low": pretended})
    monkeypatch.setattr(prepared, "prepare", lambda *arguments, **options: "a device")


def test_a_process_that_fails_is_one_line_and_leaves_nothing_half_written(
    monkeypatch, capsys, tmp_path
):
    from examples.benchmarks import workers

    def fails(options, progress):
        with workers.started({"climber": ("prepared", "Options", {})}) as started:
            workers.take_turns(started, [workers.Job("up", "pool", ("rnn",))], 1, progress)

    pretend(monkeypatch, fails)
    assert run(monkeypatch, "high", "--out", tmp_path) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    # Without a terminal there is no bar, but a line for what is done
    *done, line = [line for line in said.err.splitlines() if line.strip()]
    assert [each.split(" s: ")[1] for each in done] == [
        "preparation: sentences, and models to decode with",
        "high: up: climber",
    ]
    assert line.startswith(
        "examples.benchmarks: error: climber failed at pool(rnn): FileNotFoundErr"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["traceback.txt"]
    assert (tmp_path / "traceback.txt").read_text("utf-8").startswith("Traceback")

    pretend(monkeypatch, lambda options, progress: {"heights": [1.0, 3.0]})
    assert not run(monkeypatch, "high", "--out", tmp_path)  # and the next run takes it away
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["high.json", "high.png", "results.md"]
    assert "It took: high 0.0 minutes" in capsys.readouterr().out
    assert "- `high` took 0.0 minutes" in (tmp_path / "results.md").read_text("utf-8")


@pytest.mark.parametrize("left", ['{"quick": false, "measured": {"depths": [3]}}', "no JSON"])
def test_what_another_version_left_is_named_before_anything_is_measured(
    monkeypatch, capsys, tmp_path, left
):
    said_before = []

    def measure(options, progress):
        said_before.append(capsys.readouterr().out)
        return {"heights": [2.0]}

    pretend(monkeypatch, measure)
    (tmp_path / "low.json").write_text(left, encoding="utf-8")
    assert not run(monkeypatch, "high", "--out", tmp_path)
    assert "low.json is left out of the page" in said_before[0]
    page = (tmp_path / "results.md").read_text("utf-8")
    assert "## `high`" in page
    assert "## `low`" not in page
    assert "measure low again" in page
    assert (tmp_path / "low.json").read_text("utf-8") == left

    assert not run(monkeypatch, "low", "--out", tmp_path)  # what is measured anew is no matter
    assert "left out" not in said_before[1]
    assert "## `low`" in (tmp_path / "results.md").read_text("utf-8")


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
