"""`keras-attention view`: an interactive page of the attention."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli import backend
from keras_attention.cli.console import numbered, printable, warn_of_unknown
from keras_attention.cli.options import (
    Beam,
    LengthPenalty,
    MaxLength,
    TranslatorAndSentence,
    check_method,
    translator_and_sentence,
)


def view(
    arguments: TranslatorAndSentence,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("view.html"),
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help="Other evidence to choose on the page, as in `attribute`; may be repeated.",
            show_default="alignment",
        ),
    ] = None,
    beam: Beam = 1,
    length_penalty: LengthPenalty = 0.6,
    max_length: MaxLength = 50,
) -> None:
    """Translate a sentence, and write an interactive page of the attention.

    Point at a word to see its weights. Choose a layer and a head, or their mean; lines or a matrix;
    words or pieces of words. With `--beam 4` the page also lists the other hypotheses. It is a
    single file that loads nothing from the network: open it in any browser, or send it to somebody.
    """
    for method in methods or ():
        check_method(method)
    from keras_attention import attributions, decoding
    from keras_attention.plotting.interactive import check_view_path
    from keras_attention.translation.translator import Translator

    check_view_path(out)
    search: dict[str, Any] = {
        "max_length": max_length,
        "beam": beam,
        "length_penalty": length_penalty,
        "n_best": beam,
    }
    decoding.check_options(**search)
    chosen, sentence = translator_and_sentence(arguments)
    translator = backend.without_compiling(Translator.load(chosen), [sentence])
    translation = translator(sentence, **search)
    print(printable(translation.text))
    warn_of_unknown(translation)
    pages = numbered(out, len(translation.sentences))
    for page, part in zip(pages, translation.sentences, strict=True):
        maps = {
            method: attributions.attribute(translator, part, method).weights["cross_attention"]
            for method in methods or ()
        }
        part.view(page, maps or None)
        print(f"Attention: {page}", file=sys.stderr)
