"""Attention to the frames of a clip: a heat map with frames above it and words beside it."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.plotting import heatmaps
from keras_attention.plotting.figures import boxes_for, check_plot_path, new_figure, save
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPAN_COLOR = "#f5a300"
_NOTE_COLOR = "#a86f00"
_COLUMN, _ROW = 0.36, 0.24  # inches


def plot_clip_attention(
    weights: Array,
    words: Iterable[str],
    frames: Array,
    *,
    spans: Array | None = None,
    vmax: float | None = None,
    title: str | None = None,
    path: Path | str | None = None,
) -> "Axes":
    """Draw attention over the frames of a clip, one row per word; larger weights are darker.

    Every column has its frame above it. `path` works as in `plot_attention`.

    Args:
        weights: (T, S), or (H, T, S), which is averaged over the heads.
        words: T words of the caption.
        frames: pictures (S, height, width), from 0, black, to 1, white; or
            (S, height, width, channels) with one channel or red, green and blue.
        spans: (T, 2), the frames that each word is about, such as a gold alignment: the first, and
            the one after the last. They are outlined. (0, 0) means no frame.
        vmax: the weight drawn darkest; by default the largest in the picture.
        title: a line above the figure.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` of the heat map.

    Raises:
        ValueError: a shape, a span or the extension is invalid, there are no words, a weight is
            negative or not finite, or a pixel is not from 0 to 1.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    frames = _as_pictures(frames)
    numbers = [str(number) for number in range(1, len(frames) + 1)]
    rows, columns = heatmaps.as_sides(numbers, words, (), (), ("word", "frame"))
    grid = heatmaps.as_grid("weights", weights, len(rows.words), len(frames))
    outlines = _outlines(spans, *grid.shape)
    vmax = heatmaps.as_vmax(vmax, [grid])
    boxes = boxes_for([*rows.texts, title or ""])
    rows = rows.boxed(boxes)

    height = _COLUMN * frames.shape[1] / frames.shape[2]
    size = (max(_COLUMN * grid.shape[1] + 1.9, 4), height + _ROW * grid.shape[0] + 0.9)
    figure = new_figure(size, path)
    above, axes = figure.subplots(2, 1, height_ratios=(height, _ROW * grid.shape[0]))
    image = heatmaps.draw_cells(axes, grid, vmax)
    axes.set_aspect("auto")
    heatmaps.draw_rows(axes, rows, 10)
    axes.set_xticks(range(len(numbers)), labels=columns.words, size=8)
    axes.set_xlabel("frame", fontsize=9, color="0.35")
    for top, bottom, first, after in outlines:
        _outline(axes, top, bottom, first, after)
    _draw_pictures(above, frames)
    heatmaps.draw_color_bar(image, axes.inset_axes((1 + 0.4 / grid.shape[1], 0, 0.012, 1)))
    if outlines:
        axes.annotate(
            "outlined: the frames that the words are about",
            xy=(0, 0),
            xycoords="axes fraction",
            xytext=(0, -30),
            textcoords="offset points",
            va="top",
            size=9,
            color=_NOTE_COLOR,
        )
    if title:
        heatmaps.draw_title(above, title.translate(boxes), 12, pad=8)
    if path is not None:
        save(figure, path)
    return axes


def _as_pictures(frames):
    """Return frames as pictures (S, height, width, 3)."""
    frames = np.asarray(frames, dtype=float)
    if frames.ndim == 3:
        frames = frames[..., None]
    if frames.ndim != 4 or frames.shape[-1] not in (1, 3) or 0 in frames.shape:
        raise ValueError(
            "frames must have shape (S, height, width) or (S, height, width, 1 or 3) and not be "
            f"empty, got {frames.shape}"
        )
    if not ((frames >= 0) & (frames <= 1)).all():
        raise ValueError(
            f"frames must be from 0 to 1, got numbers from {frames.min():.3g} to {frames.max():.3g}"
        )
    return np.broadcast_to(frames, (*frames.shape[:3], 3))


def _outlines(spans, words, frames):
    """Return the outlines: (first row, last row, first frame, frame after the last)."""
    if spans is None:
        return []
    spans = np.asarray(spans)
    if spans.shape != (words, 2) or spans.dtype.kind not in "iu":
        raise ValueError(
            f"spans must be integers (T, 2) = ({words}, 2), got {spans.dtype} {spans.shape}"
        )
    first, after = spans.T
    odd = np.flatnonzero((first < 0) | (first > after) | (after > frames))
    if odd.size:
        raise ValueError(
            f"spans must be (first, after the last) of {frames} frames, got "
            f"{tuple(spans[odd[0]].tolist())}"
        )
    found = []
    for row, (first, after) in enumerate(spans.tolist()):
        if found and found[-1][1:] == [row - 1, first, after]:
            found[-1][1] = row
        elif first < after:
            found.append([row, row, first, after])
    return found


def _outline(axes, top, bottom, first, after):
    """Draw a frame around rows `top` to `bottom` and columns `first` to before `after`."""
    from matplotlib.patches import Rectangle

    corner = first - 0.46, top - 0.44
    axes.add_patch(
        Rectangle(
            corner, after - first - 0.08, bottom - top + 0.88, fill=False, ec=_SPAN_COLOR, lw=1.8
        )
    )


def _draw_pictures(axes, frames):
    """Draw the frames side by side, each as wide as a column, with a white line between."""
    count, height, width, _ = frames.shape
    line = max(width // 12, 1)
    strip = np.ones((height, count, width + line, 3))
    strip[:, :, :width] = frames.transpose(1, 0, 2, 3)
    axes.imshow(
        strip.reshape(height, -1, 3),
        extent=(-0.5, count - 0.5, 1, 0),
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_axis_off()
