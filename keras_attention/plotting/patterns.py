"""Rows of small pictures, such as stored, damaged and restored patterns, in matplotlib."""

from collections.abc import Mapping
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


def plot_patterns(
    rows: Mapping[str, Array],
    *,
    shape: tuple[int, int],
    title: str | None = None,
    path: Path | str | None = None,
) -> np.ndarray:
    """Draw rows of small pictures, one above the other, each row with its name.

    `path` works as in `plot_attention`.

    Args:
        rows: arrays (N, height · width) by name, all with the same N; −1 is drawn white, 0 grey
            and 1 black.
        shape: (height, width) of a picture.
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes`, rows × N.

    Raises:
        ValueError: there is nothing to draw, or the shape of a row is wrong.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    arrays = {name: np.asarray(row, dtype=float) for name, row in rows.items()}
    shapes = {row.shape for row in arrays.values()}
    number = len(next(iter(arrays.values()))) if arrays else 0
    if not number or shapes != {(number, shape[0] * shape[1])}:
        raise ValueError(
            f"rows must hold arrays (N, {shape[0] * shape[1]}), all with the same N > 0, "
            f"got {sorted(shapes)}"
        )
    boxes = boxes_for([*arrays, title or ""])
    figure = new_figure((0.75 * number + 1.6, 0.8 * len(arrays) + (0.4 if title else 0.1)), path)
    axes = figure.subplots(len(arrays), number, squeeze=False)
    for (name, row), cells in zip(arrays.items(), axes, strict=True):
        for pattern, cell in zip(row, cells, strict=True):
            draw_array(cell, pattern.reshape(shape), cmap="Greys", vmin=-1, vmax=1)
            cell.set_xticks([])
            cell.set_yticks([])
            cell.spines[:].set(color="0.6", linewidth=0.8)
        label = name.translate(boxes).replace(", ", ",\n")
        place = {"rotation": 0, "ha": "right", "va": "center"}
        cells[0].set_ylabel(label, fontsize=9, **place, **AS_WRITTEN)
    if title:
        figure.suptitle(title.translate(boxes), fontsize=12, **AS_WRITTEN)
    if path is not None:
        save(figure, path)
    return axes
