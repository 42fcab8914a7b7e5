"""`keras-attention view`: an interactive page of the attention."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli.options import Beam, LengthPenalty, MaxLength, Run


def view(
    run: Run,
    sentence: Annotated[str, typer.Argument(help="The sentence to translate.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("view.html"),
    beam: Beam = 1,
    length_penalty: LengthPenalty = 0.6,
    max_length: MaxLength = 50,
) -> None:
    """Translate a sentence, and write an interactive page of the attention.

    Point at a word to see its weights. Choose a layer and a head, or their mean; lines or a matrix;
    words or pieces of words. With `--beam 4` the page also lists the other hypotheses. It is a
    single file that loads nothing from the network: open it in any browser, or send it to somebody.
    """
    from keras_attention import decoding
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
    translator = Translator.load(run)
    translation = translator(sentence, **search, refuse_unknown=True)
    translation.view(out)
    print(translation.text)
    print(f"Attention: {out}", file=sys.stderr)
