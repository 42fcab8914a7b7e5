"""`keras-attention write`: a character model goes on from a prompt."""

from pathlib import Path
from typing import Annotated

import typer


def _of_draws(description):
    return typer.Option(help=description, rich_help_panel="Which characters")


def write(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder that `lab characters` wrote, or that of one model in it.",
            show_default=False,
        ),
    ],
    prompt: Annotated[str, typer.Argument(help="What the text begins with.", show_default=False)],
    length: Annotated[int, typer.Option(help="Characters to write.")] = 500,
    temperature: Annotated[
        float, _of_draws("0 takes the likeliest; above, characters are drawn.")
    ] = 0.8,
    top_k: Annotated[int, _of_draws("Draw among so many likeliest; 0: all.")] = 0,
    top_p: Annotated[float, _of_draws("Draw among the likeliest that make up this share.")] = 1.0,
    seed: Annotated[int, _of_draws("Of the draws.")] = 0,
):
    """Let a character model write on from a prompt.

    `keras-attention lab characters --text FILE` trains one on any text.
    """
    from keras_attention.lab.writer import Writer, check_writing

    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    check_writing(prompt, length, seed, **options)
    writer = Writer.load(run)
    print(prompt + writer(prompt, length, seed=seed, **options))
