"""The command: `python -m examples.benchmarks`. Thin: reads options, measures, reports.

A wrong option is one line on stderr and exit code 2; a process that fails while it is measured is
one line and exit code 1, with its traceback in the folder.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from examples import command

HERE = Path(__file__).parent
TRACEBACK = "traceback.txt"
RUN = "Name or folder of a trained {}; without it a small one is trained, in half a minute."

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
def run(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(help="What to measure.", show_default="all", metavar="[SUBJECT]..."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The same on less: does everything work?")
    ] = False,
    corpus: Annotated[str, typer.Option(help="bundled, spa-eng or a file.")] = "bundled",
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Turns of each.", show_default="3; 1 if quick")
    ] = None,
    rnn: Annotated[Path | None, typer.Option(help=RUN.format("RNN"))] = None,
    transformer: Annotated[Path | None, typer.Option(help=RUN.format("Transformer"))] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for figures and pictures.",
            show_default="beside the code; a quick run has one of its own",
        ),
    ] = None,
    names: Annotated[bool, typer.Option("--list", help="Say what can be measured.")] = False,
):
    """Measure this package beside other ways to do the same work.

    The subjects are `rnn-training`, `transformer-training` and `recipe-training` (real target
    tokens a second beside plain Keras, KerasHub and PyTorch, in the tutorials' sizes and in those
    of `train --model transformer`; the share of the machine's matrix peak), `paper-training` (the
    paper's base Transformer in bfloat16, for a GPU), `choices` (XLA or not, bfloat16, ways to make
    batches, the input pipeline), `decoding` (sentences a second and the latency of one, beside
    CTranslate2 and a loop), `many-sentences` (large batches, for a GPU), `memory` (peaks, and
    whether 10,000 translations leave it as it was), `start-up` (import, first translation, compile
    times), `growth` (how time grows with lengths, batch, vocabulary, width, layers and beam, beside
    theory) and `memory-growth` (likewise the memory of XLA's programs).

    Every implementation has a process of its own, and they take turns, so that whatever else the
    machine does hits all alike. A rival that is not installed is left out, with a line that says
    what brings it. Most of the time goes into compiling; how long each subject took stands in
    `results.md`. A quick run does the same on so little that its figures mean nothing.

    Prints tables, and leaves a JSON file and a picture a subject and the page `results.md`, which
    shows also what was measured before into the same folder. With KERAS_BACKEND=jax on a machine
    with a GPU the models of this package, and those on Keras, are measured on it, and PyTorch and
    CTranslate2 where they have it too; a rival on another kind of device is left out.

    Example: `python -m examples.benchmarks decoding --corpus spa.txt --transformer runs/mine`
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # As the command line does; here for all implementations on TensorFlow
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    # Several processes share a GPU: none may take all of its memory at its start
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    from examples.benchmarks import gallery, workers

    if names:
        for name, subject in gallery.SUBJECTS.items():
            print(f"{name:<22}{subject.says}")
        return
    wanted = gallery.chosen(subjects or ())
    out = out or HERE / ("quick" if quick else "results")
    check(corpus, rnn, transformer, out)
    settings = {"corpus": corpus, "rnn": rnn, "transformer": transformer, "quick": quick}
    try:
        measure(wanted, out, rounds=rounds or (1 if quick else 3), **settings)
    except workers.WorkerError as error:
        failed(error, out)


def check(corpus, rnn, transformer, out):
    """Check what can be checked before anything takes time."""
    from keras_attention.translation.folders import folder_of

    if corpus not in ("bundled", "spa-eng") and not Path(corpus).is_file():
        raise FileNotFoundError(f"{corpus} is no file; a corpus is spa-eng, bundled or a text file")
    for name, folder in (("rnn", rnn), ("transformer", transformer)):
        if folder is None:
            continue
        try:
            found = folder_of(folder)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"--{name}: {error}") from None
        if not (found / "config.json").is_file():
            raise FileNotFoundError(
                f"--{name}: expected the folder of a trained model, got {folder}"
            )
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"--out: expected a folder, got the file {out}")


def failed(error, out):
    """Say in one line who failed, leave the whole of it in the folder, and exit."""
    from keras_attention.storage import written_whole

    with written_whole(out / TRACEBACK) as path:
        path.write_text(error.report, encoding="utf-8")
    print(f"examples.benchmarks: error: {error} (all of it: {out / TRACEBACK})", file=sys.stderr)
    raise typer.Exit(1)


def measure(wanted, out, **settings):
    """Measure subjects one after the other; print, keep and show each when it is done."""
    import keras
    from rich.console import Console

    from examples.benchmarks import gallery, machine, prepared, report

    console = Console()
    others = {name: each for name, each in gallery.SUBJECTS.items() if name not in wanted}
    for line in report.found(others, out)[1].values():
        console.print(line, highlight=False, markup=False)
    (out / TRACEBACK).unlink(missing_ok=True)
    took = {}
    described = machine.described(keras.backend.backend())
    with tempfile.TemporaryDirectory() as folder, Bar() as progress:
        options = prepared.Options(**settings, folder=Path(folder))
        progress.subject("preparation")
        progress.doing("sentences, and models to decode with")
        described["device"] = prepared.prepare(
            options,
            pools={model for each in wanted.values() for model in each.pools},
            runs={model for each in wanted.values() for model in each.runs},
        )
        for name, subject in wanted.items():
            progress.subject(name)
            begun = time.perf_counter()
            content = {
                "subject": name,
                "quick": options.quick,
                "rounds": options.rounds,
                "corpus": Path(options.corpus).name,
                "machine": described,
                "measured": subject.measure(options, progress),
            }
            content["seconds"] = round(time.perf_counter() - begun)
            took[name] = report.minutes(content)
            report.keep(name, content, subject, out)
            report.write_page(gallery.SUBJECTS, out)
            for line in content["measured"].get("left_out", []):
                console.print(line, highlight=False, markup=False)
            for table in report.shown(name, subject, content):
                console.print(table)
    print(
        f"Wrote {out / report.PAGE_FILE}, and a JSON file and a picture for each subject. It took: "
        + ", ".join(f"{name} {each}" for name, each in took.items())
    )


class Bar:
    """A progress bar: which subject, who does what, and how much is done; lines in a log."""

    def __enter__(self):
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.start()
        self._begun, self._task = time.perf_counter(), None
        return self

    def __exit__(self, *error):
        self._progress.stop()

    def subject(self, name):
        """Begin a subject."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._name = name
        self._task = self._progress.add_task(name, total=None)

    def expect(self, count):
        """Expect so many more turns."""
        total = self._progress.tasks[-1].total
        self._progress.update(self._task, total=count + (total or 0))

    def doing(self, what):
        """Say what is done now."""
        description = f"{self._name}: {what}"
        self._progress.update(self._task, description=description)
        console = self._progress.console
        if not console.is_terminal:
            seconds = time.perf_counter() - self._begun
            console.print(f"{seconds:.0f} s: {description}", highlight=False, markup=False)

    def done(self):
        """Count a turn."""
        self._progress.advance(self._task)


def main():
    """Run the command line."""
    command.run(app, "examples.benchmarks")


if __name__ == "__main__":
    main()
