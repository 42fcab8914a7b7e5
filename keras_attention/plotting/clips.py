"""Attention to the frames of a clip: a heat map with frames above it and words beside it."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.plotting import heatmaps
from keras_attention.plotting.figures import (
    boxes_for,
    check_plot_path,
    draw_array,
    faded,
    fit_figure,
    new_figure,
    save,
)
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPAN_COLOR = "#f5a300"
_NOTE_COLOR = "#a86f00"
_COLUMN, _ROW = 0.36, 0.24  # inches
_NOTE = "outlined: the frames that the words are about"


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
    words = heatmaps.as_words("words", words)
    grid = heatmaps.as_grid("weights", weights, len(words), len(frames))
    outlines = _outlines(spans, *grid.shape)
    vmax = heatmaps.as_vmax(vmax, [grid])
    boxes = boxes_for([*words, title or ""])
    rows = heatmaps.AxisWords("word", words, set()).boxed(boxes)

    # Placed by hand, in inches: a layout engine of matplotlib would stretch few frames.
    figure = new_figure((1, 1), path, layout="none")
    strip = _side_by_side(frames)
    width, height = _COLUMN * len(frames), _ROW * len(words)
    above = figure.add_axes((0, height + 0.1, width, width * strip.shape[0] / strip.shape[1]))
    axes = figure.add_axes((0, 0, width, height))
    draw_array(above, strip, aspect="auto")
    above.set_axis_off()
    image = heatmaps.draw_cells(axes, grid, vmax)
    axes.set_aspect("auto")
    heatmaps.draw_rows(axes, rows, 10)
    numbers = [str(number) for number in range(1, len(frames) + 1)]
    axes.set_xticks(range(len(frames)), labels=numbers, size=8)
    axes.set_xlabel("frame", fontsize=9, color=faded())
    for top, bottom, first, after in outlines:
        _outline(axes, top, bottom, first, after)
    below = heatmaps.below_cells(height)
    bar = axes.inset_axes((1 + 0.16 / width, -below / height, 0.08 / width, 1 + below / height))
    heatmaps.draw_color_bar(image, bar)
    if outlines:
        heatmaps.draw_notes(axes, [(_NOTE, _NOTE_COLOR)], below=max(22, 72 * below + 8))
    heatmaps.draw_title(above, (title or "").translate(boxes), 12, pad=8)
    fit_figure(figure)
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


def _side_by_side(frames):
    """Join frames (S, height, width, 3) into one picture, with a white line after each."""
    count, height, width, _ = frames.shape
    line = max(width // 12, 1)
    strip = np.ones((height, count, width + line, 3))
    strip[:, :, :width] = frames.transpose(1, 0, 2, 3)
    return strip.reshape(height, -1, 3)
