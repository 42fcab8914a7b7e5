"""`keras-attention serve`: a local page that translates what you type."""

from typing import Annotated

import typer

from keras_attention.cli.console import progress
from keras_attention.cli.options import DEFAULT, Chosen
from keras_attention.translation import web


def serve(
    chosen: Chosen = DEFAULT,
    port: Annotated[
        int, typer.Option(min=1, max=web.LAST_PORT, help="Port of the page.")
    ] = web.PORT,
    host: Annotated[
        str,
        typer.Option(help="`127.0.0.1` serves this computer alone, `0.0.0.0` its network too."),
    ] = web.HOST,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open a local page: type a sentence, see its translation and what the model attends to.

    Choose a beam to list all its hypotheses, or a temperature to draw words at random. Below the
    translation is the page of `view`: every layer and head, word by word. The programs for the
    examples are compiled before the page opens. With a beam, a temperature or another length, the
    first sentence takes some seconds longer. The page loads nothing from the network and sends
    nothing to it. Stop the server with Ctrl-C.

    Needs the extra `demo`.
    """
    web.check_installed()
    web.check_address(host, port)
    from keras_attention.translation.translator import Translator

    translator = Translator.load(chosen)
    web.warm_up(translator, progress("Warming up"))
    web.serve(translator, host, port, open_browser)
