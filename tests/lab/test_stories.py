"""The experiment with stories: what it measures, what it refuses, and the real bAbI."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention import lab
from keras_attention.lab.stories import CURVES, shares_on_facts
from tests.lab.conftest import assert_is_drawn

BABI = lab.EXPERIMENTS["babi"]
FIGURES = [
    "accuracy, 3 hops",
    "accuracy, 1 hop",
    "largest weight on a fact, 3 hops",
    *(f"largest weight on a fact, 3 hops, hop {hop}" for hop in (1, 2, 3)),
    "largest weight on a fact, 1 hop",
]


def test_the_surest_hop_says_whether_a_fact_was_found():
    weights = np.zeros((3, 2, 5))
    weights[0, :, :2] = [[0.9, 0.1], [0.4, 0.6]]  # the first hop is surer
    weights[1, :, :2] = [[0.4, 0.6], [0.9, 0.1]]
    weights[2, :, 3:] = [[0.3, 0.7], [0.8, 0.2]]
    facts = np.zeros((3, 5), bool)
    facts[:, 0] = True
    facts[2, 4] = True
    largest, each = shares_on_facts(weights, facts)
    assert largest == pytest.approx(2 / 3)
    np.testing.assert_allclose(each, [2 / 3, 1 / 3])


def test_a_quick_run_of_task_2_measures_both_networks(performed_quickly):
    report = performed_quickly("babi", task=2)
    assert [figure.name for figure in report.figures] == FIGURES
    assert all(0 <= figure.value <= 1 for figure in report.figures)
    assert CURVES in report.pictures
    assert len(report.pictures) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task": 3}, ValueError, "task must be 1 or 2, got 3"),
        ({"hops": 0}, ValueError, "hops must be at least 1, .* got 0"),
        ({"task": 2, "hops": 1}, ValueError, "at least 2 for task 2, .* got 1"),
        ({"data": "nowhere"}, FileNotFoundError, "expected a folder with the stories of bAbI"),
    ],
)
def test_bad_input_is_refused_before_any_work(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        lab.perform("babi", BABI, tmp_path / "out", quick=True, verbose=0, **options)
    assert list(tmp_path.iterdir()) == []


def test_too_few_questions_are_refused(tmp_path):
    for part in ("train", "test"):
        text = "1 Mary moved to the garden.\n2 Where is Mary? \tgarden\t1\n" * 7
        (tmp_path / f"qa1_own_{part}.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="7 questions are too few to train with"):
        lab.perform("babi", BABI, tmp_path / "out", verbose=0, data=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("task", [1, 2])
def test_every_figure_of_the_real_stories_is_where_it_should_be(shared_data, tmp_path, task):
    data = shared_data / "babi" / "en-10k"
    report = lab.perform("babi", BABI, tmp_path, verbose=2, task=task, data=data)
    print(*report.figures, sep="\n")
    assert report.missed == []
    for picture in report.pictures:
        assert_is_drawn(tmp_path / picture)


def test_the_command_says_in_one_line_which_file_it_misses(tmp_path, monkeypatch, capsys):
    from keras_attention import cli

    out = tmp_path / "out"
    command = ["keras-attention", "lab", "babi", "--data", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith("keras-attention: error: expected a file qa1_*_train.txt of bAbI")
    assert errors.count("\n") == 1
