"""Attention of a network with several hops to a story: from weights to matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from keras_attention.plotting.figures import (
    AS_WRITTEN,
    boxes_for,
    check_plot_path,
    new_figure,
    save,
    width_of,
)
from keras_attention.plotting.heatmaps import as_grid, draw_cells, draw_color_bar
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GOLD = "#d55e00"
_NOTE = "outlined: the facts that the answer follows from"


def plot_hops(
    sentences: Sequence[str],
    weights: Array,
    *,
    question: str,
    answer: str,
    facts: Sequence[int] = (),
    expected: str | None = None,
    path: Path | str | None = None,
) -> "Axes":
    """Draw how much a network attends to each sentence of a story, one column per hop.

    `path` works as in `plot_attention`.

    Args:
        sentences: S sentences in the order of the story.
        weights: (hops, S), the attention of each hop to the sentences.
        question: the question, written below the story.
        answer: the answer of the network.
        facts: positions, from 0, of the sentences that the right answer follows from; they are
            outlined.
        expected: the right answer; it is written as well if the network's answer differs.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` of the cells.

    Raises:
        ValueError: the weights do not fit the story, a fact is not a position in it, or the
            extension is not supported.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    from matplotlib.patches import Rectangle

    if path is not None:
        path = check_plot_path(path)
    grid = as_grid("weights", weights, len(weights), len(sentences)).T
    odd = [fact for fact in facts if not 0 <= fact < len(sentences)]
    if odd or not grid.size:
        raise ValueError(
            "expected at least one hop and one sentence, and facts that are positions of "
            f"sentences, got weights {grid.T.shape} and facts {list(facts)}"
        )
    rows, columns = grid.shape
    numbered = [f"{row + 1}  {text}" for row, text in enumerate(sentences)]
    said = f"{question}  → {answer}"
    if expected is not None and expected != answer:
        said = f"{said} (right: {expected})"
    boxes = boxes_for([*numbered, said])
    numbered = [text.translate(boxes) for text in numbered]
    notes = [(said.translate(boxes), {"size": 11, "weight": "bold"})]
    if len(facts):
        notes.append((_NOTE, {"size": 9, "color": _GOLD}))
    figure = _page(numbered, notes, columns, path)
    axes, bar = figure.subplots(1, 2, width_ratios=(0.55 * columns, 0.14))
    image = draw_cells(axes, grid, 1.0)
    axes.set_aspect("auto")
    for row in facts:
        outline = Rectangle((-0.5, row - 0.5), columns, 1, fill=False, ec=_GOLD, lw=2, zorder=3)
        outline.set_clip_on(False)
        axes.add_patch(outline)
    axes.set_yticks(range(rows), numbered, size=10, **AS_WRITTEN)
    for row in facts:
        axes.get_yticklabels()[row].set(color=_GOLD, weight="bold")
    axes.set_xticks(range(columns), [f"hop {column + 1}" for column in range(columns)], size=9)
    axes.xaxis.tick_top()
    draw_color_bar(image, bar)
    if path is not None:
        save(figure, path)
    return axes


def _page(sentences, notes, columns, path):
    """Return a figure with the notes (text, style) at its foot and room for the cells above them.

    The layout engine does not know texts of the figure: long ones do not squeeze the cells.
    """
    used = width_of(sentences, 10, weight="bold") + 0.3 + 0.55 * columns + 1.2
    lengths = [width_of([text], style["size"], weight="bold") for text, style in notes]
    width, height = max(used, *lengths) + 0.2, 0.3 * len(sentences) + 1.7
    figure = new_figure((width, height), path)
    foot = 0.12 + 0.23 * len(notes)
    for line, (text, style) in enumerate(notes):
        y = foot - 0.07 - 0.25 * line
        figure.text(0.08 / width, y / height, text, va="top", **style, **AS_WRITTEN)
    figure.get_layout_engine().set(rect=(0, foot / height, used / width, 1 - foot / height))
    return figure
