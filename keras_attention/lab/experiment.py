"""An experiment, and the one way to run it."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from keras_attention.lab.report import RESULTS_FILE, Figure, Report

DATA = ("data", "text")  # the options that may name files or folders


@dataclass(frozen=True)
class Experiment:
    """A claim of the notes or of a paper, and a run that shows it.

    Attributes:
        run: `run(folder, *, seed, quick, verbose, **options) → figures, pictures`: a list of
            `Figure` and the names of the files that it drew into the folder. A quick run does the
            same work on less data, in seconds; its figures mean nothing.
        says: what it shows, in one sentence.
        source: paper and figure, table or equation.
        variants: the options of each run in the full table.
        seeds: the random seeds of its runs.
        check: `check(*, quick, **options)`: raises a ValueError or an OSError if a run with these
            options cannot succeed; it writes nothing.
    """

    run: Callable[..., tuple[list[Figure], list[str]]]
    says: str
    source: str
    variants: tuple[dict[str, Any], ...] = ({},)
    seeds: tuple[int, ...] = (0,)
    check: Callable[..., None] = lambda **options: None


def described(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options for a report: those that are not None, with files by their names."""
    return {key: Path(str(value)).name for key, value in options.items() if value is not None}


def fingerprint(options: Mapping[str, Any]) -> str:
    """Return a fingerprint of the files of external data; "" without any.

    It tells apart data of the same name.
    """
    paths = [Path(str(options[name])) for name in DATA if options.get(name)]
    files = [
        file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
    ]
    contents = [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"".join(contents)).hexdigest()[:12] if contents else ""


def check(experiment: Experiment, *, seed: int = 0, quick: bool = False, **options: Any) -> None:
    """Check the seed and the options of a run.

    Raises:
        ValueError: the seed is negative, or an option is wrong.
        OSError: external data cannot be read.
    """
    if seed < 0:
        raise ValueError(f"seed must be 0 or above, got {seed}")
    experiment.check(quick=quick, **options)


def perform(
    name: str,
    experiment: Experiment,
    folder: Path | str,
    *,
    seed: int = 0,
    quick: bool = False,
    verbose: int | str = "auto",
    **options: Any,
) -> Report:
    """Run an experiment, and write its pictures and `results.json` to a folder.

    Args:
        name: name of the experiment.
        experiment: an `Experiment`.
        folder: created if needed; results of an earlier run in it are replaced.
        seed: random seed of weights and examples.
        quick: whether to do less of everything.
        verbose: as in `keras.Model.fit`.
        **options: options of the experiment.

    Returns:
        A `Report`.

    Raises:
        ValueError: an option is wrong, or a training diverged.
        OSError: the folder cannot be written to.
    """
    folder = Path(folder)
    check(experiment, seed=seed, quick=quick, **options)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"expected a folder for the results, got the file '{folder}'")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULTS_FILE).unlink(missing_ok=True)  # no old figures beside new pictures
    keras.utils.set_random_seed(seed)
    begun = time.perf_counter()
    figures, pictures = experiment.run(folder, seed=seed, quick=quick, verbose=verbose, **options)
    report = Report(
        experiment=name,
        options=described(options),
        data=fingerprint(options),
        seed=seed,
        quick=quick,
        backend=keras.backend.backend(),
        seconds=round(time.perf_counter() - begun, 1),
        figures=figures,
        pictures=[str(picture) for picture in pictures],
    )
    report.save(folder)
    return report
