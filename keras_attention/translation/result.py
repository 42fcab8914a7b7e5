"""A translated sentence, its attention weights, and pictures of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_attention.plotting import (
    animate_attention,
    merge_tokens,
    merge_words,
    plot_attention,
    plot_attention_grid,
    plot_coloured_text,
)
from keras_attention.plotting.interactive import Panel, Side, View
from keras_attention.text import SPECIAL_WORDS, START, shifted_right
from keras_attention.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The models' names of the kinds of attention, each with the letters of its queries and its keys
AXES = {
    "cross_attention": ("T", "S"),
    "encoder_self_attention": ("S", "S"),
    "decoder_self_attention": ("T", "T"),
}
_KINDS = {
    "cross": "cross_attention",
    "encoder": "encoder_self_attention",
    "decoder": "decoder_self_attention",
}
_NAMES = {"S": "context", "T": "target"}
_SIDES = {"S": "sentence", "T": "translation"}
_NO_WEIGHTS = "there are no weights: this was translated with attention=False"
KINDS_OF_ATTENTION = tuple(_KINDS)
GRIDS = ("heads", "layers")


@dataclass(frozen=True)
class Candidate:
    """A translation, one of several after beam search.

    `text`; `score`, which ranks the candidates: the log-probability, after beam search divided by
    the length penalty; `log_probability` in nats; `finished`, whether it ended before the length
    limit.
    """

    text: str
    score: float
    log_probability: float
    finished: bool


@dataclass(frozen=True)
class Translation:
    """A translated sentence and its attention weights.

    Attributes:
        source: the sentence as given.
        text: its translation.
        context_tokens: S tokens of the source as the user wrote them, with `[START]` and `[END]`.
        target_tokens: T tokens of the translation, with `[END]` if it ended.
        weights: lists of attention weights, one per layer: `"cross_attention"`, each (T, S), or
            (H, T, S) with heads; a Transformer's `"encoder_self_attention"` (H, S, S) and
            `"decoder_self_attention"` (H, T, T), whose keys are the decoder's inputs: `[START]`,
            and all tokens but the last.
        unknown: positions of the context tokens that the model does not know.
        finished: whether the translation ended before the length limit.
        candidates: the best translations, best first.
        context_groups: for each written word the positions of its context tokens; None: every token
            is a word.
        target_groups: the same for the target tokens.
    """

    source: str
    text: str
    context_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: dict[str, list[np.ndarray]]
    unknown: tuple[int, ...]
    finished: bool
    candidates: tuple[Candidate, ...] = ()
    context_groups: tuple[Sequence[int], ...] | None = None
    target_groups: tuple[Sequence[int], ...] | None = None

    @property
    def attention(self) -> np.ndarray:
        """The weights as one matrix (T, S): the mean over heads and layers."""
        return mean_attention(self.weights)

    def plot(
        self,
        path: Path | str | None = None,
        *,
        of: str = "cross",
        layer: int | None = None,
        head: int | None = None,
        pieces: bool = False,
        **options: Any,
    ) -> "Axes":
        """Draw the attention as one heat map.

        Args:
            path: PNG, SVG or PDF to write, or None.
            of: `"cross"`, where the target attends to the context; or the self-attention of the
                `"encoder"` or the `"decoder"`.
            layer: number of a layer, counted from 1; None: the mean over all.
            head: number of a head, counted from 1; None: the mean over all.
            pieces: whether to show pieces of words instead of merging them into words.
            **options: for `plot_attention`, such as `orientation="context_rows"`.

        Returns:
            The matplotlib axes.

        Raises:
            ValueError: the model has no such attention, layer or head.
        """
        return plot_attention(**self._drawn(of, layer, head, pieces), path=path, **options)

    def plot_text(
        self,
        path: Path | str | None = None,
        *,
        of: str = "cross",
        layer: int | None = None,
        head: int | None = None,
        pieces: bool = False,
        **options: Any,
    ) -> "Axes":
        """Draw the attention as coloured text: for every target word a copy of the source sentence.

        Args:
            path: PNG, SVG or PDF to write, or None.
            of: as for `plot`.
            layer: number of a layer, counted from 1; None: the mean over all.
            head: number of a head, counted from 1; None: the mean over all.
            pieces: as for `plot`.
            **options: for `plot_coloured_text`.

        Returns:
            The matplotlib axes.

        Raises:
            ValueError: the model has no such attention, layer or head.
        """
        return plot_coloured_text(**self._drawn(of, layer, head, pieces), path=path, **options)

    def animate(
        self,
        path: Path | str,
        *,
        of: str = "cross",
        layer: int | None = None,
        head: int | None = None,
        pieces: bool = False,
        **options: Any,
    ) -> Path:
        """Write an animation in which the words appear one by one, each with its attention.

        Args:
            path: the GIF to write.
            of: as for `plot`.
            layer: number of a layer, counted from 1; None: the mean over all.
            head: number of a head, counted from 1; None: the mean over all.
            pieces: as for `plot`.
            **options: for `animate_attention`, such as the `seconds` per word.

        Returns:
            The path.

        Raises:
            ValueError: the model has no such attention, layer or head, or the path does not end in
                .gif.
        """
        return animate_attention(**self._drawn(of, layer, head, pieces), path=path, **options)

    def plot_grid(
        self,
        path: Path | str | None = None,
        *,
        by: str = "heads",
        of: str = "cross",
        layer: int | None = None,
        pieces: bool = False,
        **options: Any,
    ) -> "list[Axes]":
        """Draw the attention as a grid of heat maps.

        Args:
            path: PNG, SVG or PDF to write, or None.
            by: `"heads"`: one panel per head; `"layers"`: one panel per layer, the mean over its
                heads.
            of: as for `plot`.
            layer: number of a layer, counted from 1; None: all.
            pieces: as for `plot`.
            **options: for `plot_attention_grid`.

        Returns:
            A list of matplotlib axes.

        Raises:
            ValueError: the model has no such attention or layer, or `by` is neither of these.
        """
        if by not in GRIDS:
            raise ValueError(f"by must be one of {', '.join(GRIDS)}, got {by!r}")
        layers = self._layers(of, layer)
        panels: dict[str, np.ndarray] = {}
        for number, weights in layers.items():
            name = f"layer {number}, " if len(layers) > 1 else ""
            if by == "layers":
                panels[f"layer {number}"] = weights.mean(axis=0)
            else:
                panels |= {f"{name}head {h}": each for h, each in enumerate(weights, start=1)}
        if by == "heads" and len(layers) > 1:  # one row per layer
            options = {"columns": len(panels) // len(layers), **options}
        panels = {name: self._merged(each, of, pieces) for name, each in panels.items()}
        return plot_attention_grid(panels, path=path, **self._words(of, pieces), **options)

    def view(self, path: Path | str | None = None) -> View:
        """Show the attention of every layer and every head on an interactive page.

        Args:
            path: an HTML file to write, or None. The page is self-contained.

        Returns:
            A `keras_attention.plotting.interactive.View`; a notebook shows it below the cell.

        Raises:
            ValueError: there are no weights, or the path does not end in .html.
            OSError: the file cannot be written.
        """
        if not self.weights:
            raise ValueError(_NO_WEIGHTS)
        shown = View(
            [self._panel(of) for of in KINDS_OF_ATTENTION if layers_of(self.weights, of)],
            source=self.source,
            text=self.text,
            candidates=[(each.text, each.score) for each in self.candidates],
        )
        if path is not None:
            shown.save(path)
        return shown

    def _drawn(self, of, layer, head, pieces):
        """Return one matrix of weights and the labels of its sides, as arguments of a picture."""
        layers = self._layers(of, layer, head)
        weights = np.mean([each.mean(axis=0) for each in layers.values()], axis=0)
        return {"weights": self._merged(weights, of, pieces), **self._words(of, pieces)}

    def _panel(self, of):
        """Return one kind of attention as a panel of a view, with pieces of words unmerged."""
        queries, keys = _axes(of)
        words = self._words(of, pieces=True)
        query_side, key_side = (_SIDES[letter] for letter in (queries, keys))
        return Panel(
            f"{query_side} → {'itself' if queries == keys else key_side}",
            Side(
                query_side,
                words["target_tokens"],
                self._groups(queries),
                words["unknown_target"],
            ),
            Side(
                key_side,
                words["context_tokens"],
                self._groups(keys, of),
                words["unknown_context"],
            ),
            layers_of(self.weights, of),
        )

    def _layers(self, of, layer=None, head=None):
        """Return the chosen weights by the number of their layer, each (H, T, S)."""
        every = layers_of(self.weights, of)
        check_choice([len(each) for each in every], of, layer, head)
        heads = slice(None) if head is None else slice(head - 1, head)
        return {
            number: weights[heads]
            for number, weights in enumerate(every, start=1)
            if layer in (None, number)
        }

    def _merged(self, weights, of, pieces):
        """Merge the weights of tokens into those of words, unless `pieces` is true."""
        queries, keys = _axes(of)
        if pieces:
            return weights
        return merge_tokens(weights, self._groups(keys, of), self._groups(queries))

    def _words(self, of, pieces):
        """Return the labels of the sides of a picture, as its arguments."""
        sides = {}
        for side, letter in zip(("target", "context"), _axes(of), strict=True):
            fed = side == "context" and of == "decoder"
            tokens = self.context_tokens if letter == "S" else self.target_tokens
            tokens = shifted_right(tokens, SPECIAL_WORDS[START]) if fed else tokens
            unknown = self.unknown if letter == "S" else ()
            groups = self._groups(letter, of if fed else None)
            if groups is not None and not pieces:
                unknown = [n for n, group in enumerate(groups) if set(group) & set(unknown)]
                tokens = merge_words(tokens, groups)
            sides |= {f"{side}_tokens": tokens, f"unknown_{side}": unknown}
        return {**sides, "axis_names": tuple(_NAMES[letter] for letter in _axes(of))}

    def _groups(self, letter, of=None):
        """Return the groups of a side; those of a decoder's inputs are shifted by one."""
        groups = self.context_groups if letter == "S" else self.target_groups
        if groups is None or (letter, of) != ("T", "decoder"):
            return groups
        shifted = [[position + 1 for position in group] for group in groups]
        shifted[-1].pop()
        return [[0], *filter(None, shifted)]

    def to_dict(self) -> dict[str, Any]:
        """Return strings, numbers, lists and dictionaries, for JSON.

        The weights are replaced by their mean, or None if there are none.
        """
        return {
            "source": self.source,
            "translation": self.text,
            "context_tokens": list(self.context_tokens),
            "target_tokens": list(self.target_tokens),
            "unknown": list(self.unknown),
            "finished": self.finished,
            "candidates": [asdict(candidate) for candidate in self.candidates],
            "attention": self.attention.tolist() if self.weights else None,
        }


def _axes(of):
    return AXES[_KINDS[of]]


def layers_of(weights: Mapping[str, list[Array]], of: str = "cross") -> list[Array]:
    """Return the weights of one kind of attention, layer by layer, all with heads: (H, T, S)."""
    layers = weights.get(_KINDS.get(of, ""), [])
    return [each[None] if each.ndim == 2 else each for each in layers]


def mean_attention(weights: Mapping[str, list[np.ndarray]]) -> np.ndarray:
    """Return the attention of a target to its context: the mean over heads and layers.

    Args:
        weights: those of a `Translation`; only `"cross_attention"` is used.

    Returns:
        One matrix (T, S).

    Raises:
        ValueError: there are no weights.
    """
    if not weights:
        raise ValueError(_NO_WEIGHTS)
    return np.mean([each.mean(axis=0) for each in layers_of(weights)], axis=0)


def check_choice(
    heads: Sequence[int], of: str = "cross", layer: int | None = None, head: int | None = None
) -> None:
    """Check that a model has the attention, layer or head to be drawn.

    Args:
        heads: the number of heads of each layer of this kind.
        of: a kind of attention.
        layer: number of a layer, or None.
        head: number of a head, or None.

    Raises:
        ValueError: the model does not have it.
    """
    if of not in KINDS_OF_ATTENTION:
        raise ValueError(f"of must be one of {', '.join(KINDS_OF_ATTENTION)}, got {of!r}")
    if not heads and of == "cross":
        raise ValueError(_NO_WEIGHTS)
    if not heads:
        raise ValueError(
            f"the {of} of this model does not attend to itself: only a Transformer's does"
        )
    for name, number, most in (("layer", layer, len(heads)), ("head", head, min(heads))):
        if number is not None and not 1 <= number <= most:
            raise ValueError(f"{name} must be from 1 to {most} in this model, got {number}")
