"""Heat maps of attention weights: from arrays and token lists to matplotlib."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from keras_attention.plotting import heatmaps
from keras_attention.plotting.figures import (
    boxes_for,
    check_plot_path,
    new_figure,
    save,
    width_of,
)
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_attention(
    weights: Array,
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
    title: str | None = None,
    ax: "Axes | None" = None,
    path: Path | str | None = None,
) -> "Axes":
    """Draw attention weights as a heat map: a darker cell has a larger weight.

    Without `path` and `ax` pyplot makes the figure: a notebook shows it, and a script shows it with
    `plt.show()` and frees it with `plt.close(ax.figure)`. With `path` the figure is only saved, so
    any number of figures can be made.

    Args:
        weights: `(T, S)`, or `(H, T, S)`, which is averaged over the heads. Anything that
            `np.asarray` takes.
        context_tokens: S words, as the user wrote them.
        target_tokens: T words.
        unknown_context: positions, or S booleans, of the context words missing from the
            vocabulary. They have another colour and an outline, which a note below explains.
        unknown_target: the same for the target words.
        links: pairs `(context, target)` of positions, such as a gold alignment; their cells are
            outlined.
        outlined: what such a cell is, for the note that explains the outlines.
        orientation: `"target_rows"`: rows are target words, as Keras returns the weights.
            `"context_rows"`: the transpose; rows are context words, columns are target words.
        axis_names: the names of the sides, the target first; for self-attention, where the context
            attends to itself, `("context", "context")`.
        vmax: the weight drawn darkest, by default the largest in the picture; the palest is always
            0. Pass 1 to make pictures comparable.
        scale: what the numbers are, beside the scale of colours.
        title: a line above the picture, drawn unchanged.
        ax: matplotlib axes to draw into; by default a new figure, large enough for the words.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes`. `ax.images[0].get_array()` returns the weights as drawn.

    Raises:
        ValueError: a shape, a position, the orientation or the extension is invalid, a sentence
            has no words, or a weight is negative or not finite.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).

    Warns:
        UserWarning: a letter is missing from the font; it is drawn as □.

    Example:
        >>> ax = plot_attention([[0.9, 0.1], [0.2, 0.8]], ["Hace", "frío"], ["it's", "cold"])
    """
    if path is not None:
        path = check_plot_path(path)
    rows, columns = heatmaps.as_sides(
        context_tokens, target_tokens, unknown_context, unknown_target, axis_names
    )
    grid = heatmaps.as_grid("weights", weights, len(rows.words), len(columns.words))
    pairs = heatmaps.as_links(links, len(columns.words), len(rows.words))
    if heatmaps.has_context_rows(orientation):
        grid, rows, columns, pairs = grid.T, columns, rows, [(t, s) for s, t in pairs]
    vmax = heatmaps.as_vmax(vmax, [grid])
    outlined = outlined if pairs else ""
    boxes = boxes_for([*rows.texts, *columns.texts, scale, outlined, title or ""])
    rows, columns = rows.boxed(boxes), columns.boxed(boxes)

    if ax is None:
        cell = _cell_size(grid.shape)
        ax = new_figure(_figure_size(cell, rows.words, columns.words, title), path).subplots()
    else:
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        cell = min(box.height / grid.shape[0], box.width / grid.shape[1])
    size = _font_size(cell)
    image = heatmaps.draw_cells(ax, grid, vmax, columns.runs_left)
    heatmaps.draw_links(ax, pairs, cell)
    heatmaps.draw_rows(ax, rows, size)
    heatmaps.draw_columns(ax, columns, size, cell)
    # As high as the cells, whatever the size of the axes, but never too short to read.
    height, width = (cell * count for count in grid.shape)
    bottom = -heatmaps.below_cells(height) / height
    bar = ax.inset_axes((1 + 0.16 / width, bottom, 0.14 / width, 1 - bottom))
    heatmaps.draw_color_bar(image, bar, scale.translate(boxes))
    notes = heatmaps.as_notes(bool(rows.unknown or columns.unknown), outlined.translate(boxes))
    reach_the_bar = width_of([note for note, _ in notes], 9) > width
    heatmaps.draw_notes(ax, notes, bottom=bottom if reach_the_bar else 0)
    if title:
        heatmaps.draw_title(ax, title.translate(boxes), 12, pad=10)
    if path is not None:
        save(ax.figure, path)
    return ax


def _cell_size(shape):
    """Return the side of a cell in inches, so that the longer side of the picture is about 9."""
    return min(max(9.0 / max(shape), 0.16), 0.62)


def _font_size(cell):
    """Return the font size in points for words beside cells of `cell` inches."""
    return min(max(0.6 * 72 * cell, 4.0), 12.0)


def _figure_size(cell, row_words, column_words, title):
    """Return the size (width, height) in inches of a figure for the cells and their words."""
    size = _font_size(cell)
    left, top = (width_of(words, size) for words in (row_words, column_words))
    width = max(len(column_words) * cell + left + 1.9, 3.6)  # the width of the notes
    height = len(row_words) * cell
    return width, height + heatmaps.below_cells(height) + top + (1.5 if title else 1.1)
