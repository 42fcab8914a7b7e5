"""`keras-attention serve`: a local page on which one types sentences."""

from typing import Annotated

import typer

from keras_attention.cli.console import progress
from keras_attention.cli.options import Run
from keras_attention.translation import web


def serve(
    run: Run,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the page listens.")] = web.PORT,
    host: Annotated[
        str,
        typer.Option(help="`127.0.0.1` is for this computer alone, `0.0.0.0` for its network too."),
    ] = web.HOST,
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
    web.check_installed()
    web.check_address(host, port)
    from keras_attention.translation.translator import Translator

    translator = Translator.load(run)
    web.warm_up(translator, progress("Warming up"))
    web.serve(translator, host, port, open_browser)
