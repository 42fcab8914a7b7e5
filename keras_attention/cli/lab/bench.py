"""The options that the commands of the lab share, and the output of a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keras_attention.cli.console import verbosity

if TYPE_CHECKING:  # it loads Keras, which the commands import only when they need it
    from keras_attention.lab.report import Report

Out = Annotated[Path, typer.Option(help="Folder for figures and pictures.")]
Seed = Annotated[int, typer.Option(help="Random seed of the weights and the examples.")]
Quick = Annotated[bool, typer.Option("--quick", help="Run a small version in under a minute.")]


def perform(name: str, out: Path, seed: int, quick: bool, **options: Any) -> None:
    """Run an experiment of the lab, and print its figures and the paths of its pictures."""
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


def show(report: "Report") -> None:
    """Print the figures of a report as a table, each beside its target."""
    from keras_attention.lab.report import written

    width = max(len(figure.name) for figure in report.figures)
    for figure in report.figures:
        line = f"{figure.name:<{width}}  {written(figure.value):>8} {figure.unit}"
        if figure.bar and not report.quick:
            line = f"{line:<{width + 32}} {'✓' if figure.reached else '✗'} {figure.bar}"
        print(line.rstrip())
    print(f"{report.seconds:.0f} seconds" + (", a quick run" if report.quick else ""))
