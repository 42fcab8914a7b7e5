"""Vectors of positions: what each is made of, and how alike any two are -> matplotlib."""

import numpy as np

from keras_attention.plotting.figures import boxes_for, check_plot_path, new_figure, save


def plot_positions(encodings, *, title=None, path=None):
    """Draw the vectors of positions, and beside them the cosine of each with each.

    On the left a row is a position, as it is added to a token. On the right sinusoids make a band
    along the diagonal: how alike two of them are depends on their distance alone. What `path` means
    for the figure is as in `plot_attention`.

    Args:
        encodings: (T, D), such as `ops.sinusoids(np.arange(T), D)` or the `table` of a
            `LearnedPositions`.
        title: a line above.
        path: file to save to; its extension says how (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The two matplotlib `Axes`.

    Raises:
        ValueError: `encodings` is no matrix, is empty, or not finite.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    encodings = np.asarray(encodings, dtype=float)
    if encodings.ndim != 2 or not encodings.size:
        raise ValueError(f"encodings must have the shape (T, D), got {encodings.shape}")
    if not np.isfinite(encodings).all():
        raise ValueError("encodings must be finite, got infinity or NaN")
    lengths = np.linalg.norm(encodings, axis=1, keepdims=True)
    unit = encodings / np.where(lengths > 0, lengths, 1.0)
    figure = new_figure((9, 4.2 if title else 3.9), path)
    axes = figure.subplots(1, 2)
    for ax, matrix, most, xlabel, name in (
        (axes[0], encodings, np.abs(encodings).max(), "component", "a row for each position"),
        (axes[1], unit @ unit.T, 1.0, "position", "cosine of one and another"),
    ):
        drawn = ax.imshow(matrix, aspect="auto", cmap="PuOr", vmin=-most, vmax=most)
        ax.set(xlabel=xlabel, ylabel="position")
        ax.set_title(name, fontsize=10)
        figure.colorbar(drawn, ax=ax)
    if title:
        figure.suptitle(title.translate(boxes_for([title])), fontsize=12, parse_math=False)
    if path is not None:
        save(figure, path)
    return axes
