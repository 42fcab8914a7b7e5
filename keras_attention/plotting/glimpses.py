"""What a network attends to, glimpse by glimpse: from arrays to matplotlib."""

from collections.abc import Sequence
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

_GAP = 1  # cells between the patches of a glimpse
# Of the glimpses, in their order: bright enough for a black picture.
_COLOURS = ("#e69f00", "#56b4e9", "#00b080", "#cc79a7", "#f0e442", "#d55e00")
_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))  # of a box, right and down, where its number stands


def plot_glimpses(
    pictures: Array,
    locations: Array,
    patches: Array,
    titles: Sequence[str] | None = None,
    *,
    path: Path | str | None = None,
) -> np.ndarray:
    """Draw the path of the glimpses over each picture, and beside it the patches they contain.

    Each row starts with a picture: numbered boxes of the size of the finest patch mark its
    glimpses, and a line joins their middles. A box has its number at a corner, so that it hides
    nothing of what was seen: the first at the upper left, the next ones clockwise. What each
    glimpse saw follows in a frame of its colour, the finest scale on top. `path` works as in
    `plot_attention`.

    Args:
        pictures: (N, H, W); larger values are brighter. Black is 0, or the lowest value of the
            picture if that is below 0; white is its highest value, in its patches as well.
        locations: (N, T, 2): row and column in [−1, 1], from corner to corner of the picture.
        patches: (N, T, K, g, g), the K patches of each glimpse.
        titles: a line for each picture, such as its label and the prediction.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` as an array (N, 1 + T).

    Raises:
        ValueError: the shapes do not match, or the extension is not supported.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    if path is not None:
        path = check_plot_path(path)
    pictures, locations, patches = map(np.asarray, (pictures, locations, patches))
    titles = [""] * len(pictures) if titles is None else titles
    _check(pictures, locations, patches, titles)
    boxes = boxes_for(titles)
    looks, scales = patches.shape[1:3]
    shape = np.array(pictures.shape[1:])
    tall = max(scales, 2)
    widths = [tall * shape[1] / shape[0], *[1] * looks]
    figure = new_figure((1.3 * sum(widths), (1.3 * tall + 0.3) * len(pictures)), path)
    grid = figure.subplots(len(pictures), 1 + looks, squeeze=False, width_ratios=widths)
    for row, picture, way, seen, title in zip(
        grid, pictures, locations, patches, titles, strict=True
    ):
        greys = {"cmap": "gray", "vmin": min(picture.min(), 0), "vmax": max(picture.max(), 1e-9)}
        _draw_way(row[0], picture, (way + 1) / 2 * shape, seen.shape[-1], greys)
        row[0].set_title(title.translate(boxes), fontsize=11, **AS_WRITTEN)
        for number, (axes, glimpse) in enumerate(zip(row[1:], seen, strict=True)):
            _draw_seen(axes, glimpse, number, greys)
    if path is not None:
        save(figure, path)
    return grid


def _check(pictures, locations, patches, titles):
    together = {len(pictures), len(locations), len(patches), len(titles)}
    ranks = (pictures.ndim, locations.ndim, patches.ndim)
    if ranks != (3, 3, 5) or len(together) > 1 or not len(pictures):
        raise ValueError(
            "pictures (N, H, W), locations (N, T, 2), patches (N, T, K, g, g) and titles must "
            f"have the same N, got {pictures.shape}, {locations.shape}, {patches.shape} and "
            f"{len(titles)} titles"
        )
    if locations.shape[1:] != (patches.shape[1], 2):
        raise ValueError(
            "each glimpse must have a location and patches, (N, T, 2) and (N, T, K, g, g), "
            f"got {locations.shape} and {patches.shape}"
        )


def _draw_way(axes, picture, way, side, greys):
    """Draw a picture, over it the glimpse centres (T, 2) in pixels, joined, and their boxes."""
    from matplotlib.patches import Rectangle

    height, width = picture.shape
    draw_array(axes, picture, extent=(0, width, height, 0), **greys)
    axes.plot(way[:, 1], way[:, 0], color="white", linewidth=1)
    corners = way[:, ::-1] - side / 2  # the upper left of each box: x, y
    for number, corner in enumerate(corners):
        colour = _COLOURS[number % len(_COLOURS)]
        axes.add_patch(Rectangle(corner, side, side, fill=False, ec=colour, lw=2))
        x, y = corner + np.multiply(_CORNERS[number % len(_CORNERS)], side)
        axes.text(x, y, f"{number + 1}", fontsize=10, color="black", ha="center", va="center",
                  bbox={"boxstyle": "square,pad=0.15", "fc": colour, "ec": "none"})  # fmt: skip
    most = np.maximum((width, height), corners.max(axis=0) + side) + 1
    least = np.minimum(0, corners.min(axis=0)) - 1
    axes.set(xlim=(least[0], most[0]), ylim=(most[1], least[1]))
    axes.set_axis_off()


def _draw_seen(axes, glimpse, number, greys):
    """Draw what a glimpse saw, patches (K, g, g), in a frame of its colour."""
    draw_array(axes, _one_below_the_other(glimpse), **greys)
    axes.set_title(f"{number + 1}", fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color=_COLOURS[number % len(_COLOURS)], linewidth=2)


def _one_below_the_other(patches):
    """Join patches (K, g, g) into one picture, with white gaps between them."""
    gap = np.full((_GAP, patches.shape[2]), np.inf)
    parts = [part for patch in patches for part in (patch, gap)]
    return np.concatenate(parts[:-1])
