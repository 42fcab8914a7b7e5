"""What a network attends to, glimpse by glimpse: from arrays to matplotlib."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_attention.plotting.figures import STYLES, boxes_for, check_plot_path, new_figure, save
from keras_attention.types import Array

_GAP = 1  # cells between the patches of a glimpse
_PATH, _BOX = STYLES[0]["color"], STYLES[1]["color"]


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
    glimpses, and a line joins them. The patches of each glimpse follow, the finest scale first.
    `path` works as in `plot_attention`.

    Args:
        pictures: (N, H, W); larger values are brighter.
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
    looks, scales = patches.shape[1:3]
    shape = np.array(pictures.shape[1:])
    widths = [2 * shape[1] / shape[0], *[scales] * looks]
    figure = new_figure((0.9 * sum(widths) + 0.5, 2.1 * len(pictures)), path)
    grid = figure.subplots(len(pictures), 1 + looks, squeeze=False, width_ratios=widths)
    for row, picture, way, seen, title in zip(
        grid, pictures, locations, patches, titles, strict=True
    ):
        _draw_way(row[0], picture, (way + 1) / 2 * shape, seen.shape[-1])
        row[0].set_title(title.translate(boxes_for([title])), fontsize=9, parse_math=False)
        for number, (axes, glimpse) in enumerate(zip(row[1:], seen, strict=True), 1):
            axes.imshow(_side_by_side(glimpse), cmap="gray", vmin=0, vmax=max(picture.max(), 1e-9))
            axes.set_title(f"{number}", fontsize=9, color=_BOX)
        for axes in row:
            axes.set_axis_off()
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


def _draw_way(axes, picture, way, side):
    """Draw a picture and over it the glimpse centres (T, 2) in pixels, joined and numbered."""
    from matplotlib.patches import Rectangle

    height, width = picture.shape
    axes.imshow(picture, cmap="gray", extent=(0, width, height, 0))
    axes.plot(way[:, 1], way[:, 0], color=_PATH, linewidth=2)
    for number, (row, column) in enumerate(way, 1):
        corner = (column - side / 2, row - side / 2)
        last = number == len(way)
        axes.add_patch(Rectangle(corner, side, side, fill=False, ec=_BOX, lw=2 if last else 0.8))
        axes.text(column, row, f"{number}", color="white", fontsize=8, ha="center", va="center",
                  bbox={"boxstyle": "circle,pad=0.15", "fc": _PATH, "ec": "none"})  # fmt: skip
    axes.set(xlim=(0, width), ylim=(height, 0))


def _side_by_side(patches):
    """Join patches (K, g, g) into one picture, with white gaps between them."""
    gap = np.full((patches.shape[1], _GAP), np.inf)
    parts = [part for patch in patches for part in (patch, gap)]
    return np.concatenate(parts[:-1], axis=1)
