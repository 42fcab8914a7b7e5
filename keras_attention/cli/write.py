"""`keras-attention write`: a character model continues a prompt."""

from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli.console import printable


def _of_draws(description):
    return typer.Option(help=description, rich_help_panel="Which characters")


def write(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder that `lab characters` wrote, or the folder of one of its models.",
            show_default=False,
        ),
    ],
    prompt: Annotated[str, typer.Argument(help="The beginning of the text.", show_default=False)],
    length: Annotated[int, typer.Option(help="Characters to write.")] = 500,
    temperature: Annotated[
        float, _of_draws("0 takes the likeliest character; above 0, they are drawn at random.")
    ] = 0.8,
    top_k: Annotated[int, _of_draws("Draw among this many likeliest; 0: all.")] = 0,
    top_p: Annotated[
        float, _of_draws("Draw among the likeliest with this total probability.")
    ] = 1.0,
    seed: Annotated[int, _of_draws("Random seed.")] = 0,
) -> None:
    """Let a character model continue a prompt.

    `keras-attention lab characters --text FILE` trains one on any text.
    """
    from keras_attention.lab.writer import Writer, check_writing

    options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    check_writing(prompt, length, seed, **options)
    writer = Writer.load(run)
    print(printable(prompt + writer(prompt, length, seed=seed, **options)))
