"""The experiments on characters: a text, and the game of recall."""

import json

import numpy as np
import pytest

from keras_attention import lab
from keras_attention.lab import characters
from keras_attention.lab.writer import Writer
from tests.conftest import files

TEXT = "the cat sat on the mat, and the dog lay by the log. " * 20


def not_blank(path):
    from matplotlib.image import imread

    return np.ptp(imread(path)[..., :3]) > 0.5


def perform(name, folder, **options):
    return lab.perform(name, lab.EXPERIMENTS[name], folder, quick=True, verbose=0, **options)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "text.txt").write_text(TEXT)
    return folder / "run", perform("characters", folder / "run", text=str(folder / "text.txt"))


def test_trains_the_three_kinds_on_a_text_and_keeps_them(run):
    folder, report = run
    names = [figure.name for figure in report.figures]
    for label in characters.LABELS.values():
        assert [name for name in names if name.startswith(f"{label}: ")] == [
            f"{label}: weights",
            f"{label}: validation loss",
            f"{label}: seconds of training",
        ]
    assert names[-2:] == ["best: validation loss", "weights, most against fewest"]
    assert all(np.isfinite(figure.value) for figure in report.figures)
    assert not any(figure.bar for figure in report.figures if "loss" in figure.name)
    assert report.pictures == ["curves.png", "looks-back.png"]
    assert all(not_blank(folder / picture) for picture in report.pictures)
    assert set(files(folder)) == {
        "config.json",
        "curves.png",
        "looks-back.png",
        "model.keras",
        "results.json",
        "sample.txt",
        *(
            name
            for kind in characters.LABELS
            for name in (kind, f"{kind}/config.json", f"{kind}/model.keras")
        ),
    }


def test_the_best_model_writes_on(run):
    folder, report = run
    losses = {
        kind: figure.value
        for kind, label in characters.LABELS.items()
        for figure in report.figures
        if figure.name == f"{label}: validation loss"
    }
    best = min(losses, key=losses.get)
    assert json.loads((folder / "config.json").read_text())["kind"] == best
    assert Writer.load(folder)("the ", 19) == Writer.load(folder / best)("the ", 19)
    assert len((folder / "sample.txt").read_text()) > 400


def test_an_lstm_alone_has_nowhere_to_look(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    report = perform("characters", tmp_path / "run", text=tmp_path / "text.txt", model="lstm")
    assert report.pictures == ["curves.png"]
    assert not any("most against fewest" in figure.name for figure in report.figures)


@pytest.mark.parametrize("part", ["model", "training"])
def test_quick_is_smaller(part):
    for quick, full in (
        (characters.QUICK, characters.FULL),
        (characters.RECALL_QUICK, characters.RECALL_FULL),
    ):
        for key, value in quick[part].items():
            assert key == "peak" or value <= full[part][key]


@pytest.mark.parametrize(("vocabulary", "sizes"), [(66, "FULL"), (40, "RECALL_FULL")])
def test_all_kinds_have_equally_many_weights(vocabulary, sizes):
    counts = [
        characters.build_equal(
            vocabulary, kind, **getattr(characters, sizes)["model"]
        ).count_params()
        for kind in characters.LABELS
    ]
    assert max(counts) / min(counts) <= 1.02


def test_bad_input_is_refused_before_any_work(tmp_path):
    short = tmp_path / "short.txt"
    short.write_text("too short")
    with pytest.raises(ValueError, match=r"model must be all or one of lstm, .* got 'gru'"):
        characters.prepare("bundled", "gru", quick=True)
    with pytest.raises(ValueError, match=r"at least 650 characters, .* got 9"):
        characters.prepare(short, "all", quick=False)
    with pytest.raises(FileNotFoundError, match="there is no text file"):
        characters.prepare(tmp_path / "none.txt", "all", quick=False)


@pytest.mark.slow
def test_learns_to_write_like_shakespeare(tmp_path, shared_data):
    text = shared_data / "tinyshakespeare.txt"
    experiment = lab.EXPERIMENTS["characters"]
    report = lab.perform("characters", experiment, tmp_path, verbose=0, text=text)
    assert report.missed == []
