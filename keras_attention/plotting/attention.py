"""Heat maps of attention weights: arrays and token lists -> matplotlib."""

import math
import operator
import unicodedata

import numpy as np

from keras_attention.plotting.figures import boxes_for, check_plot_path, new_figure, save

_LONGEST_LABEL = 20  # characters, of which the last may be an ellipsis
_UNKNOWN_COLOR = "#b5300c"
_LINK_COLOR = "#f5a300"
_FADED = "#6b6b6b"


def plot_attention(
    weights,
    context_tokens,
    target_tokens,
    *,
    unknown_context=(),
    unknown_target=(),
    links=None,
    orientation="target_rows",
    vmax=None,
    title=None,
    ax=None,
    path=None,
):
    """Draw attention weights as a heat map: the darker a cell, the more was looked at.

    Without `path` and `ax` the figure is made by pyplot: a notebook shows it, a script shows it
    with `plt.show()` and lets go of it with `plt.close(ax.figure)`. With `path` it is only saved,
    and any number may be made.

    Args:
        weights: `(T, S)`, or `(H, T, S)`, of which the mean over the heads is drawn. Anything that
            `np.asarray` takes.
        context_tokens: S words, as the user wrote them.
        target_tokens: T words.
        unknown_context: positions, or S booleans, of the context words that the vocabulary lacks.
            They are drawn in another colour with an outline, and a line below says why.
        unknown_target: the same for the target words.
        links: pairs `(context, target)` of positions, such as a gold alignment; their cells are
            outlined.
        orientation: `"target_rows"`: a row is a target word, as Keras returns the weights.
            `"context_rows"`: the transpose; a row is a context word, a column a target word.
        vmax: the weight that is drawn darkest; the palest is always 0. By default the largest
            weight in the picture; pass 1 to make pictures comparable.
        title: a line above the picture, drawn as it is.
        ax: matplotlib axes to draw into; by default a figure is made, large enough for the words.
        path: file to save to; its extension says how (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes`. `ax.images[0].get_array()` are the weights as drawn.

    Raises:
        ValueError: a shape, a position, the orientation or the extension does not fit, a sentence
            has no words, or a weight is negative or not finite.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).

    Warns:
        UserWarning: the font lacks some letter; it is drawn as □.

    Example:
        >>> ax = plot_attention([[0.9, 0.1], [0.2, 0.8]], ["Hace", "frío"], ["it's", "cold"])
    """
    if path is not None:
        path = check_plot_path(path)
    context_tokens = _as_tokens("context_tokens", context_tokens)
    target_tokens = _as_tokens("target_tokens", target_tokens)
    grid = _as_grid(weights, len(target_tokens), len(context_tokens))
    rows = target_tokens, _positions("unknown_target", unknown_target, len(target_tokens))
    columns = context_tokens, _positions("unknown_context", unknown_context, len(context_tokens))
    links = _as_links(links, len(context_tokens), len(target_tokens))
    row_name, column_name = "target", "context"
    if orientation == "context_rows":
        grid, rows, columns, links = grid.T, columns, rows, [(t, s) for s, t in links]
        row_name, column_name = column_name, row_name
    elif orientation != "target_rows":
        raise ValueError(
            f'orientation must be "target_rows" or "context_rows", got {orientation!r}'
        )
    vmax = float(grid.max() or 1.0) if vmax is None else float(vmax)
    if not 0 < vmax < math.inf:
        raise ValueError(f"vmax must be a positive number, got {vmax}")

    if ax is None:
        cell = _cell_size(grid.shape)
        ax = new_figure(_figure_size(cell, rows[0], columns[0], title), path).subplots()
    else:
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        cell = min(box.height / grid.shape[0], box.width / grid.shape[1])
    size = _font_size(cell)
    boxes = boxes_for([*rows[0], *columns[0], title or ""])

    image = ax.imshow(grid, cmap="Blues", vmin=0.0, vmax=vmax, aspect="equal")
    _draw_cells(ax, grid.shape, links, cell)
    fits = _width(columns[0], size) < 0.9 * cell
    style = {"size": size, "parse_math": False, "usetex": False}
    for axis, name, (words, unknown), rotation in (
        (ax.yaxis, row_name, rows, 0),
        (ax.xaxis, column_name, columns, 0 if fits else 60),
    ):
        words = [word.translate(boxes) for word in words]
        _label_axis(axis, name, words, unknown, rotation, style)
    _draw_color_bar(ax, image, grid.shape, cell)
    _draw_notes(ax, bool(rows[1] or columns[1]), bool(links))
    if title:
        ax.set_title(title.translate(boxes), **{**style, "size": 12}, pad=10)
    if path is not None:
        save(ax.figure, path)
    return ax


def _as_tokens(name, tokens):
    """Return the labels of a sentence: one line each, not too long, never invisible."""
    if isinstance(tokens, str):
        raise ValueError(f"{name} must be a list of words, got one str: {tokens!r}")
    labels = []
    for token in tokens:
        # Composed letters (é, not e and an accent) are what fonts have.
        text = unicodedata.normalize("NFC", str(token))
        text = "".join(c if c.isprintable() else " " for c in text).strip() or "␣"
        short = text[: _LONGEST_LABEL - 1] + "…" if len(text) > _LONGEST_LABEL else text
        labels.append(short)
    if not labels:
        raise ValueError(f"{name} must hold at least one word, got none")
    return labels


def _as_grid(weights, rows, columns):
    """Return the weights as a checked array `(T, S)` of floats."""
    try:
        grid = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be an array of numbers, got {type(weights)}") from error
    letters, expected = "(T, S)", (rows, columns)
    if grid.ndim == 3:
        letters, expected = "(H, T, S)", (max(grid.shape[0], 1), rows, columns)
    if grid.shape != expected:
        raise ValueError(f"weights must have shape {letters} = {expected}, got {grid.shape}")
    if not np.isfinite(grid).all():
        raise ValueError("weights must be finite, got NaN or infinity")
    if (grid < 0).any():
        raise ValueError(
            f"weights must not be negative, got {grid.min():.3g}; are they scores, "
            "from before the softmax?"
        )
    return grid.mean(axis=0) if grid.ndim == 3 else grid


def _positions(name, marked, length):
    """Return the set of positions that a list of positions or of booleans means."""
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


def _as_links(links, context_length, target_length):
    """Return the links as a sorted list of checked pairs `(context, target)`."""
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


def _cell_size(shape):
    """Return the side of a cell in inches: about 9 for the longer side of the picture."""
    return min(max(9.0 / max(shape), 0.16), 0.62)


def _font_size(cell):
    """Return the font size in points of words beside cells with sides of `cell` inches."""
    return min(max(0.6 * 72 * cell, 4.0), 12.0)


def _width(words, size):
    """Return about how many inches the longest word takes at a font size in points."""
    return max(map(len, words)) * 0.62 * size / 72


def _figure_size(cell, row_words, column_words, title):
    """Return inches (width, height) that hold the cells and the words around them."""
    left, top = (_width(words, _font_size(cell)) for words in (row_words, column_words))
    width = max(len(column_words) * cell + left + 1.9, 3.6)  # the notes take that much
    return width, len(row_words) * cell + top + (1.5 if title else 1.1)


def _draw_cells(ax, shape, links, cell):
    """Draw the lines between the cells, and an outline around every linked cell."""
    from matplotlib.patches import Rectangle

    rows, columns = shape
    ax.set_xticks(np.arange(0.5, columns - 1), minor=True)
    ax.set_yticks(np.arange(0.5, rows - 1), minor=True)
    ax.grid(visible=False, which="major")  # which a style may have switched on
    ax.grid(which="minor", color="0.88", linewidth=0.5)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set(color="0.6", linewidth=0.8)
    for column, row in links:
        corner = column - 0.44, row - 0.44
        width = min(max(5.0 * cell, 1.2), 2.2)
        ax.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, ec=_LINK_COLOR, lw=width))


def _label_axis(axis, name, words, unknown, rotation, style):
    """Write the words along an axis; outline those that are unknown."""
    axis.set_ticks(range(len(words)), labels=words, **style)
    if axis.axis_name == "x":
        axis.tick_top()
        axis.set_label_position("top")
        axis.set_tick_params(pad=8 if rotation else 4)
    axis.set_label_text(name, fontsize=9, color=_FADED)
    for position, label in enumerate(axis.get_ticklabels()):
        if rotation:
            label.set(rotation=rotation, ha="left", va="center", rotation_mode="anchor")
        if position in unknown:
            label.set_color(_UNKNOWN_COLOR)
            frame = {"boxstyle": "round,pad=0.12", "fc": "none", "ec": _UNKNOWN_COLOR, "lw": 0.8}
            label.set_bbox(frame)


def _draw_color_bar(ax, image, shape, cell):
    """Draw the scale of the weights, as high as the cells, whatever room the axes have."""
    columns = shape[1]
    width, gap = 0.14 / cell / columns, 0.16 / cell / columns
    bar = ax.figure.colorbar(image, cax=ax.inset_axes([1 + gap, 0, width, 1]))
    bar.outline.set(edgecolor="0.6", linewidth=0.8)
    bar.ax.tick_params(labelsize=9, length=3, color="0.6")
    bar.set_label("attention weight", fontsize=9, color=_FADED)


def _draw_notes(ax, has_unknown, has_links):
    """Say below the picture what the outlines mean."""
    notes = []
    if has_unknown:
        notes.append(("outlined word: not in the vocabulary", _UNKNOWN_COLOR))
    if has_links:
        notes.append(("outlined cell: aligned words", "#8f6000"))
    for line, (note, color) in enumerate(notes):
        place = {"xy": (0, 0), "xycoords": "axes fraction", "textcoords": "offset points"}
        ax.annotate(note, xytext=(0, -8 - 13 * line), va="top", size=9, color=color, **place)
