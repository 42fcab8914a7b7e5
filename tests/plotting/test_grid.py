from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from keras_attention.plotting import plot_attention_grid

mpl.use("Agg")

CONTEXT = ["¿", "Todavía", "está", "en", "casa"]
TARGET = ["still", "at", "home"]
HEADS = {f"head {i + 1}": np.arange(1, 16).reshape(3, 5) / (17 + i) for i in range(7)}


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def outlined(axis):
    return [i for i, label in enumerate(axis.get_ticklabels()) if label.get_bbox_patch()]


def drawn(axes):
    """Draw the figure on a canvas; return its renderer."""
    canvas = FigureCanvasAgg(axes[0].figure)
    canvas.draw()
    return canvas.get_renderer()


def slots(axes):
    """Return for each panel its (row, column) in the figure, by its place on the canvas."""
    corners = [ax.get_position() for ax in axes]
    rows = sorted({-round(box.y1, 6) for box in corners})
    columns = sorted({round(box.x0, 6) for box in corners})
    return [(rows.index(-round(b.y1, 6)), columns.index(round(b.x0, 6))) for b in corners]


def test_every_panel_is_drawn_as_passed_with_its_name(tmp_path):
    axes = plot_attention_grid(HEADS, CONTEXT, TARGET, path=tmp_path / "heads.png")
    assert isinstance(axes, list)
    assert [ax.get_title() for ax in axes] == list(HEADS)
    for ax, weights in zip(axes, HEADS.values(), strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), weights)
    assert (tmp_path / "heads.png").read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [tmp_path / "heads.png"]


def test_words_stand_once_a_row_of_panels_and_once_a_column(tmp_path):
    path = tmp_path / "heads.png"
    axes = plot_attention_grid(HEADS, CONTEXT, TARGET, columns=3, path=path)
    assert slots(axes) == [divmod(i, 3) for i in range(7)]
    for ax, (row, column) in zip(axes, slots(axes), strict=True):
        assert labels(ax.yaxis) == (TARGET if column == 0 else [])
        assert ax.get_ylabel() == ("target" if column == 0 else "")
        assert labels(ax.xaxis) == (CONTEXT if row == 0 else [])
        assert ax.get_xlabel() == ("context" if row == 0 else "")


def test_links_are_outlined_in_every_panel(tmp_path):
    for orientation, corner in (("target_rows", (3, 1)), ("context_rows", (1, 3))):
        axes = plot_attention_grid(
            HEADS, CONTEXT, TARGET, links=[(3, 1)], scale="of mine", orientation=orientation,
            path=tmp_path / "heads.png",
        )  # fmt: skip
        for ax in axes:
            (outline,) = ax.patches
            np.testing.assert_allclose(outline.get_center(), corner)
        assert axes[0].figure.axes[-1].get_ylabel() == "of mine"
    with pytest.raises(ValueError, match=r"links must be pairs .* below \(5, 3\)"):
        plot_attention_grid(HEADS, CONTEXT, TARGET, links=[(5, 0)], path=tmp_path / "heads.png")


def test_context_rows_draw_the_transpose(tmp_path):
    arguments = {"orientation": "context_rows", "unknown_context": [4], "columns": 1}
    axes = plot_attention_grid(HEADS, CONTEXT, TARGET, **arguments, path=tmp_path / "heads.png")
    np.testing.assert_array_equal(axes[2].images[0].get_array(), HEADS["head 3"].T)
    assert (labels(axes[0].yaxis), labels(axes[0].xaxis)) == (CONTEXT, TARGET)
    assert (axes[0].get_ylabel(), axes[0].get_xlabel()) == ("context", "target")
    assert (outlined(axes[0].yaxis), outlined(axes[0].xaxis)) == ([4], [])


def test_self_attention_has_the_context_on_both_sides(tmp_path):
    arguments = {"axis_names": ("context", "context"), "path": tmp_path / "layer.png"}
    (ax,) = plot_attention_grid({"layer 1": np.eye(5)}, CONTEXT, CONTEXT, **arguments)
    assert labels(ax.yaxis) == labels(ax.xaxis) == CONTEXT
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("context", "context")


def test_heads_of_a_panel_are_averaged(tmp_path):
    layer = np.stack([HEADS["head 1"], 0 * HEADS["head 1"]])
    (ax,) = plot_attention_grid({"layer 1": layer}, CONTEXT, TARGET, path=tmp_path / "layer.png")
    np.testing.assert_allclose(ax.images[0].get_array(), HEADS["head 1"] / 2)


@pytest.mark.parametrize(("vmax", "largest"), [(None, 15 / 17), (1, 1.0)])
def test_all_panels_share_one_scale_and_one_bar(tmp_path, vmax, largest):
    backwards = dict(reversed(HEADS.items()))
    axes = plot_attention_grid(backwards, CONTEXT, TARGET, vmax=vmax, path=tmp_path / "heads.png")
    assert {ax.images[0].get_clim() for ax in axes} == {(0.0, largest)}
    (bar,) = [ax for ax in axes[0].figure.axes if ax not in axes]
    assert bar.get_ylabel() == "attention weight"
    assert bar.get_ylim() == (0.0, largest)
    assert bar.get_position().y1 == pytest.approx(axes[0].get_position().y1)
    assert bar.get_position().y0 == pytest.approx(axes[-1].get_position().y0)


def test_unknown_words_are_outlined_and_one_note_says_why(tmp_path):
    unknown = {"unknown_context": [1, 3], "unknown_target": [True, False, False], "columns": 2}
    axes = plot_attention_grid(HEADS, CONTEXT, TARGET, **unknown, path=tmp_path / "heads.png")
    assert outlined(axes[0].xaxis) == outlined(axes[1].xaxis) == [1, 3]
    assert outlined(axes[0].yaxis) == outlined(axes[2].yaxis) == [0]
    notes = [[text.get_text() for text in ax.texts] for ax in axes]
    assert notes == [[]] * 6 + [["outlined word: not in the vocabulary"]]
    axes = plot_attention_grid(HEADS, CONTEXT, TARGET, path=tmp_path / "heads.png")
    assert not any(ax.texts for ax in axes)


@pytest.mark.parametrize(
    ("number", "shape", "expected"),
    [
        (1, (7, 9), (1, 1)),
        (6, (7, 9), (2, 3)),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in (
                (2, (7, 9), (1, 2)),
                (4, (7, 9), (2, 2)),
                (8, (7, 9), (2, 4)),
                (16, (7, 9), (4, 4)),
                (4, (20, 24), (2, 2)),
            )
        ),
        (4, (3, 23), (4, 1)),  # wide panels stand below each other, narrow ones side by side
        (4, (23, 3), (1, 4)),
    ],
)
def test_the_shape_of_the_grid_suits_that_of_the_panels(tmp_path, number, shape, expected):
    rows, columns = shape
    panels = {i: np.ones(shape) / columns for i in range(number)}
    path = tmp_path / "grid.svg"
    axes = plot_attention_grid(panels, ["a"] * columns, ["b"] * rows, path=path)
    assert tuple(np.max(slots(axes), axis=0) + 1) == expected
    assert [ax.get_title() for ax in axes] == [str(i) for i in range(number)]


def test_more_columns_than_panels_are_as_many_as_panels(tmp_path):
    axes = plot_attention_grid(HEADS, CONTEXT, TARGET, columns=11, path=tmp_path / "heads.png")
    assert slots(axes) == [(0, i) for i in range(7)]


BIG_GRID = pytest.param(16, (25, 25), marks=pytest.mark.thorough)


@pytest.mark.parametrize(
    ("number", "shape"), [(1, (1, 1)), (7, (1, 3)), (5, (3, 5)), (4, (19, 23)), BIG_GRID]
)
def test_nothing_overlaps_nor_leaves_the_figure(tmp_path, number, shape):
    rows, columns = shape
    axes = plot_attention_grid(
        {f"cross_attention_{i}": np.eye(rows, columns) for i in range(number)},
        [f"incomprensibilidad{i}" for i in range(columns)],
        [f"word{i}" for i in range(rows)],
        unknown_context=[0],
        title="¿?",
        path=tmp_path / "grid.png",
    )
    renderer = drawn(axes)
    figure = axes[0].figure
    cell = axes[0].get_window_extent(renderer).width / columns
    low = [label.get_window_extent(renderer) for label in axes[0].get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(low))
    word = axes[0].get_xticklabels()[0]
    assert cell * np.sin(np.radians(word.get_rotation())) >= word.get_fontsize() * figure.dpi / 72
    assert word.get_fontsize() >= 8
    for ax in axes:
        box = ax.get_window_extent(renderer)
        assert box.width / columns == pytest.approx(cell, abs=0.1)
        assert box.height / rows == pytest.approx(cell, abs=0.1)
    # Panels with their names; the words of one panel may lean over the next one.
    boxes = [ax.get_window_extent(renderer) for ax in figure.axes]
    boxes += [ax.title.get_window_extent(renderer) for ax in axes]
    boxes += [ax.texts[0].get_window_extent(renderer) for ax in axes if ax.texts]
    sides = [label for ax in axes for label in (ax.xaxis.label, ax.yaxis.label)]
    boxes += [label.get_window_extent(renderer) for label in sides if label.get_text()]
    boxes += low
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other.shrunk(0.98, 0.98)) for other in boxes[:i])
    everything = figure.get_tightbbox(renderer)
    assert min(everything.x0, everything.y0) >= 0
    width, height = figure.get_size_inches()
    assert (everything.x1, everything.y1) <= (width, height)
    assert 0.4 < width / height < 2.5 or min(shape) == 1


def test_words_and_names_are_drawn_as_written_never_as_mathematics(tmp_path):
    panels = {"$x$ \\frac{": np.ones((3, 5)), "a_b": np.ones((3, 5))}
    path = tmp_path / "heads.svg"
    axes = plot_attention_grid(panels, ["$$"] * 5, TARGET, title="$y$ _ \\frac{", path=path)
    assert [ax.get_title() for ax in axes] == list(panels)
    assert axes[0].figure.get_suptitle() == "$y$ _ \\frac{"


def test_letters_that_the_font_lacks_are_boxes_and_one_warning_names_them(tmp_path):
    panels = {"頭 1": np.eye(3), "頭 2": np.eye(3)}
    with pytest.warns(UserWarning, match="the font has no 犬 猫 頭: drawn as □") as caught:
        axes = plot_attention_grid(panels, ["猫", "犬", "ya"], TARGET, path=tmp_path / "cat.png")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert labels(axes[0].xaxis) == ["□", "□", "ya"]
    assert [ax.get_title() for ax in axes] == ["□ 1", "□ 2"]


def test_the_bytes_are_the_same_every_time(tmp_path):
    for name in ("a.svg", "b.svg"):
        plot_attention_grid(HEADS, CONTEXT, TARGET, title="7 heads", path=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


GOOD = np.ones((3, 5)) / 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"panels": {}}, "panels must hold at least one panel, got none"),
        ({"panels": [GOOD]}, "panels must be a dict of weights by name, got <class 'list'>"),
        (
            {"panels": {"head 1": GOOD, "head 2": GOOD.T}},
            r"panels\['head 2'\] must have shape \(T, S\) = \(3, 5\), got \(5, 3\)",
        ),
        (
            {"panels": {"layer 1": np.ones((2, 5, 3))}},
            r"panels\['layer 1'\] must have shape \(H, T, S\) = \(2, 3, 5\), got \(2, 5, 3\)",
        ),
        ({"panels": {"a": GOOD, "b": GOOD * np.nan}}, r"panels\['b'\] must be finite, got NaN"),
        ({"panels": {"a": GOOD, "b": -GOOD}}, r"panels\['b'\] must not be negative, got -0.2"),
        ({"panels": {"a": "b"}}, r"panels\['a'\] must be an array of numbers, got <class 'str'>"),
        ({"context_tokens": []}, "context_tokens must hold at least one word"),
        ({"target_tokens": "casa"}, "target_tokens must be a list of words"),
        ({"unknown_context": [5]}, "unknown_context must be positions from 0 to 4, got 5"),
        ({"orientation": "rows"}, "orientation must be .* got 'rows'"),
        ({"axis_names": "context"}, "axis_names must be a pair .* got 'context'"),
        ({"vmax": -1}, "vmax must be a positive number, got -1"),
        ({"columns": 0}, "columns must be a whole number, 1 or more, got 0"),
        ({"columns": 2.0}, "columns must be a whole number, 1 or more, got 2.0"),
        ({"path": "grid.docx"}, "path must end in one of"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, change, message):
    arguments = {"panels": HEADS, "context_tokens": CONTEXT, "target_tokens": TARGET, **change}
    arguments["path"] = tmp_path / change.get("path", "x.png")
    with pytest.raises(ValueError, match=message):
        plot_attention_grid(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_picture_leaves_no_figure_behind():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    with pytest.raises(ValueError, match="columns"):
        plot_attention_grid(HEADS, CONTEXT, TARGET, columns=-1)
    assert plt.get_fignums() == before


@pytest.mark.filterwarnings("ignore:matplotlib .* writes Arabic and Hebrew letter by letter")
def test_every_panel_of_a_sentence_that_is_read_from_the_right_begins_at_the_right():
    hebrew = ["האם", "אתם", "בבית"]
    panels = {f"head {n}": np.eye(3) for n in range(4)}
    axes = plot_attention_grid(panels, hebrew, ["are", "you", "home"], columns=2)
    assert all(ax.get_xlim()[0] > ax.get_xlim()[1] for ax in axes)


def test_the_scale_of_one_row_is_long_enough_to_read(tmp_path):
    (ax,) = plot_attention_grid({"a": np.eye(1, 5)}, CONTEXT, ["b"], path=tmp_path / "flat.png")
    bar = ax.figure.axes[-1].get_window_extent()
    assert bar.height / ax.figure.dpi > 0.7
