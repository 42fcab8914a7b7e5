"""`keras-attention lab all`: every experiment, and a page of their figures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from keras_attention.cli.console import verbosity
from keras_attention.cli.lab.bench import Out, Quick


def everything(
    out: Out = Path("runs/lab"),
    babi: Annotated[
        Path | None,
        typer.Option(
            help="Folder of bAbI's qa1 and qa2, such as en-10k, to add to the generated stories."
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="`tinyshakespeare` or a text file, to add to the bundled text."),
    ] = None,
    quick: Quick = False,
) -> None:
    """Run all experiments, each in its own folder, and write a page of all figures.

    Takes about an hour. Finished experiments are not repeated, so an interrupted command can
    continue. Exits with status 1 if a figure misses its target.
    """
    from keras_attention import lab

    outside: dict[str, dict[str, Any]] = {"babi": {"data": babi}} if babi else {}
    outside |= {"characters": {"text": text}} if text else {}
    runs = lab.runs_of(lab.EXPERIMENTS, outside)
    reports = lab.perform_all(runs, out, quick=quick, verbose=verbosity())
    missed = [(folder, figure) for folder, report in reports.items() for figure in report.missed]
    for folder, figure in missed:
        print(f"✗ {folder}: {figure.name} is {figure.value:.4g}, expected {figure.bar}")
    print(f"Figures and pictures: {out / lab.PAGE_FILE}")
    if missed:
        raise typer.Exit(1)
