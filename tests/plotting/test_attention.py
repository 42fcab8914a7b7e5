import os
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_attention.plotting import plot_attention
from keras_attention.plotting.figures import boxes_for

CONTEXT = ["¿", "Todavía", "está", "en", "casa"]
TARGET = ["still", "at", "home"]
WEIGHTS = np.arange(1, 16).reshape(3, 5) / 17


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


def test_self_attention_names_its_sides(ax):
    names = ("context", "$keys_1")
    plot_attention(np.eye(5), CONTEXT, CONTEXT, axis_names=names, ax=ax)
    ax.figure.savefig(os.devnull, format="svg")  # no mathematics
    assert (ax.get_ylabel(), ax.get_xlabel()) == names
    arguments = {"axis_names": names, "orientation": "context_rows", "ax": ax}
    plot_attention(np.eye(5), CONTEXT, CONTEXT, **arguments)
    assert (ax.get_ylabel(), ax.get_xlabel()) == names[::-1]


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


def test_the_note_says_what_an_outlined_cell_is(ax):
    plot_attention(WEIGHTS, CONTEXT, TARGET, links=[(1, 0)], outlined="the flag", ax=ax)
    assert notes(ax) == ["outlined cell: the flag"]


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


@pytest.mark.filterwarnings("ignore:matplotlib .* writes Arabic and Hebrew letter by letter")
def test_unseen_marks_neither_break_a_word_nor_lose_how_its_letters_join(ax):
    context = ["می\u200cخواهم", "über\u00adsetzung", "a\u00a0b\x07c", "\u200d", "\ufeffBOM"]
    plot_attention(WEIGHTS, context, TARGET, ax=ax)
    assert labels(ax.xaxis) == ["می\u200cخواهم", "übersetzung", "a b c", "␣", "BOM"]


def test_a_letter_that_cannot_be_printed_is_named_by_its_number():
    with pytest.warns(UserWarning, match=r"the font has no U\+0080: drawn as □"):
        assert boxes_for(["a\x80"]) == {0x80: "□"}


def test_the_scale_and_the_notes_are_drawn_as_written_too(ax):
    with pytest.warns(UserWarning, match="the font has no 犬 猫: drawn as □") as caught:
        plot_attention(
            WEIGHTS,
            CONTEXT,
            TARGET,
            links=[(0, 0)],
            outlined=r"猫 $\foo$",
            scale=r"犬 $\foo$",
            ax=ax,
        )
    assert len(caught) == 1
    ax.figure.savefig(os.devnull, format="svg")
    assert notes(ax) == [r"outlined cell: □ $\foo$"]
    assert ax.child_axes[0].get_ylabel() == r"□ $\foo$"


def test_letters_that_the_font_lacks_are_boxes_and_one_warning_names_them(tmp_path):
    context = ["猫", "猫犬", "está", "en", "casa"]
    with pytest.warns(UserWarning, match="the font has no 犬 猫: drawn as □") as caught:
        ax = plot_attention(WEIGHTS, context, TARGET, title="猫", path=tmp_path / "cat.png")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert labels(ax.xaxis) == ["□", "□□", "está", "en", "casa"]
    assert ax.get_title() == "□"


@pytest.mark.parametrize(
    ("shape", "orientation"),
    [
        ((5, 37), "target_rows"),
        ((5, 37), "context_rows"),
        *(
            pytest.param(shape, orientation, marks=pytest.mark.thorough)
            for shape in ((3, 3), (41, 43), (1, 1))
            for orientation in ("target_rows", "context_rows")
        ),
    ],
)
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


def test_wide_words_are_slanted_before_they_overlap(tmp_path):
    words = ["WWWWW", "MMMMM", "MMMMM"]
    ax = plot_attention(np.eye(1, 3), words, ["a"], path=tmp_path / "wide.png")
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {60}


def test_the_scale_of_one_row_is_long_enough_to_read(tmp_path):
    ax = plot_attention(np.ones((1, 60)), ["a"] * 60, ["b"], path=tmp_path / "flat.png")
    bar = ax.child_axes[0].get_window_extent()
    assert bar.height / ax.figure.dpi > 0.7


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
        ({"axis_names": "rows"}, r"axis_names must be a pair \(target, context\), got 'rows'"),
        ({"axis_names": ("a", "b", "c")}, r"axis_names must be a pair .* got \('a', 'b', 'c'\)"),
        ({"axis_names": None}, "axis_names must be a pair .* got None"),
        ({"vmax": 0}, "vmax must be a positive number, got 0"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, change, message):
    arguments = {"weights": WEIGHTS, "context_tokens": CONTEXT, "target_tokens": TARGET}
    with pytest.raises(ValueError, match=message):
        plot_attention(**{**arguments, **change}, path=tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:matplotlib .* writes Arabic and Hebrew letter by letter")
def test_a_sentence_that_is_read_from_the_right_has_its_first_word_at_the_right(ax):
    hebrew = ["האם", "אתם", "עדיין", "בבית", "?"]
    plot_attention(WEIGHTS, hebrew, TARGET, ax=ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), WEIGHTS)
    assert labels(ax.xaxis) == hebrew
    first, last = ax.get_xlim()
    assert first > last
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # rows still go down


@pytest.mark.filterwarnings("ignore:matplotlib .* writes Arabic and Hebrew letter by letter")
def test_arabic_in_rows_leaves_the_columns_as_they_are(ax):
    plot_attention(WEIGHTS, CONTEXT, ["في", "البيت", "؟"], ax=ax)
    assert ax.get_xlim()[0] < ax.get_xlim()[1]


def test_a_matplotlib_that_cannot_join_letters_says_so(ax, monkeypatch):
    import matplotlib

    monkeypatch.setattr(matplotlib, "__version_info__", (3, 10, 3))
    monkeypatch.setattr(matplotlib, "__version__", "3.10.3")
    with pytest.warns(UserWarning, match=r"matplotlib 3\.10\.3 writes Arabic and Hebrew letter by"):
        plot_attention(WEIGHTS, CONTEXT, ["في", "البيت", "؟"], ax=ax)
