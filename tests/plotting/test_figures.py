import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from keras_attention.plotting import (
    check_plot_path,
    page_style,
    plot_attention,
    plot_attention_grid,
    plot_by_length,
    plot_clip_attention,
    plot_coloured_text,
    plot_curves,
    plot_glimpses,
    plot_history,
    plot_hops,
    plot_patterns,
    plot_positions,
    plot_tapes,
)

mpl.use("Agg")

CONTEXT = ["¿", "Todavía", "está", "en", "casa"]
TARGET = ["still", "at", "home"]
WEIGHTS = np.arange(1, 16).reshape(3, 5) / 17
HISTORY = {"loss": [3.0, 2.0, 1.0], "val_loss": [3.5, 2.25, 2.5]}


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("b.pdf", b"%PDF"), ("c.jpg", b"\xff\xd8")],
)
def test_the_extension_says_how_to_save_and_the_bytes_are_the_same_every_time(
    tmp_path, name, start
):
    path = tmp_path / name
    contents = []
    for _ in range(2):
        plot_attention(WEIGHTS, CONTEXT, TARGET, unknown_context=[1], path=str(path))
        contents.append(path.read_bytes())
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]
    assert list(tmp_path.iterdir()) == [path]


def test_saved_pictures_leave_no_figure_behind_and_shown_ones_are_of_pyplot(tmp_path):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    plot_attention(WEIGHTS, CONTEXT, TARGET, path=tmp_path / "a.png")
    plot_history(HISTORY, path=tmp_path / "b.png")
    plot_attention_grid({"head 1": WEIGHTS}, CONTEXT, TARGET, path=tmp_path / "c.png")
    assert plt.get_fignums() == before
    ax = plot_attention(WEIGHTS, CONTEXT, TARGET)
    assert plt.gcf() is ax.figure
    panels = plot_history(HISTORY)
    assert plt.gcf() is panels[0].figure
    (head,) = plot_attention_grid({"head 1": WEIGHTS}, CONTEXT, TARGET)
    assert plt.gcf() is head.figure
    for axes in (ax, panels[0], head):
        plt.close(axes.figure)


def glimpses():
    rng = np.random.default_rng(0)
    return (
        rng.uniform(size=(2, 13, 17)),
        rng.uniform(-1, 1, (2, 3, 2)),
        rng.uniform(size=(2, 3, 1, 5, 5)),
    )


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_by_length([(3, 5), (6, 9)], {"with": [97.0, 89.0]}, [31, 47]),
        lambda: plot_curves({"with": ([1, 2], [8.0, 2.0])}, xlabel="steps", ylabel="bits"),
        lambda: plot_hops(
            ["Mary left.", "So."], np.full((1, 2), 0.5), question="Who?", answer="Mary"
        ),
        lambda: plot_hops(
            ["Mary left.", "So."], np.full((1, 2), 0.5), question="Who?", answer="Mary", facts=(0,)
        ),
        lambda: plot_glimpses(*glimpses(), ["3", "5"])[0, 0],
    ],
    ids=["lengths", "curves", "hops", "facts", "glimpses"],
)
def test_a_picture_without_a_path_is_shown_by_pyplot(draw):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    axes = draw()
    assert plt.gcf() is axes.figure
    plt.close(axes.figure)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("name", ["plot", "plot.", "plot.docx", ".png"])
def test_an_extension_that_matplotlib_lacks_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must end in one of .*\.pdf, .*\.png, .*\.svg"):
        plot_attention(WEIGHTS, CONTEXT, TARGET, path=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_for_tex_without_tex_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda program: None)
    with pytest.raises(ValueError, match=r"ends in \.pgf, which needs xelatex of TeX; .*a\.pgf"):
        check_plot_path(tmp_path / "a.pgf")
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    check_plot_path(tmp_path / "a.pgf")


def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    for name, error in (
        ("missing/a.png", FileNotFoundError),
        ("file/a.png", NotADirectoryError),
        ("folder.png", IsADirectoryError),
    ):
        with pytest.raises(error, match=name):
            check_plot_path(tmp_path / name)
    assert check_plot_path(str(tmp_path / "a.png")) == tmp_path / "a.png"
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(PermissionError, match=r"a\.png"):
        plot_history(HISTORY, path=tmp_path / "a.png")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_disk_that_fills_up_leaves_the_old_picture_whole(tmp_path, monkeypatch):
    path = tmp_path / "old.png"
    path.write_bytes(b"old")

    def fill_up(self, data):
        with open(self, "wb") as file:
            file.write(data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fill_up)
    with pytest.raises(OSError, match="No space left on device"):
        plot_attention(WEIGHTS, CONTEXT, TARGET, path=path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


@pytest.mark.thorough
def test_the_room_adds_no_matplotlib_to_what_keras_imports():
    code = """
import sys
import keras
before = set(sys.modules)
from keras_attention import plotting
print(sum(name.startswith("matplotlib") for name in set(sys.modules) - before))
"""
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["0"], run.stderr


def test_drawing_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(23):  # more figures than pyplot keeps without a warning
            plot_attention(WEIGHTS, CONTEXT, TARGET, path=tmp_path / f"{i}.svg")
    assert len(list(tmp_path.iterdir())) == 23


def test_a_dark_page_has_pale_letters(tmp_path):
    with page_style(dark=True):
        dark = plot_attention(np.eye(2), ["a", "b"], ["c", "d"], path=tmp_path / "d.png")
        text = plot_coloured_text(np.eye(2), ["a", "b"], ["c", "d"], path=tmp_path / "t.png")
    pale = plot_attention(np.eye(2), ["a", "b"], ["c", "d"], path=tmp_path / "p.png")
    for ax, expected in ((dark, 0.0), (text, 0.0), (pale, 1.0)):
        assert ax.figure.get_facecolor()[:3] == (expected,) * 3
    for ax, is_pale in ((dark, True), (pale, False)):
        for letters in (ax.yaxis.get_ticklabels()[0], ax.yaxis.label):
            assert (sum(to_rgb(letters.get_color())) > 1.5) is is_pale
    assert to_rgb(text.texts[-3].get_color()) == (1.0, 1.0, 1.0)  # the target word


def test_a_dark_page_has_faint_lines_and_texts_that_can_be_read(tmp_path):
    path = tmp_path / "a.png"
    with page_style(dark=True):
        curves = plot_curves({"a": ([1, 2], [3, 4])}, xlabel="x", ylabel="y", path=path)
        history = plot_history(HISTORY, path=path)[0]
        lengths = plot_by_length([(1, 2)], {"a": [1.0]}, [3], path=path)
        clip = plot_clip_attention([[1.0]], ["a"], np.ones((1, 2, 2)), path=path)
    for axes in (curves, history, lengths):
        assert sum(to_rgb(axes.get_ygridlines()[0].get_color())) < 1
    (count,) = lengths.figure.axes[1].texts
    for text in (count, clip.xaxis.label):
        assert sum(to_rgb(text.get_color())) > 1.5


@pytest.mark.parametrize(
    "draw",
    [
        lambda path: plot_attention(WEIGHTS, CONTEXT, TARGET, path=path),
        lambda path: plot_clip_attention([[1.0]], ["a"], np.ones((1, 2, 2)), path=path),
        lambda path: plot_glimpses(*glimpses(), path=path)[0, 0],
        lambda path: plot_patterns({"a": np.ones((1, 4))}, shape=(2, 2), path=path)[0, 0],
        lambda path: plot_positions(np.eye(3), path=path)[0],
        lambda path: plot_tapes(*[np.ones((2, 3))] * 4, path=path)[0, 0],
    ],
    ids=["attention", "clips", "glimpses", "patterns", "positions", "tapes"],
)
def test_cells_are_sharp_and_upright_in_every_style(tmp_path, draw):
    with mpl.rc_context({"image.origin": "lower", "image.interpolation": "bilinear"}):
        figure = draw(tmp_path / "a.png").figure
    images = [image for axes in figure.axes for image in axes.images]
    assert {(image.origin, image.get_interpolation()) for image in images} == {
        ("upper", "antialiased")
    }
