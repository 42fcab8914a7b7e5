"""What a Neural Turing Machine writes and reads, and where: from arrays to matplotlib."""

from pathlib import Path

import numpy as np

from keras_attention.plotting.figures import (
    AS_WRITTEN,
    boxes_for,
    check_plot_path,
    draw_array,
    new_figure,
    save,
)
from keras_attention.types import Array


def plot_tapes(
    inputs: Array,
    outputs: Array,
    write_weights: Array,
    read_weights: Array,
    *,
    title: str | None = None,
    path: Path | str | None = None,
) -> np.ndarray:
    """Draw how a machine processes a sequence, as in figure 6 of Graves et al. (2014).

    Time runs from left to right in all four panels: inputs above write weights, outputs above read
    weights. Several heads share a panel. Rows of the memory above the first and below the last
    that some head looks at, with a weight of at least 0.1, are left out. `path` works as in
    `plot_attention`.

    Args:
        inputs: (T, F).
        outputs: (T, bits), from 0 to 1.
        write_weights: (T, N), or (T, H, N) for H heads.
        read_weights: (T, N), or (T, H, N).
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` in an array ((inputs, outputs), (write weights, read weights)).

    Raises:
        ValueError: an array is empty, has another number of steps than the inputs or the wrong
            number of axes, the weights differ in the number of rows, or the extension is not
            supported.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    panels = {
        "inputs": _as_panel("inputs", inputs),
        "outputs": _as_panel("outputs", outputs),
        "write weights": _as_panel("write_weights", write_weights, heads=True),
        "read weights": _as_panel("read_weights", read_weights, heads=True),
    }
    _check_sizes(panels)
    first, last = _rows_in_use(panels["write weights"], panels["read weights"])
    figure = new_figure((10, 6.4 if title else 6.1), path)
    axes = figure.subplots(2, 2, sharex=True, height_ratios=(1, 3))
    for place, (name, panel) in enumerate(panels.items()):
        on_tape = place > 1
        ax = axes.flat[place]
        if on_tape:
            image = _draw(ax, panel[first : last + 1], 1.0, first_row=first)
        else:
            _draw(ax, panel, max(panel.max(), 1e-9))
        ax.set_title(name, loc="left", fontsize=11)
        if on_tape:
            ax.set_xlabel("time step")
    axes[0, 0].set_ylabel("channel")
    rows = len(panels["write weights"])
    whole = last - first + 1 == rows
    axes[1, 0].set_ylabel("row of the memory" if whole else f"row of the memory, of {rows}")
    bar = figure.colorbar(image, ax=axes[1, :], label="weight", shrink=0.7, pad=0.015)
    bar.outline.set(edgecolor="0.6", linewidth=0.8)
    if title:
        boxes = boxes_for([title])
        figure.suptitle(title.translate(boxes), fontsize=12, **AS_WRITTEN)
    if path is not None:
        save(figure, path)
    return axes


def _as_panel(name, values, heads=False):
    """Return a checked array (row, time) with the largest weight of several heads."""
    array = np.asarray(values, dtype=float)
    if heads and array.ndim == 3:
        array = array.max(axis=1, initial=0.0)
    if array.ndim != 2 or not array.size:
        shape = "(T, N) or (T, H, N)" if heads else "(T, width)"
        raise ValueError(f"{name} must have shape {shape}, got {np.shape(values)}")
    return array.T


def _check_sizes(panels):
    steps = {name: panel.shape[1] for name, panel in panels.items()}
    if len(set(steps.values())) > 1:
        raise ValueError(f"all arrays must have the same number of time steps, got {steps}")
    rows = [panels[name].shape[0] for name in ("write weights", "read weights")]
    if len(set(rows)) > 1:
        raise ValueError(f"all heads must have the same number of rows, got {rows[0]}, {rows[1]}")


def _rows_in_use(*panels):
    """Return the first and the last row that gets a weight of at least 0.1 in any panel."""
    seen = np.flatnonzero((np.maximum(*panels) >= 0.1).any(axis=1))
    return (seen[0], seen[-1]) if len(seen) else (0, len(panels[0]) - 1)


def _draw(ax, panel, vmax, first_row=0):
    """Draw a panel, white at 0 and below, darker for larger values, with integer ticks."""
    from matplotlib.ticker import MaxNLocator

    rows, steps = panel.shape
    sides = (-0.5, steps - 0.5, first_row + rows - 0.5, first_row - 0.5)
    image = draw_array(ax, panel, cmap="Blues", aspect="auto", vmin=0.0, vmax=vmax, extent=sides)
    for axis, most in ((ax.xaxis, 8), (ax.yaxis, 6)):
        axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))
    ax.grid(visible=False)
    ax.tick_params(length=2, color="0.6", labelsize=9)
    ax.spines[:].set(color="0.6", linewidth=0.8)
    return image
