"""`keras-attention serve`: a local page on which one types sentences."""

from typing import Annotated

import typer

from keras_attention import serving
from keras_attention.cli.console import progress
from keras_attention.cli.options import Run


def serve(
    run: Run,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Where the page listens.")
    ] = serving.PORT,
    host: Annotated[
        str,
        typer.Option(help="`127.0.0.1` is for this computer alone, `0.0.0.0` for its network too."),
    ] = serving.HOST,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
):
    """Open a local page: type a sentence, see its translation and where the model looked.

    Choose a beam, and all that it found is listed; or a temperature, at which words are drawn.
    Below stands what `view` writes: every layer and head, word by word. What the examples need is
    compiled before the page opens; with a beam, a temperature or another length the first sentence
    waits some seconds. Nothing is loaded from elsewhere or sent there. Ctrl-C ends it.

    Needs the extra `demo`.
    """
    serving.check_installed()
    serving.check_address(host, port)
    from keras_attention.translator import Translator

    translator = Translator.load(run)
    serving.warm_up(translator, progress("Warming up"))
    serving.serve(translator, host, port, open_browser)
