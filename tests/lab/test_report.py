import json

import pytest

from keras_attention.lab import Figure, Report
from keras_attention.lab.report import written

REPORT = Report(
    "copy",
    {"task": "1"},
    3,
    False,
    "jax",
    7.5,
    [
        Figure("right", 0.97, at_least=0.98),
        Figure("bits", 0.02, "bits a sequence", at_most=0.1),
        Figure("free", 5.0),
        Figure("lost", float("nan"), at_most=1.0),
        Figure("between", 4.0, at_least=3, at_most=5),
    ],
    ["tapes.png"],
)


def test_a_figure_knows_whether_it_is_where_it_should_be():
    assert [figure.reached for figure in REPORT.figures] == [False, True, True, False, True]
    assert [figure.bar for figure in REPORT.figures] == ["≥ 0.98", "≤ 0.1", "", "≤ 1", "≥ 3, ≤ 5"]
    assert [figure.name for figure in REPORT.missed] == ["right", "lost"]


def test_a_quick_run_is_held_to_nothing():
    assert REPORT._replace(quick=True).missed == []


def test_a_report_comes_back_from_its_folder(tmp_path):
    report = REPORT._replace(figures=REPORT.figures[:3])
    report.save(tmp_path)
    assert Report.load(tmp_path) == report
    assert json.loads((tmp_path / "results.json").read_text())["experiment"] == "copy"


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"figures": [{"name": "a"}]}'])
def test_a_file_that_is_no_report_is_an_error(tmp_path, content):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(ValueError, match=r"results\.json is not a report of an experiment"):
        Report.load(tmp_path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.98765, "0.988"),
        (2.13e-8, "2.13e-08"),
        (12.3456, "12.35"),
        (30000.0, "30,000"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert written(value) == text
