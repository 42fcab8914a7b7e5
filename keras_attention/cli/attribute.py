"""`keras-attention attribute`: other evidence of where a word comes from."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli import backend
from keras_attention.cli.console import printable, warn_of_unknown
from keras_attention.cli.options import (
    Beam,
    TranslatorAndSentence,
    check_method,
    translator_and_sentence,
)
from keras_attention.menu import ATTRIBUTIONS


def attribute(
    arguments: TranslatorAndSentence,
    method: Annotated[
        str,
        typer.Option(help="; ".join(f"`{name}`: {what}" for name, what in ATTRIBUTIONS.items())),
    ] = "alignment",
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the map in this file: .png, .svg, .pdf, …", show_default=False),
    ] = None,
    beam: Beam = 1,
) -> None:
    """Ask a model in another way where each word of a translation comes from.

    Attention weights are only one kind of evidence. Prints the translation, and for each of its
    words the source word that the method names, with its part of the evidence.
    """
    check_method(method)
    from keras_attention import attributions, plotting
    from keras_attention.translation.translator import Translator

    if plot:
        plotting.check_plot_path(plot)
    chosen, sentence = translator_and_sentence(arguments)
    translator = backend.without_compiling(Translator.load(chosen), [sentence])
    translation = translator(sentence, beam=beam)
    if translation.parts:
        raise ValueError(f"the sentence is too long: it has {len(translation.parts)} parts")
    shown = attributions.attribute(translator, translation, method)
    print(printable(translation.text))
    warn_of_unknown(translation)
    for word, source, part in attributions.named_words(shown):
        print(printable(f"  {word}\t{source or '–'}\t{part:.2f}"))
    if plot:
        shown.plot(plot, scale=method)
        print(f"Map: {plot}", file=sys.stderr)
