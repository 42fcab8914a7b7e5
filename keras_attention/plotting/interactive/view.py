"""Write panels of attention weights as one HTML page: `page.html`, its style, script and data."""

import base64
import html
import json
import math
import string
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_attention.plotting.heatmaps import AxisWords
from keras_attention.plotting.merging import merge_words
from keras_attention.storage import encodable, written_whole
from keras_attention.types import Array

_LARGEST = 65535  # weights are stored as 16-bit numbers, in units of 1/65535
_ROW, _AROUND, _TALLEST = 26, 290, 900  # heights in pixels: one word, all else, the largest frame


class Side(NamedTuple):
    """The tokens that attend, or the tokens attended to.

    Attributes:
        name: what the tokens are, such as "translation".
        tokens: strings, as the user wrote them.
        groups: positions of the tokens of each word, such as `[[0], [1, 2]]`; None: each token is
            a word.
        unknown: positions of tokens that the model does not know.
    """

    name: str
    tokens: Sequence[str]
    groups: Sequence[Sequence[int]] | None = None
    unknown: Iterable[int] = ()


class Panel(NamedTuple):
    """One kind of attention.

    Attributes:
        name: what attends to what.
        queries: the `Side` that attends, T tokens.
        keys: the `Side` attended to, S tokens.
        layers: the weights of each layer, (H, T, S).
        verbs: what a query does, and what is done to a key, as the page says it.
    """

    name: str
    queries: Side
    keys: Side
    layers: Sequence[Array]
    verbs: tuple[str, str] = ("attends to", "is attended to by")


class View:
    """A page that shows what the words of two sentences attend to; a notebook displays it.

    The words stand on two sides with lines between them, or around a matrix. Point at a word, or
    move to it with the keyboard, to see its weights. The user chooses a layer and a head, or the
    mean over either, and whether to merge pieces into words: attention to the pieces of a word is
    summed, attention from its pieces is averaged.

    Args:
        panels: the kinds of attention to choose from.
        source: the sentence.
        text: its translation.
        candidates: pairs (text, score) found by beam search, the best first.

    Raises:
        ValueError: there is no panel, layer or head, weights do not fit their tokens, a weight is
            not a number from 0 to 1, groups do not hold each token once and in order, or a score is
            not a finite number.
    """

    def __init__(
        self,
        panels: Sequence[Panel],
        *,
        source: str,
        text: str,
        candidates: Iterable[tuple[str, float]] = (),
    ):
        if not panels:
            raise ValueError("a view needs at least one panel of weights, got none")
        self._rows = max(len(side.tokens) for each in panels for side in (each.queries, each.keys))
        self._title = source
        self._data = {
            "source": source,
            "text": text,
            "candidates": [[text, _finite(score)] for text, score in candidates],
            "panels": [_panel(each) for each in panels],
        }

    @property
    def html(self) -> str:
        """The page."""
        folder = resources.files(__package__)
        parts = {
            "title": html.escape(self._title),
            "style": folder.joinpath("page.css").read_text(encoding="utf-8"),
            "script": folder.joinpath("page.js").read_text(encoding="utf-8"),
            # Only < could end the script element that holds the data.
            "data": json.dumps(self._data, ensure_ascii=False).replace("<", "\\u003c"),
        }
        page = string.Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
        return encodable(page.substitute(parts))

    def save(self, path: Path | str) -> None:
        """Write the page to a file.

        Args:
            path: a file that ends in `.html` or `.htm`.

        Raises:
            ValueError: `path` has another ending.
            OSError: `path` cannot be written.
        """
        check_view_path(path)
        with written_whole(path) as beside:
            beside.write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        """Show the page in a frame of its own, for Jupyter and Colab."""
        height = min(_AROUND + _ROW * self._rows, _TALLEST)
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {height}px; border: 0" title="attention"></iframe>'
        )


def check_view_path(path: Path | str) -> None:
    """Check before long work that a view can be written to a path.

    Raises:
        ValueError: `path` does not end in `.html` or `.htm`.
    """
    if not str(path).lower().endswith((".html", ".htm")):
        raise ValueError(f"a view is an HTML page: expected a file ending in .html, got {path}")


def _panel(panel):
    """Return a panel for JSON, with its weights as 16-bit numbers in base64."""
    shape = len(panel.queries.tokens), len(panel.keys.tokens)
    if not len(panel.layers) or not all(shape):
        raise ValueError(f"{panel.name}: expected tokens on both sides, and at least one layer")
    return {
        "name": panel.name,
        "queries": _side(panel.queries),
        "keys": _side(panel.keys),
        "layers": [_layer(panel.name, weights, shape) for weights in panel.layers],
        "verbs": list(panel.verbs),
    }


def _side(side):
    each = [[position] for position in range(len(side.tokens))]
    if side.groups is not None:
        merge_words(side.tokens, side.groups)  # an error if they do not fit
    groups = each if side.groups is None else [[int(i) for i in group] for group in side.groups]
    return {
        "name": side.name,
        "tokens": list(side.tokens),
        "runsLeft": AxisWords(side.name, list(side.tokens), set()).runs_left,
        "groups": groups,
        "merged": groups == each,  # there is nothing to merge
        "unknown": [int(position) for position in side.unknown],
    }


def _finite(score):
    if not math.isfinite(score):
        raise ValueError(f"the score of a candidate must be a finite number, got {score}")
    return float(score)


def _layer(name, weights, shape):
    weights = np.asarray(weights, dtype=float)
    if weights.ndim != 3 or weights.shape[1:] != shape or not len(weights):
        raise ValueError(
            f"{name}: weights of a layer must have shape (H, T, S) = (H, {shape[0]}, {shape[1]}) "
            f"with at least one head, got {weights.shape}"
        )
    if not np.all((weights >= 0) & (weights <= 1 + 1e-3)):
        raise ValueError(f"{name}: weights must be numbers from 0 to 1")
    numbers = np.round(np.minimum(weights, 1) * _LARGEST).astype("<u2")
    return {"heads": len(weights), "weights": base64.b64encode(numbers.tobytes()).decode("ascii")}
