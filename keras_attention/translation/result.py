"""A translated sentence, where the model looked for each of its tokens, and pictures of it."""

from dataclasses import asdict, dataclass

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

# What attends to what, as models name it, and the letters of the two sentences, queries first
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
    """A translation that was found, one of several after beam search.

    `text`; `score`, by which candidates are ranked: the log-probability, after beam search over the
    length penalty; `log_probability` in nats; whether it `finished` before the limit of its length.
    """

    text: str
    score: float
    log_probability: float
    finished: bool


@dataclass(frozen=True)
class Translation:
    """A translated sentence, and where the model looked for each of its tokens.

    Attributes:
        source: the sentence as it was given.
        text: its translation.
        context_tokens: S tokens of the source as the user wrote them, with `[START]` and `[END]`.
        target_tokens: T tokens of the translation, with `[END]` where it ended.
        weights: lists of attention weights, one a layer: `"cross_attention"`, each (T, S), or
            (H, T, S) with heads; a Transformer's `"encoder_self_attention"` (H, S, S) and
            `"decoder_self_attention"` (H, T, T), where the keys are the tokens that were fed:
            `[START]`, and all but the last.
        unknown: positions of the context tokens that the model does not know.
        finished: whether the sentence ended before the limit of its length.
        candidates: the best translations that were found, the best first.
        context_groups: positions of the context tokens that make one written word; None: each one.
        target_groups: the same for the target tokens.
    """

    source: str
    text: str
    context_tokens: tuple
    target_tokens: tuple
    weights: dict
    unknown: tuple
    finished: bool
    candidates: tuple = ()
    context_groups: tuple | None = None
    target_groups: tuple | None = None

    @property
    def attention(self):
        """The weights as one matrix (T, S): the mean over heads and layers."""
        return mean_attention(self.weights)

    def plot(self, path=None, *, of="cross", layer=None, head=None, pieces=False, **options):
        """Draw where the model looked as one heat map.

        Args:
            path: PNG, SVG or PDF to write, or None.
            of: `"cross"`, the target looking at the context; or `"encoder"` or `"decoder"` looking
                at itself.
            layer: number of a layer, counted from 1; None: the mean over all.
            head: number of a head, counted from 1; None: the mean over all.
            pieces: whether pieces of words stay apart, instead of being merged to words.
            **options: of `plot_attention`, for instance `orientation="context_rows"`.

        Returns:
            The matplotlib axes.

        Raises:
            ValueError: the model has no such attention, layer or head.
        """
        return plot_attention(**self._drawn(of, layer, head, pieces), path=path, **options)

    def plot_text(self, path=None, *, of="cross", layer=None, head=None, pieces=False, **options):
        """Draw where the model looked as coloured text: the sentence once for every word of it.

        Args:
            path: PNG, SVG or PDF to write, or None.
            of: as for `plot`, and so are `layer`, `head` and `pieces`.
            layer: number of a layer, counted from 1; None: the mean over all.
            head: number of a head, counted from 1; None: the mean over all.
            pieces: whether pieces of words stay apart.
            **options: of `plot_coloured_text`.

        Returns:
            The matplotlib axes.

        Raises:
            ValueError: the model has no such attention, layer or head.
        """
        return plot_coloured_text(**self._drawn(of, layer, head, pieces), path=path, **options)

    def animate(self, path, *, of="cross", layer=None, head=None, pieces=False, **options):
        """Write an animation in which word after word appears, and where the model looked for it.

        Args:
            path: the GIF to write.
            of: as for `plot`, and so are `layer`, `head` and `pieces`.
            layer: number of a layer, counted from 1; None: the mean over all.
            head: number of a head, counted from 1; None: the mean over all.
            pieces: whether pieces of words stay apart.
            **options: of `animate_attention`, such as the `seconds` a word stands.

        Returns:
            The path.

        Raises:
            ValueError: the model has no such attention, layer or head, or the file is no GIF.
        """
        return animate_attention(**self._drawn(of, layer, head, pieces), path=path, **options)

    def plot_grid(self, path=None, *, by="heads", of="cross", layer=None, pieces=False, **options):
        """Draw where the model looked as a grid of heat maps.

        Args:
            path: PNG, SVG or PDF to write, or None.
            by: `"heads"`: a panel a head; `"layers"`: a panel a layer, the mean over its heads.
            of: as for `plot`.
            layer: number of a layer, counted from 1; None: all.
            pieces: as for `plot`.
            **options: of `plot_attention_grid`.

        Returns:
            A list of matplotlib axes.

        Raises:
            ValueError: the model has no such attention or layer, or there is no such grid.
        """
        if by not in GRIDS:
            raise ValueError(f"by must be one of {', '.join(GRIDS)}, got {by!r}")
        layers = self._layers(of, layer)
        panels = {}
        for number, weights in layers.items():
            name = f"layer {number}, " if len(layers) > 1 else ""
            if by == "layers":
                panels[f"layer {number}"] = weights.mean(axis=0)
            else:
                panels |= {f"{name}head {h}": each for h, each in enumerate(weights, start=1)}
        if by == "heads" and len(layers) > 1:  # a row a layer
            options = {"columns": len(panels) // len(layers), **options}
        panels = {name: self._merged(each, of, pieces) for name, each in panels.items()}
        return plot_attention_grid(panels, path=path, **self._words(of, pieces), **options)

    def view(self, path=None):
        """Show where the model looked as a page that one can explore: every layer, every head.

        Args:
            path: an HTML file to write, or None. The page loads nothing from elsewhere.

        Returns:
            A `keras_attention.plotting.interactive.View`; a notebook shows it below the cell.

        Raises:
            ValueError: there are no weights, or the file is no HTML file.
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
        """Return one matrix of weights, and what stands at its sides, as arguments of a picture."""
        layers = self._layers(of, layer, head)
        weights = np.mean([each.mean(axis=0) for each in layers.values()], axis=0)
        return {"weights": self._merged(weights, of, pieces), **self._words(of, pieces)}

    def _panel(self, of):
        """Return one kind of attention, pieces of words apart, as a view takes it."""
        queries, keys = _axes(of)
        words = self._words(of, pieces=True)
        looking, looked_at = (_SIDES[letter] for letter in (queries, keys))
        return Panel(
            f"{looking} → {'itself' if queries == keys else looked_at}",
            Side(looking, words["target_tokens"], self._groups(queries), words["unknown_target"]),
            Side(
                looked_at,
                words["context_tokens"],
                self._groups(keys, of),
                words["unknown_context"],
            ),
            layers_of(self.weights, of),
        )

    def _layers(self, of, layer=None, head=None):
        """Return the weights that were chosen by the number of their layer, each (H, T, S)."""
        every = layers_of(self.weights, of)
        check_choice([len(each) for each in every], of, layer, head)
        heads = slice(None) if head is None else slice(head - 1, head)
        return {
            number: weights[heads]
            for number, weights in enumerate(every, start=1)
            if layer in (None, number)
        }

    def _merged(self, weights, of, pieces):
        """Return weights of tokens as those of words, unless pieces are wanted."""
        queries, keys = _axes(of)
        if pieces:
            return weights
        return merge_tokens(weights, self._groups(keys, of), self._groups(queries))

    def _words(self, of, pieces):
        """Return what stands at the sides of a picture, as its arguments."""
        sides = {}
        for side, letter in zip(("target", "context"), _axes(of), strict=True):
            fed = side == "context" and of == "decoder"
            tokens = self.context_tokens if letter == "S" else self.target_tokens
            tokens = ("[START]", *tokens[:-1]) if fed else tokens
            unknown = self.unknown if letter == "S" else ()
            groups = self._groups(letter, of if fed else None)
            if groups is not None and not pieces:
                unknown = [n for n, group in enumerate(groups) if set(group) & set(unknown)]
                tokens = merge_words(tokens, groups)
            sides |= {f"{side}_tokens": tokens, f"unknown_{side}": unknown}
        return {**sides, "axis_names": tuple(_NAMES[letter] for letter in _axes(of))}

    def _groups(self, letter, of=None):
        """Return the groups of a side; the tokens that a decoder was fed are shifted by one."""
        groups = self.context_groups if letter == "S" else self.target_groups
        if groups is None or (letter, of) != ("T", "decoder"):
            return groups
        shifted = [[place + 1 for place in group] for group in groups]
        shifted[-1].pop()
        return [[0], *filter(None, shifted)]

    def to_dict(self):
        """Return it as strings, numbers, lists and dictionaries, for JSON.

        Of the weights only their mean, if there are any.
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


def layers_of(weights, of="cross"):
    """Return the weights of one kind of attention, layer by layer, all with heads: (H, T, S)."""
    layers = weights.get(_KINDS.get(of), [])
    return [each[None] if each.ndim == 2 else each for each in layers]


def mean_attention(weights):
    """Return where a target looks at its context: the mean over heads and layers.

    Args:
        weights: those of a `Translation`, of which only `"cross_attention"` counts.

    Returns:
        One matrix (T, S).
    """
    if not weights:
        raise ValueError(_NO_WEIGHTS)
    return np.mean([each.mean(axis=0) for each in layers_of(weights)], axis=0)


def check_choice(heads, of="cross", layer=None, head=None):
    """Check that there is an attention, layer or head to be drawn.

    Args:
        heads: the number of heads of each layer of this kind.
        of: a kind of attention.
        layer: number of a layer, or None.
        head: number of a head, or None.

    Raises:
        ValueError: the model has none such.
    """
    if of not in KINDS_OF_ATTENTION:
        raise ValueError(f"of must be one of {', '.join(KINDS_OF_ATTENTION)}, got {of!r}")
    if not heads and of == "cross":
        raise ValueError(_NO_WEIGHTS)
    if not heads:
        raise ValueError(f"the {of} of this model does not attend to itself: only a Transformer's")
    for name, number, most in (("layer", layer, len(heads)), ("head", head, min(heads))):
        if number is not None and not 1 <= number <= most:
            raise ValueError(f"{name} must be from 1 to {most} in this model, got {number}")
