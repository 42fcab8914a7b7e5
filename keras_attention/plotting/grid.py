"""Several heat maps of one sentence pair in one figure: the heads of a layer, or several layers."""

import math
import numbers
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from keras_attention.plotting import heatmaps
from keras_attention.plotting.figures import (
    boxes_for,
    check_plot_path,
    fit_figure,
    new_figure,
    save,
)
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In inches: the area that the cells of all panels should fill.
_WIDTH, _HEIGHT = 11.0, 7.0
_SMALLEST_CELL, _LARGEST_CELL = 0.17, 0.45
_GAP = 0.16


def plot_attention_grid(
    panels: Mapping[str, Array],
    context_tokens: Iterable[str],
    target_tokens: Iterable[str],
    *,
    unknown_context: Iterable[int] = (),
    unknown_target: Iterable[int] = (),
    links: Iterable[tuple[int, int]] | None = None,
    outlined: str = "aligned words",
    orientation: str = "target_rows",
    axis_names: tuple[str, str] | list[str] = ("target", "context"),
    vmax: float | None = None,
    scale: str = "attention weight",
    columns: int | None = None,
    title: str | None = None,
    path: Path | str | None = None,
) -> "list[Axes]":
    """Draw several attention weights of one sentence pair as heat maps on one scale.

    The panels may be the heads of a layer, or several layers. The words appear once at the left of
    every row of panels and once above every column; each panel has its name below it. The encoder's
    self-attention has the context on both sides: pass its words twice. `path` works as in
    `plot_attention`.

    Args:
        panels: weights by name, such as `{"head 1": …, "head 2": …}`, drawn in this order, row by
            row. Each is `(T, S)`, or `(H, T, S)`, which is averaged over the heads: anything that
            `np.asarray` takes.
        context_tokens: S words, as the user wrote them.
        target_tokens: T words.
        unknown_context: positions, or S booleans, of the context words missing from the
            vocabulary.
        unknown_target: the same for the target words.
        links: pairs `(context, target)` of positions, such as a gold alignment; their cells are
            outlined in every panel.
        outlined: what such a cell is, for the note that explains the outlines.
        orientation: `"target_rows"`: the rows of a panel are target words, as Keras returns
            the weights. `"context_rows"`: the transpose.
        axis_names: the names of the sides, the target first; for self-attention
            `("context", "context")`.
        vmax: the weight drawn darkest in all panels, by default their largest weight; the palest
            is always 0.
        columns: the number of panels side by side, by default a number that makes the cells large
            and the figure neither long nor wide.
        scale: what the numbers are, beside the scale of colours.
        title: a line above the panels, drawn unchanged.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes`, one per panel, in the order of `panels`. `get_title()` returns the
        name of a panel, `images[0].get_array()` its weights as drawn.

    Raises:
        ValueError: there is no panel, a shape, a position, the orientation, the number of columns
            or the extension is invalid, a sentence has no words, or a weight is negative or not
            finite.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).

    Warns:
        UserWarning: a letter is missing from the font; it is drawn as □.

    Example:
        >>> heads = {"head 1": [[0.9, 0.1], [0.2, 0.8]], "head 2": [[0.5, 0.5], [0.0, 1.0]]}
        >>> axes = plot_attention_grid(heads, ["Hace", "frío"], ["it's", "cold"])
        >>> [ax.get_title() for ax in axes]
        ['head 1', 'head 2']
    """
    if path is not None:
        path = check_plot_path(path)
    left, top = heatmaps.as_sides(
        context_tokens, target_tokens, unknown_context, unknown_target, axis_names
    )
    grids = _as_grids(panels, len(left.words), len(top.words))
    pairs = heatmaps.as_links(links, len(top.words), len(left.words))
    if heatmaps.has_context_rows(orientation):
        grids, left, top = [grid.T for grid in grids], top, left
        pairs = [(t, s) for s, t in pairs]
    vmax = heatmaps.as_vmax(vmax, grids)
    columns = _as_columns(columns, len(grids), grids[0].shape)
    names = list(map(str, panels))
    outlined = outlined if pairs else ""
    boxes = boxes_for([*left.texts, *top.texts, *names, scale, outlined, title or ""])
    left, top = left.boxed(boxes), top.boxed(boxes)
    scale, outlined = scale.translate(boxes), outlined.translate(boxes)

    figure = new_figure((1, 1), path, layout="none")
    names = [name.translate(boxes) for name in names]
    axes = _draw_panels(figure, grids, names, (left, top), pairs, columns, vmax, scale)
    bottom_left = axes[(len(axes) - 1) // columns * columns]
    bottom = -bottom_left.get_position().y0  # of a figure of one inch
    below = 72 * max(_name_size(axes)[1], heatmaps.below_cells(bottom))
    notes = heatmaps.as_notes(bool(left.unknown or top.unknown), outlined)
    heatmaps.draw_notes(bottom_left, notes, below)
    fit_figure(figure, (title or "").translate(boxes))
    if path is not None:
        save(figure, path)
    return axes


def _as_grids(panels, rows, columns):
    """Return the weights of the panels as checked arrays `(T, S)`."""
    if not isinstance(panels, Mapping):
        raise ValueError(f"panels must be a dict of weights by name, got {type(panels)}")
    if not panels:
        raise ValueError("panels must hold at least one panel, got none")
    return [
        heatmaps.as_grid(f"panels[{name!r}]", weights, rows, columns)
        for name, weights in panels.items()
    ]


def _as_columns(columns, number, panel):
    """Return the number of panels side by side: as requested, or with the largest cells."""
    if columns is None:

        def room(columns):
            slots = math.ceil(number / columns) * columns
            return _cell_that_fits(columns, number, panel) * number / slots

        return max(range(1, number + 1), key=room)
    if not isinstance(columns, numbers.Integral) or columns < 1:
        raise ValueError(f"columns must be a whole number, 1 or more, got {columns!r}")
    return min(columns, number)


def _cell_that_fits(columns, number, panel):
    """Return the side of a cell in inches in a figure of the usual size."""
    rows = math.ceil(number / columns)
    return min(_WIDTH / (columns * panel[1]), _HEIGHT / (rows * panel[0]))


def _draw_panels(figure, grids, names, sides, pairs, columns, vmax, scale):
    """Draw the panels and their scale into a one-inch figure; return the axes."""
    left, top = sides
    fits = _cell_that_fits(columns, len(grids), grids[0].shape)
    cell = min(max(fits, _SMALLEST_CELL), _LARGEST_CELL)
    size = min(0.7 * 72 * cell, 11.0)  # points
    axes = []
    for i, (grid, name) in enumerate(zip(grids, names, strict=True)):
        ax = figure.add_axes((0, 0, 1, 1), label=f"panel {i}")
        image = heatmaps.draw_cells(ax, grid, vmax, top.runs_left)
        heatmaps.draw_links(ax, pairs, cell)
        ax.set(xticks=[], yticks=[])
        if i % columns == 0:
            heatmaps.draw_rows(ax, left, size)
        if i < columns:
            heatmaps.draw_columns(ax, top, size, cell)
        heatmaps.draw_title(ax, name, 10, y=0, pad=-4, va="top")
        axes.append(ax)
    bar = figure.add_axes((0, 0, 1, 1), label="scale")
    heatmaps.draw_color_bar(image, bar, scale)
    _place_panels(axes, bar, columns, cell * len(top.words), cell * len(left.words))
    return axes


def _name_size(axes):
    """Return the largest width and height of the names of the panels, in inches."""
    dpi = axes[0].figure.dpi
    names = [ax.title.get_window_extent() for ax in axes]
    width = max(box.width for box in (*names, axes[0].xaxis.label.get_window_extent()))
    return width / dpi, max(box.height for box in names) / dpi + 0.06


def _place_panels(axes, bar, columns, width, height):
    """Place panels of `width` and `height` with the scale beside them, from the top left.

    Slanted words may reach over the next panel, whose words are slanted as well. A layout engine of
    matplotlib does not know this and would push the panels apart.
    """
    name_width, below = _name_size(axes)
    side_height = axes[0].yaxis.label.get_window_extent().height / axes[0].figure.dpi
    beside = max(0.0, name_width - width) / 2
    step_x = width + 2 * beside + _GAP
    step_y = max(height + below, side_height) + _GAP
    for i, ax in enumerate(axes):
        row, column = divmod(i, columns)
        ax.set_position((column * step_x, -row * step_y - height, width, height))
    right, tall = (columns - 1) * step_x + width + beside, row * step_y + height
    tall += heatmaps.below_cells(tall)
    bar.set_position((right + 0.16, -tall, 0.14, tall))
