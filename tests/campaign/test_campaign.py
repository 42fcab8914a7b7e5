"""The campaign itself: it counts what fails, and the page shows what it counted."""

import json
import re
import time

import pytest

from tests.browser import in_a_browser
from tests.campaign import page
from tests.campaign.outcome import Outcome

pytestmark = pytest.mark.extra("campaign")


def tried(check, errors=(ValueError,)):
    """Return what came out of fifty numbers."""
    strategies = pytest.importorskip("hypothesis.strategies")
    from tests.campaign import inputs

    outcome = Outcome("inputs", "a number")
    target = inputs.Target("a number", 1.0, strategies.integers(0, 9), check, errors)
    inputs.try_target(target, 50, 0, outcome)
    return outcome


def refuse(number):
    if number > 2:
        raise ValueError(f"at most 2, got {number}")


def test_what_is_right_and_what_is_documented_is_no_failure():
    outcome = tried(refuse)
    assert (outcome.cases > 5, outcome.failures) == (True, {})


def test_a_wrong_result_and_another_error_are_failures():
    def wrong(number):
        assert number < 3

    for check, errors, kind in (
        (wrong, (ValueError,), "AssertionError"),
        (refuse, (OSError,), "ValueError"),
    ):
        failures = tried(check, errors).failures
        assert failures
        assert all(failure.startswith(kind) for failure in failures)


def test_what_does_not_end_is_a_failure(monkeypatch):
    pytest.importorskip("hypothesis")
    from tests.campaign import inputs

    monkeypatch.setattr(inputs, "HANGS", 0.2)
    failures = tried(lambda number: time.sleep(1 if number == 3 else 0)).failures
    assert {failure.split(" ")[0] for failure in failures} == {"HungError"}


def test_a_changed_curve_and_a_stray_file_are_noticed(tiny_run, tmp_path):
    import shutil

    from tests.campaign import kills

    expected, folder = tiny_run.folder, tmp_path / "run"
    shutil.copytree(expected, folder)
    assert kills.differences(folder, expected) == []
    history = json.loads((folder / "history.json").read_text())
    history["loss"][0] += 1
    (folder / "history.json").write_text(json.dumps(history))
    assert kills.differences(folder, expected)[0].startswith("history")
    (folder / "stray").touch()
    assert kills.differences(folder, expected)[0].startswith("files")


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        (lambda y: y, None),
        (lambda y: y + 1e-3, "float32, usual, eager: AssertionError: y is off by"),
        (lambda y: y / (y * 0), "y has what is not a number"),
        (lambda y: y[:1], r"y: shapes \(1, 3\) and \(2, 3\)"),
    ],
)
def test_numbers_that_are_wrong_are_failures(change, failure):
    import keras
    import numpy as np

    from tests.campaign.numbers import __main__ as numbers
    from tests.campaign.numbers.subjects import Subject

    def is_exact(layer):
        return layer.compute_dtype == "float64"

    subject = Subject(
        make=lambda dtype: keras.layers.Dense(3, dtype=dtype),
        inputs=lambda condition, draw: {"x": draw.normal(size=(2, 5)).astype("float32")},
        call=lambda layer, tensors: {
            "y": layer(tensors["x"]) if is_exact(layer) else change(layer(tensors["x"]))
        },
    )
    found = numbers.Found("a layer")
    expected = numbers._exact(subject, 0)
    with np.errstate(all="ignore"):
        numbers._compute(subject, "float32", expected, found, 0)
    assert found.cases > 10
    assert bool(found.failures) == bool(failure)
    assert not failure or re.search(failure, found.failures[0])


def test_the_page_has_the_table_of_the_results():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text
    assert text.count("| kills |") + text.count("| inputs |") > 10


@pytest.fixture(scope="module")
def watched():
    """Start a browser that notices what a sentence does."""
    from tests import browser
    from tests.campaign import pages

    with browser.started((900, 700)) as driver:
        pages.prepare(driver)
        yield driver


def open_trusting(driver, folder, sentence):
    """Open a page that shows a sentence without escaping it."""
    from tests.campaign import pages

    def write(folder, source, text, words):
        path = folder / "page.html"
        path.write_text(f"<!doctype html>{source}", encoding="utf-8")
        return path

    pages.check(driver, write, folder, (sentence, "", []))


@pytest.mark.parametrize(
    ("sentence", "failure"),
    [
        pytest.param("<script>alert(1)</script>", "the console", marks=in_a_browser),
        pytest.param("<img src=x onerror=alert(1)>", "requests", marks=in_a_browser),
        pytest.param("<img src=https://example.com/x>", "requests", marks=in_a_browser),
    ],
)
def test_what_a_sentence_does_on_a_page_is_noticed(watched, tmp_path, sentence, failure):
    open_trusting(watched, tmp_path, "Los niños comen.")
    with pytest.raises(AssertionError, match=failure):
        open_trusting(watched, tmp_path, sentence)
