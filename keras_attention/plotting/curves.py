"""Curves of several competitors over one axis: from numbers to matplotlib."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_attention.plotting.figures import (
    STYLES,
    boxes_for,
    check_plot_path,
    new_figure,
    save,
)
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MARKERS = 30


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
            or the extension is not supported.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    if not 1 <= len(curves) <= len(STYLES):
        raise ValueError(f"there must be one to {len(STYLES)} curves, got {len(curves)}")
    for name, (x, y) in curves.items():
        if len(x) != len(y) or not len(x):
            raise ValueError(f"curve {name!r} must have a y for each x, got {len(x)} and {len(y)}")
    figure = new_figure((7, 4 if title else 3.8), path)
    axes = figure.subplots()
    for style, (name, (x, y)) in zip(STYLES, curves.items(), strict=False):
        label = name.translate(boxes_for([name]))
        marker = style["marker"] if len(x) <= _MOST_MARKERS else ""
        shown: dict[str, Any] = {**style, "marker": marker}
        axes.plot(np.asarray(x), np.asarray(y), label=label, linewidth=2, markersize=5, **shown)
    for axis in logarithmic:
        axes.set(**{f"{axis}scale": "log"})
    if "y" not in logarithmic:
        axes.set_ylim(bottom=min(0, min(min(y) for _, y in curves.values())))
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.legend(frameon=False, fontsize=9)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title.translate(boxes_for([title])), fontsize=12, parse_math=False)
    if path is not None:
        save(figure, path)
    return axes
