"""Curves of several competitors over one axis: from numbers to matplotlib."""

from collections.abc import Mapping
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
    new_figure,
    save,
    width_of,
)
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MARKERS, _MOST_TICKS = 30, 12


def plot_curves(
    curves: Mapping[str, tuple[Array, Array]],
    *,
    xlabel: str,
    ylabel: str,
    logarithmic: str = "",
    title: str | None = None,
    path: Path | str | None = None,
) -> "Axes":
    """Draw one curve for each competitor, with a legend.

    `path` works as in `plot_attention`.

    Args:
        curves: pairs (x, y) by name, with x and y of the same length.
        xlabel: the name of x.
        ylabel: the name of y.
        logarithmic: the logarithmic axes: `"x"`, `"y"`, `"xy"` or `""`.
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes`.

    Raises:
        ValueError: there is no curve, there are too many to tell apart, x and y differ in length,
            y are not numbers, or `logarithmic` or the extension is unknown.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    if not 1 <= len(curves) <= len(STYLES):
        raise ValueError(f"there must be one to {len(STYLES)} curves, got {len(curves)}")
    for name, (x, y) in curves.items():
        if len(x) != len(y) or not len(x):
            raise ValueError(f"curve {name!r} must have a y for each x, got {len(x)} and {len(y)}")
    if logarithmic not in ("", "x", "y", "xy", "yx"):
        raise ValueError(f'logarithmic must be "x", "y", "xy" or "", got {logarithmic!r}')
    places = [np.asarray(x) for x, _ in curves.values()]
    heights = [as_numbers(f"y of curve {name!r}", y) for name, (_, y) in curves.items()]
    boxes = boxes_for([*curves, xlabel, ylabel, title or ""])
    names = [name.translate(boxes) for name in curves]
    figure = new_figure((7, 4 if title else 3.8), path)
    axes = figure.subplots()
    lines = []
    for style, name, x, y in zip(STYLES, names, places, heights, strict=False):
        marker = style["marker"] if len(x) <= _MOST_MARKERS else ""
        shown: dict[str, Any] = {**style, "marker": marker}
        lines += axes.plot(x, y, label=name, linewidth=2, markersize=5, **shown)
    for axis in logarithmic:
        axes.set(**{f"{axis}scale": "log"})
    if "y" not in logarithmic:
        axes.set_ylim(bottom=min(y[np.isfinite(y)].min(initial=0) for y in heights))
    _set_ticks(axes, np.concatenate(places), "x" in logarithmic)
    axes.set_xlabel(xlabel.translate(boxes), **AS_WRITTEN)
    axes.set_ylabel(ylabel.translate(boxes), **AS_WRITTEN)
    draw_legend(axes, lines, names)
    draw_grid_lines(axes)
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title.translate(boxes), fontsize=12, **AS_WRITTEN)
    if path is not None:
        save(figure, path)
    return axes


def _set_ticks(axes, x, logarithmic):
    """Put ticks at the given x, if these are few and far enough apart, or else at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    if x.dtype.kind not in "iuf" or not np.isfinite(x).all() or (logarithmic and x.min() <= 0):
        return
    x = np.unique(x)
    whole = not (x % 1).any()
    names = [f"{number:.10g}" for number in x]
    places = np.log(x) if logarithmic else x
    inches = 5.5 * np.diff(places) / np.ptp(places)
    apart = (inches > width_of(names, 10) + 0.1).all()
    if len(x) <= _MOST_TICKS and apart and (whole or logarithmic):
        axes.set_xticks(x, names)
        axes.set_xticks([], minor=True)
    elif whole and not logarithmic:
        steps = [1, 2, 2.5, 5, 10]  # those of matplotlib, where it also takes fractions
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=steps, integer=True, min_n_ticks=1))
