"""`keras-attention view`: a page on which one can explore where the model looked."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli.console import check_sentence
from keras_attention.cli.options import Beam, LengthPenalty, MaxLength, Run


def view(
    run: Run,
    sentence: Annotated[str, typer.Argument(help="What to translate.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("view.html"),
    beam: Beam = 1,
    length_penalty: LengthPenalty = 0.6,
    max_length: MaxLength = 50,
):
    """Translate a sentence, and write a page on which one can explore where the model looked.

    Point at a word to see its weights; choose a layer and a head, or their mean; lines or a matrix;
    pieces of words, or words. With `--beam 4` the page lists what else was found. It is one file,
    which loads nothing from elsewhere: open it in any browser, or send it to somebody.
    """
    from keras_attention import decoding
    from keras_attention.plotting.interactive import check_view_path
    from keras_attention.translation.translator import Translator

    check_view_path(out)
    search = {
        "max_length": max_length,
        "beam": beam,
        "length_penalty": length_penalty,
        "n_best": beam,
    }
    decoding.check_options(**search)
    translator = Translator.load(run)
    check_sentence(sentence, translator.context_vocabulary)
    translation = translator(sentence, **search)
    translation.view(out)
    print(translation.text)
    print(f"Where the model looked: {out}", file=sys.stderr)
