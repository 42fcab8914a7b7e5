import json

import pytest

pytest.importorskip("tensorflow")

from dataclasses import replace

from keras_attention import runs
from keras_attention.corpora import Split
from keras_attention.runs import comparison
from tests.conftest import RUN_FILES, files

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def compared(tiny_run, tmp_path_factory):
    """Compare tiny models; the result, its folder, and what made it."""
    folder = tmp_path_factory.mktemp("comparison")
    parts = Split(tiny_run.train, tiny_run.validation, tiny_run.train)
    settings = replace(tiny_run.settings, units=16, epochs=1, steps=5)
    return comparison.compare(parts, folder, settings, verbose=0), folder, parts, settings


def test_every_contender_leaves_a_run_of_its_own_and_all_are_scored(compared):
    result, folder, parts, _ = compared
    for name, choices in comparison.CONTENDERS.items():
        assert files(folder / name) == RUN_FILES
        settings = runs.read_settings(folder / name)
        assert {key: settings[key] for key in choices} == choices
        assert 0 <= result.overall[name] <= 100
        assert all(0 <= score <= 100 for score in result.by_length[name])
        assert result.seconds[name] > 0
    assert sum(result.counts) == len(parts.test)
    assert len(result.ranges) == len(result.counts)
    assert (folder / "bleu-by-length.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((folder / "comparison.json").read_text())
    assert kept["overall"] == result.overall
    assert [tuple(each) for each in kept["ranges"]] == result.ranges


def test_finished_runs_are_used_again(compared):
    result, folder, parts, settings = compared
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("model.keras")}
    again = comparison.compare(parts, folder, settings, verbose=0)
    assert set(again.seconds.values()) == {None}
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert again.overall == pytest.approx(result.overall, abs=1e-6)


def test_runs_of_another_comparison_are_not_mixed_in(compared):
    _, folder, parts, settings = compared
    with pytest.raises(ValueError, match="other settings: expected units 16, got 8"):
        comparison.compare(parts, folder, replace(settings, units=8), verbose=0)
    with pytest.raises(ValueError, match="other settings: expected epochs 1, got 3"):
        comparison.compare(parts, folder, replace(settings, epochs=3), verbose=0)
    with pytest.raises(ValueError, match="trained on other sentence pairs"):
        comparison.compare(parts._replace(train=parts.test[:50]), folder, settings, verbose=0)


def test_without_a_pair_to_score_nothing_is_trained(compared, tmp_path):
    _, _, parts, settings = compared
    with pytest.raises(ValueError, match=r"^test must hold at least one pair, got none"):
        comparison.compare(parts._replace(test=[]), tmp_path / "new", settings, verbose=0)
    assert not (tmp_path / "new").exists()
