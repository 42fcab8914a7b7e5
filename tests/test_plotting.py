import errno
import os
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_attention.plotting import check_plot_path, plot_attention, plot_by_length, plot_history

mpl.use("Agg")

CONTEXT = ["¿", "Todavía", "está", "en", "casa"]
TARGET = ["still", "at", "home"]
WEIGHTS = np.arange(1, 16).reshape(3, 5) / 17
HISTORY = {
    "loss": [3.0, 2.0, 1.0],
    "val_loss": [3.5, 2.25, 2.5],
    "masked_accuracy": [0.2, 0.5, 0.7],
    "val_masked_accuracy": [0.125, 0.375, 0.5],
    "learning_rate": [0.1, 0.1, 0.1],
}


@pytest.fixture
def ax():
    return Figure(figsize=(5, 4)).subplots()


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def notes(ax):
    return [text.get_text() for text in ax.texts]


def outlined(axis):
    return [i for i, label in enumerate(axis.get_ticklabels()) if label.get_bbox_patch()]


def test_rows_are_target_words_and_columns_context_words(ax):
    assert plot_attention(WEIGHTS, CONTEXT, TARGET, ax=ax) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), WEIGHTS)
    assert (labels(ax.yaxis), labels(ax.xaxis)) == (TARGET, CONTEXT)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("target", "context")
    assert ax.xaxis.get_ticks_position() == "top"


def test_context_rows_draw_the_transpose(ax):
    plot_attention(WEIGHTS, CONTEXT, TARGET, orientation="context_rows", ax=ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), WEIGHTS.T)
    assert (labels(ax.yaxis), labels(ax.xaxis)) == (CONTEXT, TARGET)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("context", "target")


def test_heads_are_averaged(ax):
    heads = np.stack([WEIGHTS, 0 * WEIGHTS])
    plot_attention(heads, CONTEXT, TARGET, ax=ax)
    np.testing.assert_allclose(ax.images[0].get_array(), WEIGHTS / 2)


def test_the_scale_goes_from_0_to_the_largest_weight_or_to_vmax():
    figure = Figure()
    for vmax, weights, expected in (
        (None, WEIGHTS, 15 / 17),
        (1, WEIGHTS, 1.0),
        (None, 0 * WEIGHTS, 1.0),
    ):
        ax = plot_attention(weights, CONTEXT, TARGET, vmax=vmax, ax=figure.add_subplot())
        assert ax.images[0].get_clim() == (0.0, expected)
        assert ax.child_axes[0].get_ylabel() == "attention weight"


@pytest.mark.parametrize("unknown", [[1, 3], [False, True, False, True, False], np.array([3, 1])])
def test_unknown_words_are_outlined_and_a_note_says_why(ax, unknown):
    plot_attention(WEIGHTS, CONTEXT, TARGET, unknown_context=unknown, unknown_target=[0], ax=ax)
    assert outlined(ax.xaxis) == [1, 3]
    assert outlined(ax.yaxis) == [0]
    colors = [label.get_color() for label in ax.get_xticklabels()]
    assert colors[1] == colors[3] != colors[0] == colors[2]
    assert notes(ax) == ["outlined word: not in the vocabulary"]


def test_unknown_words_keep_to_their_sentence_when_transposed(ax):
    plot_attention(WEIGHTS, CONTEXT, TARGET, unknown_context=[4], orientation="context_rows", ax=ax)
    assert (outlined(ax.yaxis), outlined(ax.xaxis)) == ([4], [])


def test_a_picture_without_unknown_words_and_links_has_no_notes(ax):
    plot_attention(WEIGHTS, CONTEXT, TARGET, unknown_context=[False] * 5, links=[], ax=ax)
    assert notes(ax) == []


@pytest.mark.parametrize("orientation", ["target_rows", "context_rows"])
def test_links_outline_the_cells_of_their_words(ax, orientation):
    plot_attention(WEIGHTS, CONTEXT, TARGET, links={(1, 0), (4, 2)}, orientation=orientation, ax=ax)
    centres = {(box.get_x() + box.get_width() / 2, box.get_y() + 0.44) for box in ax.patches}
    # On the canvas x counts columns: the context words, unless transposed.
    expected = {(1, 0), (4, 2)} if orientation == "target_rows" else {(0, 1), (2, 4)}
    assert {(round(x, 6), round(y, 6)) for x, y in centres} == expected
    assert notes(ax) == ["outlined cell: aligned words"]


def test_words_are_drawn_as_written_never_as_mathematics(ax):
    context = ["$x$", "a_b^c", "\\frac{", "100%", "$$"]
    plot_attention(WEIGHTS, context, TARGET, title="$y$ _", unknown_context=[0], ax=ax)
    ax.figure.savefig(os.devnull, format="svg")
    assert labels(ax.xaxis) == context
    assert ax.get_title() == "$y$ _"
    assert not any(label.get_parse_math() for label in [*ax.get_xticklabels(), ax.title])


def test_words_are_one_visible_line_and_not_too_long(ax):
    context = ["a" * 20, "b" * 21, " ", "two\nlines", "e\u0301l"]
    plot_attention(WEIGHTS, context, TARGET, ax=ax)
    assert labels(ax.xaxis) == ["a" * 20, "b" * 19 + "…", "␣", "two lines", "él"]


def test_letters_that_the_font_lacks_are_boxes_and_one_warning_names_them(tmp_path):
    context = ["猫", "猫犬", "está", "en", "casa"]
    with pytest.warns(UserWarning, match="the font has no 犬 猫: drawn as □") as caught:
        ax = plot_attention(WEIGHTS, context, TARGET, title="猫", path=tmp_path / "cat.png")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert labels(ax.xaxis) == ["□", "□□", "está", "en", "casa"]
    assert ax.get_title() == "□"


@pytest.mark.parametrize("shape", [(3, 3), (5, 37), (41, 43), (1, 1)])
@pytest.mark.parametrize("orientation", ["target_rows", "context_rows"])
def test_words_do_not_overlap_nor_leave_the_figure(tmp_path, shape, orientation):
    rows, columns = shape
    ax = plot_attention(
        np.eye(rows, columns),
        [f"pálida{i}" for i in range(columns)],
        [f"word{i}" for i in range(rows)],
        unknown_context=[0],
        links=[(0, 0)],
        title="¿?",
        orientation=orientation,
        path=tmp_path / "words.png",
    )
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    low = [label.get_window_extent(renderer) for label in ax.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(low))
    columns_apart = np.diff(ax.transData.transform([(0, 0), (1, 0)])[:, 0])[0]
    top = ax.get_xticklabels()
    angle = np.radians(top[0].get_rotation())
    needed = top[0].get_fontsize() * ax.figure.dpi / 72
    if angle:
        assert columns_apart * np.sin(angle) >= needed
    else:
        assert all(label.get_window_extent(renderer).width < columns_apart for label in top)
    assert top[0].get_fontsize() >= 8
    # What the axes hold, words and scale included, lies on the canvas.
    box = ax.get_tightbbox(renderer)
    assert min(box.x0, box.y0) >= -2
    assert box.x1 <= ax.figure.bbox.x1 + 2
    assert box.y1 <= ax.figure.bbox.y1 + 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": WEIGHTS.T}, r"weights must have shape \(T, S\) = \(3, 5\), got \(5, 3\)"),
        (
            {"weights": np.ones((2, 5, 3))},
            r"weights must have shape \(H, T, S\) = \(2, 3, 5\), got \(2, 5, 3\)",
        ),
        ({"weights": np.ones((0, 3, 5))}, r"\(1, 3, 5\), got \(0, 3, 5\)"),
        ({"weights": np.ones((1, 2, 3, 5))}, r"got \(1, 2, 3, 5\)"),
        ({"weights": [["a"]]}, "weights must be an array of numbers"),
        ({"weights": np.where(WEIGHTS > 0.5, np.nan, WEIGHTS)}, "weights must be finite"),
        ({"weights": np.where(WEIGHTS > 0.5, np.inf, WEIGHTS)}, "weights must be finite"),
        ({"weights": WEIGHTS - 0.5}, "weights must not be negative, got -0.441"),
        ({"context_tokens": []}, "context_tokens must hold at least one word"),
        ({"target_tokens": []}, "target_tokens must hold at least one word"),
        ({"context_tokens": "casas"}, "context_tokens must be a list of words"),
        ({"unknown_context": [5]}, "unknown_context must be positions from 0 to 4, got 5"),
        ({"unknown_target": [-1]}, "unknown_target must be positions from 0 to 2, got -1"),
        ({"unknown_target": [True] * 5}, r"unknown_target must have shape \(3,\), got \(5,\)"),
        ({"unknown_target": ["home"]}, "unknown_target must be positions or booleans"),
        ({"links": [(3, 4)]}, r"below \(5, 3\), got \(3, 4\)"),
        ({"links": [3]}, r"links must be pairs \(context, target\), got \[3\]"),
        ({"orientation": "rows"}, "orientation must be .* got 'rows'"),
        ({"vmax": 0}, "vmax must be a positive number, got 0"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, change, message):
    arguments = {"weights": WEIGHTS, "context_tokens": CONTEXT, "target_tokens": TARGET}
    with pytest.raises(ValueError, match=message):
        plot_attention(**{**arguments, **change}, path=tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []


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
    assert plt.get_fignums() == before
    ax = plot_attention(WEIGHTS, CONTEXT, TARGET)
    assert plt.gcf() is ax.figure
    panels = plot_history(HISTORY)
    assert plt.gcf() is panels[0].figure
    plt.close(ax.figure)
    plt.close(panels[0].figure)


@pytest.mark.parametrize("name", ["plot", "plot.", "plot.docx", ".png"])
def test_an_extension_that_matplotlib_lacks_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must end in one of .*\.pdf, .*\.png, .*\.svg"):
        plot_attention(WEIGHTS, CONTEXT, TARGET, path=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


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


def test_history_has_a_panel_a_quantity_the_loss_first(tmp_path):
    backwards = dict(reversed(HISTORY.items()))
    panels = plot_history(backwards, title="$5 run_1", path=tmp_path / "history.png")
    assert [panel.get_title("left") for panel in panels] == ["loss", "masked accuracy"]
    for panel, name in zip(panels, ("loss", "masked_accuracy"), strict=True):
        training, validation, mark = panel.lines
        np.testing.assert_array_equal(training.get_xydata(), [*enumerate(HISTORY[name], 1)])
        np.testing.assert_array_equal(
            validation.get_xydata(), [*enumerate(HISTORY[f"val_{name}"], 1)]
        )
        assert (training.get_label(), validation.get_label()) == ("training", "validation")
        assert list(mark.get_xdata()) == [2, 2]
    texts = [[text.get_text() for text in panel.get_legend().get_texts()] for panel in panels]
    assert texts[0][-1] == "best epoch 2: 2.25"
    assert texts[1][-1] == "best epoch 2: 0.375"


def test_history_without_validation_and_of_one_epoch(tmp_path):
    (panel,) = plot_history({"loss": [1.5]}, path=tmp_path / "history.svg")
    assert [line.get_label() for line in panel.lines] == ["training"]
    assert [tick for tick in panel.get_xticks() if tick != round(tick)] == []


def test_history_that_diverged_is_drawn_and_never_best(tmp_path):
    curves = {"loss": [2.0, np.nan, np.inf], "val_loss": [np.nan, 3.0, np.inf]}
    (panel,) = plot_history(curves, path=tmp_path / "history.png")
    assert panel.get_legend().get_texts()[-1].get_text() == "best epoch 2: 3"
    curves["val_loss"] = [np.nan] * 3
    (panel,) = plot_history(curves, path=tmp_path / "history.png")
    assert panel.get_legend().get_texts()[-1].get_text() == "validation"


def test_the_history_object_of_keras_will_do(tmp_path):
    class History:
        history = HISTORY

    assert len(plot_history(History(), path=tmp_path / "history.png")) == 2


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ({}, r"at least one curve and epoch, got \[\]"),
        ({"loss": []}, r"at least one curve and epoch, got \['loss'\]"),
        ({"lr": [0.1]}, "at least one curve"),
        ({"loss": [1, 2, 3], "val_loss": [1, 2]}, r"history\['val_loss'\] .* \(3,\), got \(2,\)"),
        ({"loss": [1, 2], "accuracy": [1]}, r"history\['accuracy'\] .* \(2,\), got \(1,\)"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(history, message):
    with pytest.raises(ValueError, match=message):
        plot_history(history)


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


# A score by length


RANGES, COUNTS = [(3, 5), (6, 6), (7, 13)], [31, 47, 59]
CURVES = {"with attention": [97.0, 89.0, 83.0], "without": [93.0, 71.0, 29.0]}


def test_the_curves_stand_over_the_ranges_with_the_counts_below(tmp_path):
    axes = plot_by_length(RANGES, CURVES, COUNTS, title="$5", path=tmp_path / "lengths.png")
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert drawn == CURVES
    below = axes.figure.axes[1]
    assert [bar.get_height() for bar in below.patches] == COUNTS
    assert [label.get_text() for label in below.get_xticklabels()] == ["3–5", "6", "7–13"]
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    assert len({line.get_marker() for line in axes.get_lines()}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], CURVES, []), "got 0 and 2"),
        ((RANGES, {}, COUNTS), "got 3 and 0"),
        ((RANGES, {"a": [1.0]}, COUNTS), r"a must have one number a range, 3, got \[1.0\]"),
        ((RANGES, CURVES, [1]), r"counts must have one number a range, 3, got \[1\]"),
    ],
)
def test_curves_that_do_not_fit_the_ranges_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_by_length(*arguments)
