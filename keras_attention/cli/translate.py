"""`keras-attention translate`: translate sentences, and draw the attention."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli import backend
from keras_attention.cli.console import (
    lines_of_standard_input,
    numbered,
    printable,
    progress,
    warn_of_unknown,
)
from keras_attention.cli.options import (
    DEFAULT,
    TRANSLATOR_HELP,
    BatchSize,
    Beam,
    LengthPenalty,
    MaxLength,
    Runtime,
    of_search,
    translator_first,
)
from keras_attention.storage import encodable

_DIFFERENT_PICTURES = {
    "--head": ("--heads",),
    "--layer": ("--layers",),
    "--heads": ("--layers",),
    "--text": ("--heads", "--layers", "--context-rows"),
    "a .gif": ("--heads", "--layers", "--text", "--context-rows"),
}


def _of_picture(*names, **options):
    return typer.Option(*names, rich_help_panel="The picture", show_default=False, **options)


def translate(
    sentences: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{TRANSLATOR_HELP}; the default is `{DEFAULT}`. Then sentences; without any, "
            "lines from standard input.",
            metavar="[TRANSLATOR] SENTENCE",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object per line, with tokens and weights."),
    ] = False,
    plot: Annotated[
        Path | None,
        _of_picture(
            help="Draw where the model looks, and where the words come from, in this file: .png, "
            ".svg, .pdf, …; a .gif shows where it looks word by word."
        ),
    ] = None,
    weights_only: Annotated[
        bool, _of_picture("--weights-only", help="Draw only where the model looks: the weights.")
    ] = False,
    layer: Annotated[
        int | None, _of_picture(help="Draw this layer, counted from 1, instead of the mean.")
    ] = None,
    head: Annotated[
        int | None, _of_picture(help="Draw this head, counted from 1, instead of the mean.")
    ] = None,
    heads: Annotated[
        bool, _of_picture("--heads", help="One panel per head, of --layer or of all layers.")
    ] = False,
    layers: Annotated[bool, _of_picture("--layers", help="One panel per layer.")] = False,
    of: Annotated[
        str,
        _of_picture(
            help="`cross`: the translation attends to the sentence; `encoder`, `decoder`: each "
            "attends to itself."
        ),
    ] = "cross",
    text: Annotated[
        bool, _of_picture("--text", help="One coloured copy of the sentence per target word.")
    ] = False,
    pieces: Annotated[
        bool,
        _of_picture("--pieces", help="Show pieces of words instead of merging them into words."),
    ] = False,
    dark: Annotated[bool, _of_picture("--dark", help="Draw on a dark page.")] = False,
    context_rows: Annotated[
        bool, _of_picture("--context-rows", help="Draw the transpose: one row per source word.")
    ] = False,
    beam: Beam = 1,
    length_penalty: LengthPenalty = 0.6,
    n_best: Annotated[
        int, of_search("Print this many hypotheses of the beam, with their scores.")
    ] = 1,
    temperature: Annotated[
        float, of_search("0 is greedy; above 0, words are drawn at random.")
    ] = 0.0,
    top_k: Annotated[int, of_search("Draw among this many likeliest tokens; 0: all.")] = 0,
    top_p: Annotated[
        float, of_search("Draw among the likeliest tokens with this total probability.")
    ] = 1.0,
    seed: Annotated[int, of_search("Random seed.")] = 0,
    max_length: MaxLength = 50,
    batch_size: BatchSize = 64,
    runtime: Runtime = None,
) -> None:
    """Translate sentences, or lines from standard input, and draw the attention.

    Beside the attention weights, the picture shows where each word comes from: without which source
    word the model would not expect it. The options of the picture choose other weights.

    With several sentences, `--plot casa.png` writes `casa-1.png`, `casa-2.png`, … A text that is
    longer than the model takes is cut into sentences, and each has its picture.
    """
    chosen, sentences = translator_first(sentences or ())
    sentences = sentences or lines_of_standard_input()
    if not plot:
        backend.choose(chosen, sentences, runtime)
    from keras_attention import decoding, plotting
    from keras_attention.translation.result import check_choice
    from keras_attention.translation.translator import Translator

    if plot and plot.suffix.lower() == ".gif":
        plotting.check_animation_path(plot)
    elif plot:
        plotting.check_plot_path(plot)
    search: dict[str, Any] = {
        "max_length": max_length,
        "beam": beam,
        "length_penalty": length_penalty,
        "n_best": n_best,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
    }
    decoding.check_options(**search)
    draw, picture = _picture(
        plot, weights_only, layer, head, heads, layers, text, of, pieces, dark, context_rows
    )
    translator = backend.without_compiling(Translator.load(chosen), sentences, runtime)
    if plot:
        check_choice(translator.heads(of), of, layer, head)
    translations = translator(
        sentences,
        **search,
        attention=bool(plot or as_json),
        batch_size=batch_size,
        seed=seed,
        progress=progress("Translating"),
    )
    for translation in translations:
        _print(translation, as_json, n_best)
        if not as_json:
            warn_of_unknown(translation)
    if plot:
        drawn = [each for translation in translations for each in translation.sentences]
        for path, translation in zip(numbered(plot, len(drawn)), drawn, strict=True):
            with plotting.page_style(dark):
                getattr(translation, draw)(path, **picture)
            print(f"Attention: {path}", file=sys.stderr)


def _picture(plot, weights_only, layer, head, heads, layers, text, of, pieces, dark, context_rows):
    """Return the method of `Translation` that draws the chosen picture, and its options.

    Raises:
        ValueError: the options conflict, or there is no file to draw to.
    """
    from keras_attention.translation.result import KINDS_OF_ATTENTION

    moves = bool(plot) and plot.suffix.lower() == ".gif"
    given = {
        "--layer": layer,
        "--head": head,
        "--heads": heads,
        "--layers": layers,
        "--text": text,
        "--context-rows": context_rows,
        "a .gif": moves,
    }
    chosen = {name for name, value in given.items() if value is not None and value is not False}
    if not plot and (chosen or pieces or dark or weights_only or of != "cross"):
        raise ValueError("the options of the picture need a file to draw to: --plot FILE.png")
    for one, others in _DIFFERENT_PICTURES.items():
        for other in others:
            if {one, other} <= chosen:
                raise ValueError(
                    f"{one} and {other} ask for different pictures: give only one of them"
                )
    if "--head" in chosen and "--layers" in chosen:
        raise ValueError("--layers draws the mean of the heads: give it without --head")
    if of not in KINDS_OF_ATTENTION:
        raise ValueError(f"--of must be one of {', '.join(KINDS_OF_ATTENTION)}, got {of!r}")
    picture = {"pieces": pieces}
    if context_rows:
        picture["orientation"] = "context_rows"
    if of == "cross" and not weights_only and chosen <= {"--context-rows"}:
        return "plot_alignment", picture
    picture |= {"of": of, "layer": layer}
    if heads or layers:
        return "plot_grid", {**picture, "by": "heads" if heads else "layers"}
    draw = "animate" if moves else "plot_text" if text else "plot"
    return draw, {**picture, "head": head}


def _print(translation, as_json, n_best):
    """Print a translation: as JSON, or its text, or the n best with their scores."""
    if as_json:
        print(encodable(json.dumps(translation.to_dict(), ensure_ascii=False)))
    elif n_best > 1:
        for candidate in translation.candidates:
            print(f"{candidate.score:.4f}\t{printable(candidate.text)}")
    else:
        print(printable(translation.text))
    if not translation.finished and not as_json:
        print(f"{translation.remark_on_end}: --max-length allows more", file=sys.stderr)
