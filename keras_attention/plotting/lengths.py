"""A score by sentence length: from tables of numbers to matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from keras_attention.plotting.figures import (
    STYLES,
    boxes_for,
    check_plot_path,
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
        curves: scores by name, one number per range.
        counts: the number of sentences in each range.
        ylabel: the name of the score.
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` of the curves.

    Raises:
        ValueError: there is nothing to draw, there are more than four curves, a curve or the
            counts differ in length from the ranges, or the extension is not supported.
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
    figure = new_figure((7, 4.2 if title else 4), path)
    panel, below = figure.subplots(2, 1, sharex=True, height_ratios=(5, 1))
    for style, (name, values) in zip(STYLES, curves.items(), strict=False):
        label = name.translate(boxes_for([name]))
        panel.plot(range(len(ranges)), values, label=label, linewidth=2, markersize=6, **style)
    panel.set_ylabel(ylabel)
    highest = max(max(values) for values in curves.values())
    panel.set_ylim(0, 1.06 * highest if highest > 0 else 1)
    panel.legend(frameon=False, fontsize=9, loc="lower left")
    panel.grid(axis="y", color="0.9", linewidth=0.8)
    bars = below.bar(range(len(ranges)), counts, color="0.75", width=0.7)
    below.bar_label(bars, fontsize=8, color="0.35")
    below.set_ylim(top=1.45 * max(counts))
    below.set_yticks([])
    below.set_ylabel("sentences", rotation=0, ha="right", va="center")
    below.set_xticks(range(len(ranges)), [f"{a}" if a == b else f"{a}–{b}" for a, b in ranges])
    below.set_xlabel("length of the source sentence, in tokens")
    for axes in (panel, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    if title:
        figure.suptitle(title.translate(boxes_for([title])), fontsize=12, parse_math=False)
    if path is not None:
        save(figure, path)
    return panel
