"""All experiments of the lab in turn, and the page that shows what they measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_attention.lab.experiment import Experiment, check, described, fingerprint, perform
from keras_attention.lab.report import RESULTS_FILE, Report, written
from keras_attention.storage import written_whole

PAGE_FILE = "results.md"


class Run(NamedTuple):
    """One run of the full table; `folder` is its name in the collection."""

    folder: str
    name: str
    experiment: Experiment
    options: dict[str, Any]
    seed: int


def runs_of(
    experiments: Mapping[str, Experiment], outside: Mapping[str, dict[str, Any]] | None = None
) -> list[Run]:
    """List the runs of the full table, in order.

    Args:
        experiments: `Experiment`s by name.
        outside: further options by name of an experiment, for external data, such as
            `{"babi": {"data": "en-10k"}}`: each of its variants is also run with these.

    Returns:
        A list of `Run`s.
    """
    runs = []
    for name, experiment in experiments.items():
        more = (outside or {}).get(name)
        variants = [*experiment.variants]
        variants += [{**variant, **more} for variant in experiment.variants] if more else []
        for variant in variants:
            for seed in experiment.seeds:
                runs.append(Run(_folder_name(name, variant, seed), name, experiment, variant, seed))
    return runs


def _folder_name(name, options, seed):
    parts = [name, *(f"{key}-{Path(value).stem}" for key, value in described(options).items())]
    return "-".join([*parts, *(["seed", str(seed)] if seed else [])])


def perform_all(
    runs: Sequence[Run],
    folder: Path | str,
    *,
    quick: bool = False,
    verbose: int | str = "auto",
    tell: Callable[[str], object] = print,
) -> dict[str, Report]:
    """Perform the runs that are not in the folder yet, and write the page.

    Each run has a folder of its own. All runs are checked first, so that a wrong option does not
    fail after hours of work.

    Args:
        runs: `Run`s.
        folder: folder of the collection; a report of the same run found there is used as it is.
        quick: as in `perform`.
        verbose: as in `keras.Model.fit`.
        tell: called with a line before each run.

    Returns:
        The `Report`s by folder name.

    Raises:
        ValueError: an option of a run is wrong, or a training diverged.
        OSError: external data cannot be read, or the folder cannot be written to.
    """
    for run in runs:
        check(run.experiment, seed=run.seed, quick=quick, **run.options)
    reports: dict[str, Report] = {}
    folder = Path(folder)
    for place, run in enumerate(runs, start=1):
        reports[run.folder] = _found(folder / run.folder, run, quick)
        state = " (found)" if reports[run.folder] else ""
        tell(f"[{place}/{len(runs)}] {run.folder}{state}: {run.experiment.says}")
        if reports[run.folder] is None:
            reports[run.folder] = perform(
                run.name,
                run.experiment,
                folder / run.folder,
                seed=run.seed,
                quick=quick,
                verbose=verbose,
                **run.options,
            )
        with written_whole(folder / PAGE_FILE) as path:
            path.write_text(results_page(runs, reports), encoding="utf-8")
    return reports


def _found(folder, run, quick):
    """Return the report of the same run, or None."""
    if not (folder / RESULTS_FILE).is_file():
        return None
    report = Report.load(folder)
    wanted = (run.name, described(run.options), fingerprint(run.options), run.seed, quick)
    found = (report.experiment, report.options, report.data, report.seed, report.quick)
    return report if found == wanted else None


def results_page(runs: Iterable[Run], reports: Mapping[str, Report]) -> str:
    """Return reports as Markdown: a section per experiment with its figures and pictures."""
    lines = [
        "# The lab: every figure as it was measured",
        "",
        "`keras-attention lab all` runs the experiments and writes this page; "
        "`keras-attention lab` lists them; each has a command of its own. The figures of several "
        "seeds stand side by side, in order.",
    ]
    groups: dict[str, list[Run]] = {}
    for run in runs:
        if run.folder in reports:
            command = [run.name, *(f"--{k} {v}" for k, v in described(run.options).items())]
            groups.setdefault(" ".join(command), []).append(run)
    for title, members in groups.items():
        lines += ["", *_section(title, members, [reports[run.folder] for run in members])]
    return "\n".join(lines) + "\n"


def _section(command, members, reports):
    experiment = members[0].experiment
    seconds = " / ".join(f"{report.seconds:.0f}" for report in reports)
    seeds = " / ".join(str(report.seed) for report in reports)
    lines = [
        f"## `lab {command}`",
        "",
        f"{experiment.says} ({experiment.source})",
        "",
        f"Seed {seeds}; {seconds} seconds on {reports[0].backend}"
        + ("; a quick run, whose figures mean nothing." if reports[0].quick else "."),
        "",
        "| figure | measured | unit | bar |",
        "| --- | --- | --- | --- |",
    ]
    for figures in zip(*(report.figures for report in reports), strict=True):
        values = " / ".join(written(figure.value) for figure in figures)
        bar = figures[0].bar
        if bar and not reports[0].quick:
            bar += "" if all(figure.reached for figure in figures) else ", missed"
        lines.append(f"| {figures[0].name} | {values} | {figures[0].unit} | {bar} |")
    first = members[0].folder
    for picture in reports[0].pictures:
        if Path(picture).suffix == ".png":
            lines += ["", f"![{Path(picture).stem} of {command}]({first}/{picture})"]
    return lines
