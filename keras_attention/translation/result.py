"""A translated sentence, its attention weights, and pictures of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_attention.metrics import spread
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
_SIDES = {"S": "sentence", "T": "translation"}
_NO_WEIGHTS = "there are no weights: this was translated with attention=False"
_MOST_NAMED = 5
EVIDENCE = "alignment"
_TRACED = "is traced to", "is the source of"  # what a page says of evidence
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

    Printed, it shows the source, the text and whether it ended. Two are equal if their sentences
    are, whatever their weights.

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
        parts: the translations of the sentences into which a long text was cut; each has its
            weights, and the text as a whole has none. Empty for a sentence.
        languages: names of the language of the source and of the translation, for pictures.
        context_ids: the ids of the context tokens, for `keras_attention.attributions`.
        target_ids: the ids of the target tokens.
        align: finds the `alignment` of a translation; a `Translator` provides it.
    """

    source: str
    text: str
    context_tokens: tuple[str, ...] = field(repr=False)
    target_tokens: tuple[str, ...] = field(repr=False)
    weights: dict[str, list[np.ndarray]] = field(repr=False, compare=False)
    unknown: tuple[int, ...] = field(repr=False)
    finished: bool
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    context_groups: tuple[Sequence[int], ...] | None = field(
        default=None, repr=False, compare=False
    )
    target_groups: tuple[Sequence[int], ...] | None = field(default=None, repr=False, compare=False)
    parts: tuple["Translation", ...] = field(default=(), repr=False)
    languages: tuple[str, str] = field(default=("context", "target"), repr=False)
    context_ids: tuple[int, ...] = field(default=(), repr=False)
    target_ids: tuple[int, ...] = field(default=(), repr=False)
    align: Callable[["Translation"], np.ndarray] | None = field(
        default=None, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the translator behind: a copy or a pickle has only the alignment found so far."""
        return {**self.__dict__, "align": None}

    @property
    def sentences(self) -> tuple["Translation", ...]:
        """The translations with maps of their own: the parts, or this one."""
        return self.parts or (self,)

    @property
    def unknown_words(self) -> list[str]:
        """The written words of which the model does not know a token, each once."""
        if self.parts:
            words = [word for part in self.parts for word in part.unknown_words]
            return list(dict.fromkeys(words))
        groups = self.context_groups or [[n] for n, _ in enumerate(self.context_tokens)]
        words = merge_words(self.context_tokens, groups)
        unknown = set(self.unknown)
        found = (w for w, group in zip(words, groups, strict=True) if unknown.intersection(group))
        return list(dict.fromkeys(found))

    @property
    def remark_on_unknown(self) -> str:
        """A remark that names unknown words, the first five; empty if all are known."""
        words = self.unknown_words
        named = ", ".join(f"“{word[:40]}{'…' * (len(word) > 40)}”" for word in words[:_MOST_NAMED])
        more = f" and {len(words) - _MOST_NAMED} more" * (len(words) > _MOST_NAMED)
        return f"the model does not know {named}{more}" if words else ""

    @property
    def remark_on_end(self) -> str:
        """A remark on sentences that the length limit cut off; empty if all ended before it."""
        cut = [each for each in self.sentences if not each.finished]
        if not cut:
            return ""
        of_parts = f"{len(cut)} of {len(self.parts)} parts " if self.parts else ""
        tokens = len(cut[0].target_tokens)
        return f"{of_parts}stopped after {tokens} token{'s' * (tokens != 1)}, before the end"

    @property
    def attention(self) -> np.ndarray:
        """The weights as one matrix (T, S): the mean over heads and layers."""
        self._check_whole()
        return mean_attention(self.weights)

    @cached_property
    def alignment(self) -> np.ndarray:
        """Where each token comes from, one matrix (T, S), by the best evidence.

        Attention weights show where a model looks, which is often not where a word comes from. This
        asks which words the model no longer expects without a source word, and, of a Transformer,
        which source words carry a word's logit; the attention of an RNN counts a little.
        Words come from words alone, and punctuation from punctuation. Then the sentence is read as
        a whole: neighbours mostly come from neighbours. Computed when it is first asked for; see
        `keras_attention.translation.alignment`. Rows sum to 1, or to 0 if no source word speaks for
        a token.
        """
        self._check_whole()
        if self.align is None:
            raise ValueError("there is no alignment: no translator made this translation")
        return self.align(self)

    def plot_alignment(
        self, path: Path | str | None = None, *, pieces: bool = False, **options: Any
    ) -> "list[Axes]":
        """Draw the attention beside the alignment: where a model looks, and where words come from.

        The name of each panel says over how many words its rows are spread: the number of words of
        an even row with the same entropy. 1 is one word; a thin spread says little.

        Args:
            path: PNG, SVG or PDF to write, or None.
            pieces: whether to show pieces of words instead of merging them into words.
            **options: for `plot_attention_grid`, such as the gold `links`.

        Returns:
            The matplotlib axes of the attention and of the alignment.

        Raises:
            ValueError: there are no weights, or no translator made this translation.
        """
        maps = {"attention": self.attention, EVIDENCE: self.alignment}
        maps = {name: self._merged(each, "cross", pieces) for name, each in maps.items()}
        panels = {f"{name}, over {spread(each):.1f} words": each for name, each in maps.items()}
        options = {"columns": len(panels), "scale": "part of the row", **options}
        return plot_attention_grid(panels, path=path, **self._words("cross", pieces) | options)

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
        return plot_attention(path=path, **self._drawn(of, layer, head, pieces) | options)

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
        return plot_coloured_text(path=path, **self._drawn(of, layer, head, pieces) | options)

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
        return animate_attention(path=path, **self._drawn(of, layer, head, pieces) | options)

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
        return plot_attention_grid(panels, path=path, **self._words(of, pieces) | options)

    def view(
        self,
        path: Path | str | None = None,
        evidence: Mapping[str, Sequence[Array]] | None = None,
    ) -> View:
        """Show the attention of every layer and every head on an interactive page.

        Args:
            path: an HTML file to write, or None. The page is self-contained.
            evidence: other maps to choose, by their names, such as those of
                `keras_attention.attributions`: a list of (T, S), one for each layer. By default the
                `alignment`, if there is one.

        Returns:
            A `keras_attention.plotting.interactive.View`; a notebook shows it below the cell.

        Raises:
            ValueError: there are no weights, or the path does not end in .html.
            OSError: the file cannot be written.
        """
        self._check_whole()
        if not self.weights:
            raise ValueError(_NO_WEIGHTS)
        if evidence is None:
            evidence = {EVIDENCE: [self.alignment]} if self.align else {}
        weights = ((of, layers_of(self.weights, of)) for of in KINDS_OF_ATTENTION)
        panels = [self._panel(of, layers) for of, layers in weights if layers]
        for name, layers in evidence.items():
            panel = self._panel("cross", [np.asarray(layer)[None] for layer in layers])
            panels.append(panel._replace(name=f"{panel.name}: {name}", verbs=_TRACED))
        shown = View(
            panels,
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

    def _panel(self, of, layers):
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
            layers,
        )

    def _layers(self, of, layer=None, head=None):
        """Return the chosen weights by the number of their layer, each (H, T, S)."""
        self._check_whole()
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
        names = dict(zip("ST", self.languages, strict=True))
        return {**sides, "axis_names": tuple(names[letter] for letter in _axes(of))}

    def _groups(self, letter, of=None):
        """Return the groups of a side; those of a decoder's inputs are shifted by one."""
        groups = self.context_groups if letter == "S" else self.target_groups
        if groups is None or (letter, of) != ("T", "decoder"):
            return groups
        shifted = [[position + 1 for position in group] for group in groups]
        shifted[-1].pop()
        return [[0], *filter(None, shifted)]

    def _check_whole(self):
        if self.parts:
            raise ValueError(
                f"this text was translated in {len(self.parts)} parts, each with weights of its "
                "own: draw translation.parts[0], translation.parts[1], …"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return strings, numbers, lists and dictionaries, for JSON.

        The weights are replaced by their mean, or None if there are none. A text that was cut has
        its `parts`.
        """
        parts = {"parts": [part.to_dict() for part in self.parts]} if self.parts else {}
        return {
            "source": self.source,
            "translation": self.text,
            "context_tokens": list(self.context_tokens),
            "target_tokens": list(self.target_tokens),
            "unknown": list(self.unknown),
            "finished": self.finished,
            "candidates": [asdict(candidate) for candidate in self.candidates],
            "attention": self.attention.tolist() if self.weights else None,
            **parts,
        }


def joined(source: str, parts: Sequence[Translation]) -> Translation:
    """Return the translation of a text from the translations of its parts, in their order.

    Args:
        source: the text.
        parts: at least one `Translation`; one alone is returned as it is.
    """
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.context_tokens) for part in parts)])
    return Translation(
        source=source,
        text=" ".join(part.text for part in parts),
        context_tokens=tuple(token for part in parts for token in part.context_tokens),
        target_tokens=tuple(token for part in parts for token in part.target_tokens),
        weights={},
        unknown=tuple(
            int(start) + place
            for start, part in zip(starts, parts, strict=False)
            for place in part.unknown
        ),
        finished=all(part.finished for part in parts),
        candidates=tuple(
            Candidate(
                " ".join(each.text for each in row),
                sum(each.score for each in row),
                sum(each.log_probability for each in row),
                all(each.finished for each in row),
            )
            for row in zip(*(part.candidates for part in parts), strict=False)
        ),
        parts=tuple(parts),
        languages=parts[0].languages,
    )


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
