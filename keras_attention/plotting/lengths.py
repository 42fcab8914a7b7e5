"""A score by sentence length: from tables of numbers to matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_attention.plotting.figures import (
    AS_WRITTEN,
    STYLES,
    as_numbers,
    boxes_for,
    check_plot_path,
    draw_grid_lines,
    draw_legend,
    faded,
    new_figure,
    save,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_by_length(
    ranges: Sequence[tuple[int, int]],
    curves: Mapping[str, Sequence[float]],
    counts: Sequence[int],
    *,
    ylabel: str = "BLEU",
    title: str | None = None,
    path: Path | str | None = None,
) -> "Axes":
    """Draw how a score depends on the length of the sentence, with a curve for each model.

    This is figure 2 of Bahdanau et al. (2015), with the number of sentences of each length below
    it. `path` works as in `plot_attention`.

    Args:
        ranges: lengths in tokens, pairs (shortest, longest), ascending.
        curves: scores by name, one number per range; NaN where there is none.
        counts: the number of sentences in each range.
        ylabel: the name of the score.
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` of the curves.

    Raises:
        ValueError: there is nothing to draw, there are more than four curves, a curve or the
            counts differ in length from the ranges, a score is infinite or not a number, or the
            extension is not supported.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    if not ranges or not 1 <= len(curves) <= len(STYLES):
        raise ValueError(
            f"there must be ranges and one to {len(STYLES)} curves, "
            f"got {len(ranges)} and {len(curves)}"
        )
    for name, values in {**curves, "counts": counts}.items():
        if len(values) != len(ranges):
            raise ValueError(f"{name} must have one number per range, {len(ranges)}, got {values}")
    scores = [as_numbers(name, values) for name, values in curves.items()]
    for name, numbers in zip(curves, scores, strict=True):
        if np.isinf(numbers).any():
            raise ValueError(f"{name} must be finite, or NaN for no score, got {numbers}")
    boxes = boxes_for([*curves, ylabel, title or ""])
    names = [name.translate(boxes) for name in curves]
    figure = new_figure((7, 4.2 if title else 4), path)
    panel, below = figure.subplots(2, 1, sharex=True, height_ratios=(5, 1))
    lines = []
    shown: dict[str, Any] = {"linewidth": 2, "markersize": 6}
    for style, name, numbers in zip(STYLES, names, scores, strict=False):
        lines += panel.plot(range(len(ranges)), numbers, label=name, **shown, **style)
    panel.set_ylabel(ylabel.translate(boxes), **AS_WRITTEN)
    panel.set_ylim(_limits(scores))
    draw_legend(panel, lines, names, loc="lower left")
    draw_grid_lines(panel)
    bars = below.bar(range(len(ranges)), counts, color="0.75", width=0.7)
    below.bar_label(bars, fontsize=8, color=faded())
    below.set_ylim(top=1.45 * max(counts))
    below.set_yticks([])
    below.set_ylabel("sentences", rotation=0, ha="right", va="center")
    below.set_xticks(range(len(ranges)), [f"{a}" if a == b else f"{a}–{b}" for a, b in ranges])
    below.set_xlabel("length of the source sentence, in tokens")
    for axes in (panel, below):
        axes.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title.translate(boxes), fontsize=12, **AS_WRITTEN)
    if path is not None:
        save(figure, path)
    return panel


def _limits(scores):
    """Return limits that hold 0 and every score that is a number, with a margin beyond these."""
    found = np.concatenate(scores)
    found = found[~np.isnan(found)]
    lowest, highest = found.min(initial=0), found.max(initial=0)
    margin = 0.06 * (highest - lowest) or 1
    return lowest - margin * (lowest < 0), highest + margin
