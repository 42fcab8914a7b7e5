"""Figures: made for the screen or for a file, saved whole or not at all, with fonts checked."""

import io
import os
import unicodedata
import warnings
from pathlib import Path

from keras_attention.storage import written_whole

_SHAPES_TEXT = (3, 11)  # the first matplotlib that lays out text in every script
# Of curves: Okabe and Ito's colours, with a marker and a line of their own each.
STYLES = (
    {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    {"color": "#d55e00", "marker": "s", "linestyle": "--"},
    {"color": "#009e73", "marker": "^", "linestyle": ":"},
    {"color": "#cc79a7", "marker": "D", "linestyle": "-."},
)


def check_plot_path(path):
    """Check that a picture can be saved at `path`: call it before long work, not after.

    Args:
        path: the file to be; nothing is created.

    Returns:
        `path` as a `pathlib.Path`.

    Raises:
        ValueError: the extension is missing, or matplotlib has none such.
        FileNotFoundError: its folder is missing.
        NotADirectoryError: its folder is a file.
        IsADirectoryError: `path` is a folder.
        PermissionError: its folder cannot be written to.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    path = Path(path)
    supported = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix[1:].lower() not in supported:
        raise ValueError(
            f"path must end in one of {', '.join('.' + name for name in supported)}, got '{path}'"
        )
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(f"path must lie in an existing folder, got '{path}'")
    if not folder.is_dir():
        raise NotADirectoryError(f"path must lie in a folder, got '{path}': '{folder}' is a file")
    if path.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder '{path}'")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"path must lie in a folder that can be written to, got '{path}'")
    return path


def new_figure(size, path, layout="constrained"):
    """Return an empty figure: pyplot's own if it is to be shown, a free one if only saved."""
    if path is None:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=size, layout=layout)
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout=layout)


def boxes_for(texts):
    """Return the table that puts □ for every letter which the reader's fonts lack, and warn.

    Also warn where Arabic or Hebrew is written by a matplotlib that cannot join its letters.
    """
    import matplotlib
    from matplotlib.font_manager import FontProperties, findfont, get_font

    letters = set("".join(texts))
    if matplotlib.__version_info__ < _SHAPES_TEXT and any(map(is_read_from_the_right, letters)):
        warnings.warn(
            f"matplotlib {matplotlib.__version__} writes Arabic and Hebrew letter by letter from "
            "left to right; 3.11 and later write them as they are read",
            UserWarning,
            stacklevel=3,
        )
    missing = set(map(ord, "".join(texts))) - {ord("\n")}
    for family in FontProperties().get_family():
        font = findfont(FontProperties(family=[family]))
        missing.difference_update(get_font(font).get_charmap())
    if missing:
        letters = " ".join(map(chr, sorted(missing)))
        warnings.warn(
            f"the font has no {letters}: drawn as □. Name one that has them in "
            'matplotlib.rcParams["font.family"], such as ["DejaVu Sans", "Noto Sans CJK JP"]',
            UserWarning,
            stacklevel=3,
        )
    return dict.fromkeys(missing, "□")


def page_style(dark=False):
    """Return a context whose pictures are drawn on a dark page, or as they are drawn anyway."""
    import matplotlib.style

    return matplotlib.style.context("dark_background" if dark else {})


def is_dark():
    """Tell whether the page is dark, as with `matplotlib.style.context("dark_background")`."""
    import matplotlib
    from matplotlib.colors import to_rgb

    return sum(to_rgb(matplotlib.rcParams["text.color"])) > 1.5


def is_read_from_the_right(letter):
    """Tell whether Unicode has a letter of Arabic, Hebrew and the like."""
    return unicodedata.bidirectional(letter) in ("R", "AL")


def save(figure, path):
    """Write a figure to a checked path, whole or not at all, and the same bytes every time."""
    import matplotlib

    kind = path.suffix[1:].lower()
    undated = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "keras_attention"}):
        figure.savefig(
            picture, format=kind, dpi=150, bbox_inches="tight", metadata=undated.get(kind)
        )
    with written_whole(path) as part:
        part.write_bytes(picture.getvalue())
