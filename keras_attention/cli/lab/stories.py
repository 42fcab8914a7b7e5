"""`keras-attention lab babi`: a memory network that answers questions about stories."""

from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli.lab.bench import Out, Quick, Seed, perform


def babi(
    out: Out = Path("runs/lab/babi"),
    task: Annotated[
        int, typer.Option(help="1: one fact gives the answer. 2: two facts do.", min=1, max=2)
    ] = 1,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the files of bAbI, such as `tasks_1-20_v1-2/en-10k`; by default "
            "similar stories are generated.",
            show_default=False,
        ),
    ] = None,
    hops: Annotated[
        int | None,
        typer.Option(
            help="Reads of the memory before the answer; at least 2 for task 2. "
            "[default: 1, task 2: 3]",
            min=1,
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    quick: Quick = False,
) -> None:
    """Answer questions about a story by attending to it several times.

    Compares an end-to-end memory network with the same network without the times of the sentences
    (task 1) or with a single read (task 2). Takes one minute on two CPU cores.
    """
    given = {"data": data, "hops": hops}
    given = {name: value for name, value in given.items() if value is not None}
    perform("babi", out, seed, quick, task=task, **given)
