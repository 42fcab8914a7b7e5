"""`keras-attention lab babi`: a memory network that answers questions about stories."""

from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def babi(
    out: Out = Path("runs/lab/babi"),
    task: Annotated[
        int, typer.Option(help="1: one fact makes an answer. 2: two do.", min=1, max=2)
    ] = 1,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the files of bAbI, such as `tasks_1-20_v1-2/en-10k`; by default "
            "stories like them are made.",
            show_default=False,
        ),
    ] = None,
    hops: Annotated[
        int | None,
        typer.Option(
            help="How often to look before the answer; at least 2 for task 2. "
            "[default: 1, task 2: 3]",
            min=1,
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    quick: Quick = False,
):
    """Answer questions about a story by looking at it again and again.

    An end-to-end memory network, beside the same without the times of the sentences (task 1) or
    with a single look (task 2). Half a minute on two CPU cores.
    """
    given = {"data": data, "hops": hops}
    given = {name: value for name, value in given.items() if value is not None}
    perform("babi", out, seed, quick, task=task, **given)
