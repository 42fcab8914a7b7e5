"""What the commands of the lab share: their options, and how they show a report."""

from pathlib import Path
from typing import Annotated

import typer

from keras_attention.cli.console import verbosity

Out = Annotated[Path, typer.Option(help="Folder for figures and pictures.")]
Seed = Annotated[int, typer.Option(help="Of weights and examples.")]
Quick = Annotated[bool, typer.Option("--quick", help="The same on less, in under a minute.")]


def perform(name, out, seed, quick, **options):
    """Run an experiment of the lab, and print its figures and where its pictures are."""
    from keras_attention import lab

    report = lab.perform(
        name,
        lab.EXPERIMENTS[name],
        out,
        seed=seed,
        quick=quick,
        verbose=verbosity(),
        **options,
    )
    show(report)
    for picture in report.pictures:
        print(f"picture: {out / picture}")


def show(report):
    """Print the figures of a report as a table, each beside what it is held to."""
    from keras_attention.lab.report import written

    width = max(len(figure.name) for figure in report.figures)
    for figure in report.figures:
        line = f"{figure.name:<{width}}  {written(figure.value):>8} {figure.unit}"
        if figure.bar and not report.quick:
            line = f"{line:<{width + 32}} {'✓' if figure.reached else '✗'} {figure.bar}"
        print(line.rstrip())
    print(f"{report.seconds:.0f} seconds" + (", a quick run" if report.quick else ""))
