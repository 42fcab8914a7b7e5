"""Parts that heat maps share: checks of arguments, cells, words at the sides, scale, notes."""

import math
import operator
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_attention.plotting.figures import (
    AS_WRITTEN,
    draw_array,
    faded,
    is_dark,
    is_read_from_the_right,
    width_of,
)
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

COLOURS = "Blues"
_LINK = "#f5a300"
# Colours of letters on a light page and on a dark one
_UNKNOWN, _LINK_NOTE = ("#b5300c", "#ff8a65"), ("#8f6000", "#f5a300")
_SHORTEST_BAR = 0.8  # inches, enough for the numbers of a scale and for its name
_LONGEST_LABEL = 20  # characters, including a final ellipsis
_JOINERS = "\u200c\u200d"  # unseen, but they say whether the letters beside them join


class AxisWords(NamedTuple):
    """One side of a heat map: its name, its words, and the positions of unknown words."""

    name: str
    words: list[str]
    unknown: set[int]

    @property
    def runs_left(self) -> bool:
        """Whether the sentence is read from right to left, as most of its letters are."""
        letters = "".join(self.words)
        to_right = sum(unicodedata.bidirectional(letter) == "L" for letter in letters)
        return sum(map(is_read_from_the_right, letters)) > to_right

    @property
    def texts(self) -> list[str]:
        """The name and the words of the side."""
        return [self.name, *self.words]

    def boxed(self, boxes: dict[int, str]) -> "AxisWords":
        """Return the side with □ for letters missing from the fonts."""
        words = [word.translate(boxes) for word in self.words]
        return AxisWords(self.name.translate(boxes), words, self.unknown)


def as_sides(
    context_tokens: Iterable[str],
    target_tokens: Iterable[str],
    unknown_context: Iterable[int],
    unknown_target: Iterable[int],
    axis_names: tuple[str, str] | list[str],
) -> list[AxisWords]:
    """Check the sides of a heat map and return them as [target, context]."""
    if not isinstance(axis_names, tuple | list) or len(axis_names) != 2:
        raise ValueError(f"axis_names must be a pair (target, context), got {axis_names!r}")
    sides = []
    for name, argument, tokens, unknown in (
        (axis_names[0], "target", target_tokens, unknown_target),
        (axis_names[1], "context", context_tokens, unknown_context),
    ):
        words = as_words(f"{argument}_tokens", tokens)
        positions = _positions(f"unknown_{argument}", unknown, len(words))
        sides.append(AxisWords(str(name), words, positions))
    return sides


def has_context_rows(orientation: str) -> bool:
    """Return whether rows are context words, so that the weights must be transposed."""
    if orientation not in ("target_rows", "context_rows"):
        raise ValueError(
            f'orientation must be "target_rows" or "context_rows", got {orientation!r}'
        )
    return orientation == "context_rows"


def as_grid(name: str, weights: Array, rows: int, columns: int) -> np.ndarray:
    """Check weights and return them as floats `(T, S)`, averaged over any heads."""
    try:
        grid = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers, got {type(weights)}") from error
    letters = "(T, S)"
    expected: tuple[int, ...] = (rows, columns)
    if grid.ndim == 3:
        letters, expected = "(H, T, S)", (max(grid.shape[0], 1), rows, columns)
    if grid.shape != expected:
        raise ValueError(f"{name} must have shape {letters} = {expected}, got {grid.shape}")
    if not np.isfinite(grid).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    if (grid < 0).any():
        raise ValueError(
            f"{name} must not be negative, got {grid.min():.3g}; are they scores, "
            "from before the softmax?"
        )
    return grid.mean(axis=0) if grid.ndim == 3 else grid


def as_vmax(vmax: float | None, grids: Sequence[np.ndarray]) -> float:
    """Return the weight drawn darkest: `vmax`, or the largest weight of all grids."""
    largest = max(float(grid.max()) for grid in grids)
    vmax = largest or 1.0 if vmax is None else float(vmax)
    if not 0 < vmax < math.inf:
        raise ValueError(f"vmax must be a positive number, got {vmax}")
    return vmax


def as_words(name: str, tokens: Iterable[str]) -> list[str]:
    """Check the words of a sentence and return them as labels: one short, visible line each."""
    if isinstance(tokens, str):
        raise ValueError(f"{name} must be a list of words, got one str: {tokens!r}")
    labels = []
    for token in tokens:
        # Fonts have composed letters: é, not e and an accent.
        text = unicodedata.normalize("NFC", str(token))
        text = "".join(map(_shown, text)).strip()
        text = text if text.strip(_JOINERS) else "␣"
        short = text[: _LONGEST_LABEL - 1] + "…" if len(text) > _LONGEST_LABEL else text
        labels.append(short)
    if not labels:
        raise ValueError(f"{name} must hold at least one word, got none")
    return labels


def _shown(letter):
    """Return a letter as it stands in one line: blanks are spaces, unseen marks are left out."""
    category = unicodedata.category(letter)
    if category == "Cf" and letter not in _JOINERS:
        return ""
    return " " if category in ("Cc", "Zl", "Zp", "Zs") else letter


def _positions(name, marked, length):
    """Return a set of positions from positions or booleans."""
    marked = np.asarray(list(marked))
    if marked.size == 0:
        return set()
    if marked.dtype == bool:
        if marked.shape != (length,):
            raise ValueError(f"{name} must have shape ({length},), got {marked.shape}")
        marked = np.flatnonzero(marked)
    if marked.ndim != 1 or marked.dtype.kind not in "iu":
        raise ValueError(f"{name} must be positions or booleans, got {marked.tolist()}")
    odd = [int(i) for i in marked if not 0 <= i < length]
    if odd:
        raise ValueError(f"{name} must be positions from 0 to {length - 1}, got {odd[0]}")
    return {int(i) for i in marked}


def unknown() -> str:
    """Return the colour of words that are not in the vocabulary."""
    return _UNKNOWN[is_dark()]


def as_links(
    links: Iterable[tuple[int, int]] | None, context_length: int, target_length: int
) -> list[tuple[int, int]]:
    """Return the links as a sorted list of checked pairs `(context, target)`.

    Raises:
        ValueError: they are not pairs of positions of these words.
    """
    try:
        pairs = {(operator.index(s), operator.index(t)) for s, t in links or ()}
    except (TypeError, ValueError):
        raise ValueError(f"links must be pairs (context, target), got {links!r}") from None
    for s, t in sorted(pairs):
        if not (0 <= s < context_length and 0 <= t < target_length):
            raise ValueError(
                f"links must be pairs (context, target) below ({context_length}, {target_length}), "
                f"got ({s}, {t})"
            )
    return sorted(pairs)


def draw_cells(ax: "Axes", grid: np.ndarray, vmax: float, leftwards: bool = False) -> "AxesImage":
    """Draw the weights, larger ones darker, with thin lines between the cells.

    With `leftwards` the columns run from right to left, the reading direction of Arabic and Hebrew.
    """
    image = draw_array(ax, grid, cmap=COLOURS, vmin=0.0, vmax=vmax)
    if leftwards:
        ax.invert_xaxis()
    rows, columns = grid.shape
    ax.set_xticks(np.arange(0.5, columns - 1), minor=True)
    ax.set_yticks(np.arange(0.5, rows - 1), minor=True)
    ax.grid(visible=False, which="major")  # a style may have switched it on
    ax.grid(which="minor", color="0.88", linewidth=0.5)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set(color="0.6", linewidth=0.8)
    return image


def draw_rows(ax: "Axes", side: AxisWords, size: float) -> None:
    """Write the words of the rows at the left, with a font size in points."""
    _draw_side(ax.yaxis, side, 0, size)


def draw_columns(ax: "Axes", side: AxisWords, size: float, cell: float) -> None:
    """Write the words of the columns at the top, slanted if they are wider than their cells."""
    rotation = 0 if width_of(side.words, size) < 0.9 * cell else 60
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.xaxis.set_tick_params(pad=8 if rotation else 4)
    _draw_side(ax.xaxis, side, rotation, size)


def _draw_side(axis, side, rotation, size):
    """Write the words along an axis and outline the unknown ones."""
    axis.set_ticks(range(len(side.words)), labels=side.words, size=size, **AS_WRITTEN)
    axis.set_label_text(side.name, fontsize=9, color=faded(), **AS_WRITTEN)
    for position, label in enumerate(axis.get_ticklabels()):
        if rotation:
            label.set(rotation=rotation, ha="left", va="center", rotation_mode="anchor")
        if position in side.unknown:
            label.set_color(unknown())
            frame = {"boxstyle": "round,pad=0.12", "fc": "none", "ec": unknown(), "lw": 0.8}
            label.set_bbox(frame)


def draw_links(ax: "Axes", links: Iterable[tuple[int, int]], cell: float) -> None:
    """Draw an outline around every linked cell (column, row); cells are `cell` inches wide."""
    from matplotlib.patches import Rectangle

    for column, row in links:
        corner = column - 0.44, row - 0.44
        width = min(max(5.0 * cell, 1.2), 2.2)
        ax.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, ec=_LINK, lw=width))


def draw_title(ax: "Axes", title: str, size: float, **place: Any) -> None:
    """Write a title unchanged, without parsing mathematics."""
    ax.set_title(title, size=size, **place, **AS_WRITTEN)


def below_cells(height: float) -> float:
    """Return how many inches a scale reaches below cells of `height` inches, to be readable."""
    return max(_SHORTEST_BAR - height, 0.0)


def draw_color_bar(image: "AxesImage", ax: "Axes", name: str = "attention weight") -> None:
    """Draw the scale of the weights, with its name, into axes of its own."""
    bar = ax.figure.colorbar(image, cax=ax)
    bar.outline.set(edgecolor="0.6", linewidth=0.8)
    ax.tick_params(labelsize=9, length=3, color="0.6")
    bar.set_label(name, fontsize=9, color=faded(), **AS_WRITTEN)


def as_notes(has_unknown: bool, outlined: str = "") -> list[tuple[str, str]]:
    """Return the notes that explain the outlines, pairs (text, colour).

    Args:
        has_unknown: whether some words are outlined.
        outlined: what the outlined cells are; empty: there is none.
    """
    notes = []
    if has_unknown:
        notes.append(("outlined word: not in the vocabulary", unknown()))
    if outlined:
        notes.append((f"outlined cell: {outlined}", _LINK_NOTE[is_dark()]))
    return notes


def draw_notes(
    ax: "Axes", notes: Iterable[tuple[str, str]], below: float = 0, bottom: float = 0
) -> None:
    """Write notes `below` points lower than directly under `bottom`, a fraction of the axes."""
    for line, (note, color) in enumerate(notes):
        ax.annotate(
            note,
            xy=(0, bottom),
            xycoords="axes fraction",
            xytext=(0, -8 - below - 13 * line),
            textcoords="offset points",
            va="top",
            size=9,
            color=color,
            **AS_WRITTEN,
        )
