"""Position vectors: their components and the similarity of any two, in matplotlib."""

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


def plot_positions(
    encodings: Array, *, title: str | None = None, path: Path | str | None = None
) -> np.ndarray:
    """Draw position vectors, and beside them the cosine similarity of every pair.

    On the left each row is the vector of one position, as it is added to a token. On the right
    sinusoids form a band along the diagonal, because the similarity of two positions depends only
    on their distance. `path` works as in `plot_attention`.

    Args:
        encodings: (T, D), such as `ops.sinusoids(np.arange(T), D)` or the `table` of a
            `LearnedPositions`.
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The two matplotlib `Axes` in an array.

    Raises:
        ValueError: `encodings` is not a matrix, is empty, or is not finite.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    encodings = np.asarray(encodings, dtype=float)
    if encodings.ndim != 2 or not encodings.size:
        raise ValueError(f"encodings must have shape (T, D), got {encodings.shape}")
    if not np.isfinite(encodings).all():
        raise ValueError("encodings must be finite, got infinity or NaN")
    lengths = np.linalg.norm(encodings, axis=1, keepdims=True)
    unit = encodings / np.where(lengths > 0, lengths, 1.0)
    figure = new_figure((9, 4.2 if title else 3.9), path)
    axes = figure.subplots(1, 2)
    for ax, matrix, most, xlabel, name in (
        (axes[0], encodings, np.abs(encodings).max(), "component", "a row for each position"),
        (axes[1], unit @ unit.T, 1.0, "position", "cosine of each pair"),
    ):
        drawn = draw_array(ax, matrix, aspect="auto", cmap="PuOr", vmin=-most, vmax=most)
        ax.set(xlabel=xlabel, ylabel="position")
        ax.set_title(name, fontsize=10)
        figure.colorbar(drawn, ax=ax)
    if title:
        boxes = boxes_for([title])
        figure.suptitle(title.translate(boxes), fontsize=12, **AS_WRITTEN)
    if path is not None:
        save(figure, path)
    return axes
