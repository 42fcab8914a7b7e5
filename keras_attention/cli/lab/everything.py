"""`keras-attention lab all`: every experiment, and the page of their figures."""

from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli.console import verbosity
from keras_attention.cli.lab.bench import Out, Quick


def everything(
    out: Out = Path("runs/lab"),
    babi: Annotated[
        Path | None,
        typer.Option(
            help="Folder of bAbI's qa1 and qa2, such as en-10k, beside generated stories."
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="`tinyshakespeare` or a text file, beside the bundled text."),
    ] = None,
    quick: Quick = False,
):
    """All experiments, a folder each, and a page with every figure. Half an hour.

    Experiments that the folder has are not run again, so a command that was interrupted goes on.
    Ends with status 1 if a figure is not where it should be.
    """
    from keras_attention import lab

    outside = {"babi": {"data": babi}} if babi else {}
    outside |= {"characters": {"text": text}} if text else {}
    runs = lab.runs_of(lab.EXPERIMENTS, outside)
    reports = lab.perform_all(runs, out, quick=quick, verbose=verbosity())
    missed = [(folder, figure) for folder, report in reports.items() for figure in report.missed]
    for folder, figure in missed:
        print(f"✗ {folder}: {figure.name} is {figure.value:.4g}, expected {figure.bar}")
    print(f"Figures and pictures: {out / lab.PAGE_FILE}")
    if missed:
        raise typer.Exit(1)
