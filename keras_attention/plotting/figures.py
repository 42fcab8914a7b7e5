"""Make figures for the screen or for a file, check fonts, and save whole or not at all."""

import io
import os
import shutil
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_attention.storage import written_whole
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

_SHAPES_TEXT = (3, 11)  # the first matplotlib that lays out text in every script
# Styles of curves: Okabe and Ito's colours, each with its own marker and line.
STYLES = (
    {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    {"color": "#d55e00", "marker": "s", "linestyle": "--"},
    {"color": "#009e73", "marker": "^", "linestyle": ":"},
    {"color": "#cc79a7", "marker": "D", "linestyle": "-."},
)
# For every text of the user: matplotlib draws it unchanged, without mathematics or TeX.
AS_WRITTEN: dict[str, Any] = {"parse_math": False, "usetex": False}
_MARGIN = 0.1  # inches
# Greys on a light page and on a dark one
_FADED, _GRID = ("0.42", "0.72"), ("0.9", "0.25")


def check_plot_path(path: Path | str) -> Path:
    """Check before long work that a picture can be saved at `path`.

    Args:
        path: the file to write later; nothing is created now.

    Returns:
        The checked path.

    Raises:
        ValueError: the extension is missing, matplotlib does not support it, or it needs TeX, which
            is not installed.
        FileNotFoundError: the folder of `path` is missing.
        NotADirectoryError: the folder of `path` is a file.
        IsADirectoryError: `path` is a folder.
        PermissionError: the folder of `path` is not writable.
    """
    from matplotlib import rcParams
    from matplotlib.backend_bases import FigureCanvasBase

    path = Path(path)
    supported = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix[1:].lower() not in supported:
        raise ValueError(
            f"path must end in one of {', '.join('.' + name for name in supported)}, got '{path}'"
        )
    tex = rcParams["pgf.texsystem"]
    if path.suffix.lower() == ".pgf" and shutil.which(tex) is None:
        raise ValueError(f"path ends in .pgf, which needs {tex} of TeX; install it, got '{path}'")
    check_place(path)
    return path


def check_place(path: Path) -> None:
    """Check that a file can be written at `path`, whatever its extension."""
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(f"path must lie in an existing folder, got '{path}'")
    if not folder.is_dir():
        raise NotADirectoryError(f"path must lie in a folder, got '{path}': '{folder}' is a file")
    if path.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder '{path}'")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"path must lie in a folder that can be written to, got '{path}'")


def as_numbers(name: str, values: Array) -> np.ndarray:
    """Check the numbers of a curve and return them as floats; NaN leaves a gap in the curve."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {values!r}") from error


def new_figure(
    size: tuple[float, float],
    path: Path | None,
    layout: Any = "constrained",
) -> "Figure":
    """Return an empty figure: one of pyplot to show, or one outside pyplot only to save."""
    if path is None:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=size, layout=layout)
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout=layout)


def boxes_for(texts: Sequence[str]) -> dict[int, str]:
    """Return a translation table to □ for letters missing from the fonts, and warn about them.

    Also warn if this version of matplotlib cannot join the letters of Arabic or Hebrew.
    """
    import matplotlib
    from matplotlib.font_manager import FontProperties, findfont, get_font

    text = "".join(texts)
    if matplotlib.__version_info__ < _SHAPES_TEXT and any(map(is_read_from_the_right, text)):
        warnings.warn(
            f"matplotlib {matplotlib.__version__} writes Arabic and Hebrew letter by letter from "
            "left to right; 3.11 and later write them as they are read",
            UserWarning,
            stacklevel=3,
        )
    missing = set(map(ord, text)) - {ord("\n")}
    for family in FontProperties().get_family():
        font = findfont(FontProperties(family=[family]))
        missing.difference_update(get_font(font).get_charmap())
    if missing:
        letters = " ".join(_named(letter) for letter in map(chr, sorted(missing)))
        warnings.warn(
            f"the font has no {letters}: drawn as □. Name one that has them in "
            'matplotlib.rcParams["font.family"], such as ["DejaVu Sans", "Noto Sans CJK JP"]',
            UserWarning,
            stacklevel=3,
        )
    return dict.fromkeys(missing, "□")


def _named(letter):
    return letter if letter.isprintable() else f"U+{ord(letter):04X}"


def width_of(texts: Iterable[str], size: float, **font: Any) -> float:
    """Return the width in inches of the longest line of all texts, at a font size in points.

    Letters that the fonts lack must be boxes already: matplotlib warns of each that it measures.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    style = FontProperties(size=size, **font)
    lines = "\n".join(texts).split("\n")
    measured = (text_to_path.get_text_width_height_descent(line, style, False) for line in lines)
    return max(width for width, _, _ in measured) / 72


def fit_figure(figure: "Figure", title: str = "") -> None:
    """Resize a figure of one inch to fit all that is drawn in it and around it, and the title."""
    from matplotlib.transforms import Affine2D

    texts = []
    if title:
        box = figure.get_tightbbox()
        middle, above = (box.x0 + box.x1) / 2, box.y1 + 0.12
        texts = [figure.suptitle(title, x=middle, y=above, va="bottom", size=12, **AS_WRITTEN)]
    box = figure.get_tightbbox().padded(_MARGIN)
    inches = Affine2D().translate(-box.x0, -box.y0).scale(1 / box.width, 1 / box.height)
    for ax in figure.axes:
        ax.set_position(ax.get_position().transformed(inches))
    for text in texts:
        x, y = inches.transform(text.get_position())
        text.set_position((x, y))
    figure.set_size_inches(box.width, box.height)


def draw_array(ax: "Axes", values: np.ndarray, **style: Any) -> "AxesImage":
    """Draw numbers as sharp cells, the first row on top, whatever the style in use says.

    Where there are more cells than pixels, a pixel shows their mean.
    """
    style = {"aspect": "equal", **style}
    return ax.imshow(values, origin="upper", interpolation="antialiased", **style)


def draw_legend(ax: "Axes", lines: "Sequence[Line2D]", names: Iterable[str], **place: Any) -> None:
    """Draw a legend with the names as written; matplotlib alone would leave out `_name`."""
    legend = ax.legend(lines, ["name"] * len(lines), frameon=False, fontsize=9, **place)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, **AS_WRITTEN)


def page_style(dark: bool = False) -> AbstractContextManager[None]:
    """Return a context that draws pictures on a dark page, or in the current style."""
    import matplotlib.style

    return matplotlib.style.context("dark_background" if dark else {})


def is_dark() -> bool:
    """Return whether the page is dark, as with `matplotlib.style.context("dark_background")`."""
    import matplotlib
    from matplotlib.colors import to_rgb

    return sum(to_rgb(matplotlib.rcParams["text.color"])) > 1.5


def faded() -> str:
    """Return the colour of text beside a picture."""
    return _FADED[is_dark()]


def draw_grid_lines(ax: "Axes") -> None:
    """Draw horizontal lines behind the curves, fainter than these on any page."""
    ax.grid(axis="y", color=_GRID[is_dark()], linewidth=0.8)
    ax.set_axisbelow(True)


def is_read_from_the_right(letter: str) -> bool:
    """Return whether a letter is written from right to left, as in Arabic and Hebrew."""
    return unicodedata.bidirectional(letter) in ("R", "AL")


def save(figure: "Figure | SubFigure", path: Path) -> None:
    """Write a figure to a checked path, whole or not at all, with the same bytes every time."""
    import matplotlib

    kind = path.suffix[1:].lower()
    undated = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "keras_attention"}):
        figure.figure.savefig(
            picture, format=kind, dpi=150, bbox_inches="tight", metadata=undated.get(kind)
        )
    with written_whole(path) as part:
        part.write_bytes(picture.getvalue())
