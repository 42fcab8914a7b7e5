"""An experiment, and the one way to run it."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import keras

from keras_attention.lab.report import RESULTS_FILE, Report


@dataclass(frozen=True)
class Experiment:
    """Something that the notes or a paper say, and a run that shows it.

    Attributes:
        run: `run(folder, *, seed, quick, verbose, **options) → figures, pictures`: a list of
            `Figure` and the names of the files that it drew into the folder. A quick run does the
            same work on less, in seconds; its figures mean nothing.
        says: what it shows, in one sentence.
        source: paper and figure, table or equation.
        variants: the options of each run that belongs into a whole table.
        seeds: the seeds that its figures are measured with.
        check: `check(*, quick, **options)`: raises a ValueError or an OSError where the options
            cannot be run with; before anything is written.
    """

    run: Callable
    says: str
    source: str
    variants: tuple = ({},)
    seeds: tuple = (0,)
    check: Callable = lambda **options: None


def described(options):
    """Write options for a report: those that were given, files by their names."""
    return {key: Path(str(value)).name for key, value in options.items() if value is not None}


def fingerprint(options):
    """Return what tells data from outside from other data of the same name; "" without any."""
    digest, found = hashlib.sha256(), False
    for value in options.values():
        path = Path(str(value))
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if isinstance(value, (str, Path)) and file.is_file():
                digest.update(file.read_bytes())
                found = True
    return digest.hexdigest()[:12] if found else ""


def check(experiment, *, seed=0, quick=False, **options):
    """Check what an experiment is to be run with.

    Raises:
        ValueError: the seed is negative, or an option is wrong.
        OSError: data from outside cannot be read.
    """
    if seed < 0:
        raise ValueError(f"seed must be 0 or above, got {seed}")
    experiment.check(quick=quick, **options)


def perform(name, experiment, folder, *, seed=0, quick=False, verbose="auto", **options):
    """Run an experiment, and leave its pictures and `results.json` in a folder.

    Args:
        name: what the experiment is called.
        experiment: an `Experiment`.
        folder: made if needed; results of an earlier run in it are replaced.
        seed: of weights and examples.
        quick: whether to do less of everything.
        verbose: as in `keras.Model.fit`.
        **options: the experiment's own.

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
    (folder / RESULTS_FILE).unlink(missing_ok=True)  # so that old figures stand by no new picture
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
