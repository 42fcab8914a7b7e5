"""What the command leaves: a table, for eyes, for Markdown and for programs, and two pictures."""

import io
import json
import os
import statistics
from dataclasses import dataclass

import keras
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.table import Table

from examples.mechanisms.task import Task
from keras_attention.storage import written_whole

# Blue and vermillion of Okabe and Ito: told apart by readers with any colour vision.
WITH_COLOR, WITHOUT_COLOR, CHANCE_COLOR = "#0072b2", "#d55e00", "#666666"
COLUMNS = ("mechanism", "instead of it", "with: mean", "worst", "without: mean", "best", "seconds")


@dataclass(frozen=True)
class Row:
    """A task and its results with and without the mechanism, a result a seed."""

    task: Task
    with_it: list
    without: list

    def figures(self):
        """Return mean and worst score with it, mean and best without it, seconds of a training."""
        with_it, without = ([r.accuracy for r in each] for each in (self.with_it, self.without))
        seconds = statistics.mean(r.seconds for r in self.with_it + self.without)
        return (
            statistics.mean(with_it),
            min(with_it),
            statistics.mean(without),
            max(without),
            seconds,
        )

    def cells(self):
        """Return the texts of the columns."""
        *scores, seconds = self.figures()
        names = self.task.mechanism, self.task.instead
        return (*names, *(f"{score:.3f}" for score in scores), f"{seconds:.1f}")


def conditions(seeds):
    """Say in one line what the figures were measured with."""
    return (
        f"{seeds} seeds, {os.cpu_count()} CPU cores, Keras {keras.__version__} on "
        f"{keras.backend.backend()}; share of held-out answers that are right"
    )


def table(rows, seeds):
    """Return the table for the terminal."""
    result = Table(title="What a mechanism is good for", caption=conditions(seeds))
    for name in COLUMNS:
        result.add_column(name, justify="left" if name in COLUMNS[:2] else "right", overflow="fold")
    for row in rows:
        result.add_row(*row.cells())
    return result


def markdown(rows, seeds):
    """Return the table in Markdown, with the reasons."""
    lines = [
        "# What a mechanism is good for",
        "",
        f"{conditions(seeds)}. Written by `python -m examples.mechanisms`.",
        "",
        f"| {' | '.join((*COLUMNS, 'why'))} |",
        f"|{' --- |' * 2}{' ---: |' * 5} --- |",
        *(f"| {' | '.join((*row.cells(), row.task.why))} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def write(rows, seeds, folder):
    """Write `results.json`, `results.md` and `results.png` to a folder."""
    measured = {
        row.task.mechanism: {
            "instead": row.task.instead,
            "why": row.task.why,
            "chance": row.task.chance,
            "at_least": row.task.at_least,
            "at_most": row.task.at_most,
            "with": [result._asdict() for result in row.with_it],
            "without": [result._asdict() for result in row.without],
        }
        for row in rows
    }
    content = {"conditions": conditions(seeds), "tasks": measured}
    picture = io.BytesIO()
    dumbbells(rows).savefig(picture, format="png", dpi=150)
    for name, data in (
        ("results.json", (json.dumps(content, indent=2) + "\n").encode()),
        ("results.md", markdown(rows, seeds).encode()),
        ("results.png", picture.getvalue()),
    ):
        with written_whole(folder / name) as part:
            part.write_bytes(data)


def dumbbells(rows):
    """Draw for every mechanism the mean score without it, with it, and that of a guess."""
    figure = Figure(figsize=(9, 1.3 + 0.34 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for height, row in enumerate(reversed(rows)):
        with_it, _, without, _, _ = row.figures()
        axes.plot([without, with_it], [height] * 2, color="0.75", linewidth=3, zorder=1)
        axes.scatter(without, height, s=60, color=WITHOUT_COLOR, marker="s", zorder=2)
        axes.scatter(with_it, height, s=70, color=WITH_COLOR, zorder=3)
        axes.scatter(row.task.chance, height, s=110, color=CHANCE_COLOR, marker="|", zorder=4)
    labels = [f"{row.task.mechanism}  (instead: {row.task.instead})" for row in reversed(rows)]
    axes.set_yticks(range(len(rows)), labels, fontsize=9)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("share of held-out answers that are right, mean over the seeds")
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    marks = (
        ("guess", CHANCE_COLOR, "|"),
        ("without", WITHOUT_COLOR, "s"),
        ("with", WITH_COLOR, "o"),
    )
    figure.legend(
        handles=[
            Line2D([], [], color=color, marker=marker, linestyle="", markersize=8, label=label)
            for label, color, marker in marks
        ],
        loc="outside upper right",
        ncols=3,
        frameon=False,
    )
    return figure
