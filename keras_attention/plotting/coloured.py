"""Text coloured by attention: one line per target word, or an animation over time."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.plotting import heatmaps
from keras_attention.plotting.figures import (
    AS_WRITTEN,
    boxes_for,
    check_place,
    check_plot_path,
    faded,
    new_figure,
    save,
    width_of,
)
from keras_attention.storage import written_whole
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _NARROWEST = 9.0, 3.5  # page widths in inches
_SIZE, _LARGE = 11, 17  # font sizes in points
_PALEST = 0.55  # fraction of the darkest weight above which letters are white
# A GIF shows a picture for 655.35 seconds at most, and the last word is shown three times as long.
_LONGEST = 218


def plot_coloured_text(
    weights: Array,
    context_tokens: Iterable[str],
    target_tokens: Iterable[str],
    *,
    unknown_context: Iterable[int] = (),
    unknown_target: Iterable[int] = (),
    axis_names: tuple[str, str] | list[str] = ("target", "context"),
    vmax: float | None = None,
    title: str | None = None,
    path: Path | str | None = None,
) -> "Axes":
    """Draw the context once for every target word; a darker word has a larger weight.

    This is easier to read aloud than a heat map, and no wider than a page for sentences of any
    length. `path` works as in `plot_attention`.

    Args:
        weights: `(T, S)`, or `(H, T, S)`, which is averaged over the heads.
        context_tokens: S words.
        target_tokens: T words.
        unknown_context: as for `plot_attention`; these words are underlined.
        unknown_target: the same for the target words.
        axis_names: the names of the two texts, the target first.
        vmax: the weight drawn darkest; by default the largest.
        title: a line above the figure.
        path: file to save to.

    Returns:
        The matplotlib `Axes`.

    Raises:
        ValueError: as `plot_attention` does.
        OSError: `path` cannot be written.
    """
    path = None if path is None else check_plot_path(path)
    grid, rows, columns, shade = _checked(
        weights, context_tokens, target_tokens, unknown_context, unknown_target, axis_names, vmax
    )
    boxes = boxes_for([*rows.texts, *columns.texts, title or ""])
    rows, columns = rows.boxed(boxes), columns.boxed(boxes)
    margin = width_of([*rows.words, rows.name], _SIZE) + 0.3
    lines = _broken(columns.words, _SIZE, _WIDTH - margin - 0.2)
    pitch = 0.3 * len(lines) + 0.08
    title = (title or "").translate(boxes)
    width = max(margin + _widest(lines) + 0.2, _title_width(title), _NARROWEST)
    height = pitch * len(rows.words) + (0.9 if title else 0.5)
    ax = _page(width, height, path)
    top = height - (0.6 if title else 0.2)
    small = {"size": 9, "color": faded(), "va": "center", **AS_WRITTEN}
    ax.text(margin - 0.15, top, rows.name, ha="right", **small)
    ax.text(margin, top, columns.name, **small)
    heatmaps.draw_title(ax, title, 12, y=1 - 0.35 / height)
    for number, word in enumerate(rows.words):
        y = top - 0.28 - pitch * number
        color = heatmaps.unknown() if number in rows.unknown else _ink()
        place = {"ha": "right", "va": "center", "size": _SIZE, **AS_WRITTEN}
        ax.text(margin - 0.15, y, word, color=color, **place)
        _write(ax, lines, columns, shade(grid[number]), margin, y, _SIZE)
    if path is not None:
        save(ax.figure, path)
    return ax


def animate_attention(
    weights: Array,
    context_tokens: Iterable[str],
    target_tokens: Iterable[str],
    path: Path | str,
    *,
    unknown_context: Iterable[int] = (),
    unknown_target: Iterable[int] = (),
    axis_names: tuple[str, str] | list[str] = ("target", "context"),
    vmax: float | None = None,
    title: str | None = None,
    seconds: float = 0.9,
) -> Path:
    """Write an animation: the target appears word by word while the context is coloured.

    Args:
        weights: as for `plot_coloured_text`.
        context_tokens: S words.
        target_tokens: T words.
        path: the GIF to write.
        unknown_context: as for `plot_attention`.
        unknown_target: the same for the target words.
        axis_names: the names of the two texts.
        vmax: the weight drawn darkest.
        title: a line above the figure.
        seconds: how long each word is shown, at most 218; the last one is shown three times as
            long.

    Returns:
        The path.

    Raises:
        ValueError: as `plot_attention` does; or `path` does not end in `.gif`, or `seconds` is not
            positive or more than 218.
        OSError: `path` cannot be written.
    """
    path = check_animation_path(path)
    if not 0 < seconds <= _LONGEST:
        raise ValueError(f"seconds must be positive and at most {_LONGEST}, got {seconds}")
    grid, rows, columns, shade = _checked(
        weights, context_tokens, target_tokens, unknown_context, unknown_target, axis_names, vmax
    )
    boxes = boxes_for([*rows.texts, *columns.texts, title or ""])
    rows, columns = rows.boxed(boxes), columns.boxed(boxes)
    above = _broken(columns.words, _LARGE, _WIDTH - 0.6)
    below = _broken(rows.words, _LARGE, _WIDTH - 0.6)
    title = (title or "").translate(boxes)
    inside = max(_widest([*above, *below]), width_of([rows.name, columns.name], 9))
    width = max(inside + 0.6, _title_width(title), _NARROWEST)
    height = 0.46 * (len(above) + len(below)) + (1.5 if title else 1.1)
    frames = []
    for now in range(len(rows.words)):
        ax = _page(width, height, path)
        top = height - (0.6 if title else 0.2)
        small = {"size": 9, "color": faded(), "va": "center", **AS_WRITTEN}
        heatmaps.draw_title(ax, title, 12, y=1 - 0.35 / height)
        ax.text(0.3, top, columns.name, **small)
        _write(ax, above, columns, shade(grid[now]), 0.3, top - 0.4, _LARGE)
        middle = top - 0.46 * len(above) - 0.35
        ax.text(0.3, middle, rows.name, **small)
        written = [heatmaps.unknown() if place == now else _ink() for place in range(now + 1)]
        colours = [("none", color) for color in written]
        _write(ax, below, rows, colours, 0.3, middle - 0.4, _LARGE)
        frames.append(_pixels(ax.figure))
    frames = _in_one_palette(frames)
    held = [round(1000 * seconds)] * (len(frames) - 1) + [round(3000 * seconds)]
    moving = io.BytesIO()
    frames[0].save(
        moving, "GIF", save_all=True, append_images=frames[1:], duration=held, loop=0, optimize=True
    )
    with written_whole(path) as part:
        part.write_bytes(moving.getvalue())
    return path


def check_animation_path(path: Path | str) -> Path:
    """Check before long work that an animation can be saved at `path`.

    Args:
        path: the file to write later; nothing is created now.

    Returns:
        The checked path.

    Raises:
        ValueError: `path` does not end in `.gif`.
        OSError: as `check_plot_path` does.
    """
    path = Path(path)
    if path.suffix.lower() != ".gif":
        raise ValueError(f"the path of an animation must end in .gif, got '{path}'")
    check_place(path)
    return path


def _checked(weights, context, target, unknown_context, unknown_target, axis_names, vmax):
    """Return the weights, both sides, and a function from a row of weights to colours.

    The colours of each weight are a pair (background, letters).
    """
    import matplotlib

    rows, columns = heatmaps.as_sides(context, target, unknown_context, unknown_target, axis_names)
    grid = heatmaps.as_grid("weights", weights, len(rows.words), len(columns.words))
    vmax = heatmaps.as_vmax(vmax, [grid])
    colours = matplotlib.colormaps[heatmaps.COLOURS]

    def shade(row):
        shares = [min(weight / vmax, 1.0) for weight in row]
        return [(colours(share), "white" if share > _PALEST else "black") for share in shares]

    return grid, rows, columns, shade


def _ink():
    """Return the colour of letters on the page, which a style may make dark."""
    import matplotlib

    return matplotlib.rcParams["text.color"]


def _broken(words, size, width):
    """Break words into lines at most `width` inches wide: lists of (position, word, its width).

    A word's width is that of its box, in inches, with room at both sides.
    """
    lines, used = [[]], 0.0
    for position, word in enumerate(words):
        wide = width_of([word], size) + 0.7 * size / 72
        if lines[-1] and used + wide > width:
            lines.append([])
            used = 0.0
        lines[-1].append((position, word, wide))
        used += wide
    return lines


def _widest(lines):
    """Return the width in inches of the widest line."""
    return max(sum(wide for _, _, wide in line) for line in lines)


def _title_width(title):
    """Return the width in inches of a page that holds a title."""
    import matplotlib

    weight = matplotlib.rcParams["axes.titleweight"]
    return width_of([title], 12, weight=weight) + 0.4


def _page(width, height, path):
    """Return empty axes, in inches, that fill a new figure."""
    ax = new_figure((width, height), path, layout=None).add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    return ax


def _write(ax, lines, side, colours, left, top, size):
    """Write lines of words, each centred in its box; omit words without a colour.

    A sentence in Arabic or Hebrew begins at the right.
    """
    from matplotlib.patches import Rectangle

    high = 1.7 * size / 72
    for number, line in enumerate(lines):
        x, y = left, top - number * 1.1 * high
        for position, word, wide in line:
            if position >= len(colours):
                return
            background, letters = colours[position]
            begin = ax.get_xlim()[1] - 0.2 - (x - left) - wide if side.runs_left else x
            corner = begin + 0.02, y - high / 2
            ax.add_patch(Rectangle(corner, wide - 0.04, high, color=background, lw=0))
            style = {"ha": "center", "va": "center", "size": size, **AS_WRITTEN}
            ax.text(begin + wide / 2, y, word, color=letters, **style)
            if position in side.unknown:
                ends, line_y = [begin + 0.06, begin + wide - 0.06], [y - high / 2 + 0.03] * 2
                ax.plot(ends, line_y, color=heatmaps.unknown(), lw=1.4)
            x += wide


def _pixels(figure):
    """Draw a figure and return its pixels: height, width, and red, green and blue."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(90)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3]


def _in_one_palette(frames):
    """Return frames of pixels as images for a GIF, all with the same 256 colours.

    No pixel is far from one of these. A choice by the number of pixels, as is usual, would lose the
    colour of a single word.
    """
    from PIL import Image

    strip = Image.fromarray(np.concatenate(frames)).quantize(256, Image.Quantize.MAXCOVERAGE)
    height = len(frames[0])
    return [
        strip.crop((0, top, strip.width, top + height)) for top in range(0, strip.height, height)
    ]
