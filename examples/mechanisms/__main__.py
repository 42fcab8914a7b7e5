"""The command: `python -m examples.mechanisms`. Thin: reads options, measures, reports.

A wrong option is one line on stderr and exit code 2.
"""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from examples import command
from keras_attention.storage import written_whole

HERE = Path(__file__).parent

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
def run(
    task: Annotated[
        list[str] | None,
        typer.Option(help="A mechanism to measure; repeatable.", show_default="all of them"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of every model.")] = 3,
    out: Annotated[
        Path, typer.Option(help="Folder for results and pictures.", show_default="beside the tasks")
    ] = HERE,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Only draw where each layer looks, into `pictures/`.")
    ] = False,
):
    """Show for every mechanism of the package what a model cannot learn without it.

    A task is learned twice, by two small models which differ in one thing: the first has the
    mechanism, the second has what a thrifty engineer would put in its place. Both see the same
    examples, each of them once, and are tested on others. A mechanism earns its place by the gap.

    Prints a table, and writes `results.md`, `results.json` and `results.png`. One task takes about
    half a minute on two CPU cores, all together about ten minutes.

    Example: `python -m examples.mechanisms --task cosine --task CTC --out /tmp/mechanisms`
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from rich.console import Console

    from examples.mechanisms import gallery, report

    tasks = gallery.chosen(task or ())
    out.mkdir(parents=True, exist_ok=True)
    if pictures:
        draw(tasks, out / "pictures")
        return
    rows = measured(tasks, seeds)
    Console().print(report.table(rows, seeds))
    report.write(rows, seeds, out)
    print(f"Wrote results.md, results.json and results.png to {out}")


def draw(tasks, folder):
    """Train every task once, and draw where its layers look, with what that shows."""
    from rich.console import Console
    from rich.progress import track

    from examples.mechanisms import portraits

    def progress(tasks):
        return track(tasks, "Training", console=Console(stderr=True), transient=True)

    captions = portraits.draw(tasks, folder, progress)
    with written_whole(folder / "captions.json") as path:
        path.write_text(json.dumps(captions, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"Wrote {len(captions)} pictures and captions.json to {folder}")


def measured(tasks, seeds):
    """Measure every task with every seed, with and without the mechanism, under a progress bar."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    from examples.mechanisms.report import Row
    from examples.mechanisms.task import measure

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    rows = []
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=2 * seeds * len(tasks))
        for task in tasks:
            results = {True: [], False: []}
            for seed in range(seeds):
                for with_mechanism, found in results.items():
                    word = "with" if with_mechanism else "without"
                    progress.update(bar, description=f"{task.mechanism}, {word}, seed {seed}")
                    found.append(measure(task, with_mechanism, seed))
                    progress.advance(bar)
            rows.append(Row(task, results[True], results[False]))
    return rows


def main():
    """Run the command line."""
    command.run(app, "examples.mechanisms")


if __name__ == "__main__":
    main()
