"""Training that is killed, ended, out of disk or out of power, and then resumed.

Each case trains a tiny run, lets one fault happen at a moment drawn by the seed, and resumes it.
Then the folder must hold what the same run leaves to which nothing happened: the same files, the
same curves, the same weights to the last bit. No finished epoch may be lost.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from tests.campaign.children import READY, Child, Ended, import_what_is_heavy
from tests.campaign.outcome import Outcome, measured

RUN, JOURNAL = "run", "synced"  # names in the folder of a case
EPOCHS = 4
TINY = (
    *("train", "--corpus", "train.tsv", "--validation", "validation.tsv", "--out", RUN),
    *("--vocabulary", "200", "--batch-size", "16", "--epochs", EPOCHS, "--steps", "12"),
    *("--patience", EPOCHS, "--learning-rate", "0.01"),
)
SMALL = ("--units", "16", "--num-layers", "1", "--num-heads", "2", "--feed-forward-dim", "32")
MODELS = {
    "rnn": ("--model", "rnn", "--units", "17"),
    "transformer": ("--model", "transformer", "--warm-up", "6", *SMALL),
    "rnn, watched": ("--model", "rnn", "--units", "17", "--watch", "…", "--bleu-sample", "5"),
}
FILES = ("context_vocabulary.txt", "target_vocabulary.txt", "curves.png")
# What Python says to an audit hook when a file is about to change
CHANGES = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir")


@dataclass
class Reference:
    """A run to which nothing happened.

    Attributes:
        arguments: those of the command.
        folder: what it left.
        seconds: how long it took.
        changes: how many times it changed a file of its folder.
    """

    arguments: tuple
    folder: Path
    seconds: float
    changes: int


@dataclass
class Fault:
    """What happens to a run.

    Attributes:
        statuses: exit codes that are right; 0 where it may come too late.
        prepare: called in the process before the command begins.
        strike: called with the `Child` while it runs.
        mend: called when it has ended.
        lines: most lines on stderr.
    """

    statuses: set
    prepare: Callable[[], None] = lambda: None
    strike: Callable[[Child], None] = lambda child: None
    mend: Callable[[], None] = lambda: None
    lines: int = 2


def run(cases: int, number: int, folder: Path, say: Callable, only: str) -> list[Outcome]:
    """Let every fault happen to this many runs, to each model in turn."""
    kinds = {f"training: {fault}": fault for fault in FAULTS}
    kinds = {what: fault for what, fault in kinds.items() if only in what}
    if not kinds:
        return []
    import_what_is_heavy()
    found = references(folder / "references")
    outcomes = []
    for what, fault in kinds.items():
        if fault in ON_A_DISK and not _Disk.can_be_mounted(folder / f"disk for {fault}"):
            say(f"{fault}: left out, since this process may not mount a small disk")
            continue
        with measured("kills", what, say) as outcome:
            for place in range(cases):
                name = list(MODELS)[place % len(MODELS)]
                draw = random.Random(f"{number} {fault} {place}")
                for wrong in case(found[name], fault, draw, folder):
                    outcome.fail(f"{name}, case {place}: {wrong}")
                outcome.cases += 1
        outcomes.append(outcome)
    return outcomes


def references(base: Path) -> dict[str, Reference]:
    """Train every model once, in folders of `base`, and count what it does."""
    pairs = _lines()
    found = {}
    for number, (name, options) in enumerate(MODELS.items()):
        folder = base / f"reference-{number}"
        _prepare_folder(folder, pairs)
        sentence = pairs[0].split("\t")[1]
        arguments = (*TINY, *(sentence if option == "…" else option for option in options))
        begun = time.monotonic()
        counts = partial(_at_each_change, folder / RUN, partial(_note, folder / "changes"))
        ended = Child(arguments, folder, counts).ended()
        if ended.status:
            raise RuntimeError(f"{name}: {ended}")
        changes = (folder / "changes").stat().st_size
        found[name] = Reference(arguments, folder, time.monotonic() - begun, changes)
    return found


def case(reference: Reference, fault: str, draw: random.Random, base: Path) -> list[str]:
    """Let a fault happen to a run, resume it, and return what is wrong with the outcome."""
    folder = base / "case"
    shutil.rmtree(folder, ignore_errors=True)
    _prepare_folder(folder, (reference.folder / "train.tsv").read_text().splitlines())
    disk = _Disk(folder) if fault in ON_A_DISK else None
    try:
        return _case(reference, FAULTS[fault](reference, folder, draw), folder)
    finally:
        if disk:
            disk.close()


def _case(reference, fault, folder):
    child = Child(reference.arguments, folder, fault.prepare)
    while not (folder / READY).exists() and child.is_running():
        time.sleep(0.001)
    fault.strike(child)
    ended = child.ended()
    wrong = _is_clean(ended, fault)
    begun = len(re.findall(r"^Epoch ", ended.out, re.MULTILINE))
    fault.mend()
    if (saved := _epochs(folder / RUN)) < begun - 1:
        wrong.append(f"{begun} epochs had begun, {saved} are kept")
    if _is_finished(folder / RUN) and not (folder / RUN / "checkpoints").exists():
        return wrong + differences(folder / RUN, reference.folder / RUN)
    resume = ("--resume",) if (folder / RUN / "config.json").exists() else ()
    finished = _is_finished(folder / RUN)  # and killed before it had cleaned up
    again = Child((*reference.arguments, *resume), folder).ended()
    if again.status != (2 if finished else 0) or (finished and "has finished" not in again.errors):
        return [*wrong, f"resumed: {again.status} {again.errors[-500:]}"]
    return wrong + differences(folder / RUN, reference.folder / RUN)


def differences(folder: Path, expected: Path) -> list[str]:
    """Return in what a run differs from another that should be equal."""
    kept = [sorted(_names(each)) for each in (folder, expected)]
    if kept[0] != kept[1]:
        return [f"files {kept[0]}, expected {kept[1]}"]
    histories = [json.loads((each / "history.json").read_text()) for each in (folder, expected)]
    if histories[0] != histories[1]:
        return [f"history {histories[0]}, expected {histories[1]}"]
    different = [n for n in FILES if (folder / n).read_bytes() != (expected / n).read_bytes()]
    if _weights(folder) != _weights(expected):
        different.append("weights")
    return [f"other {name}" for name in different]


# Faults


def _killed_at_a_moment(reference, folder, draw):
    seconds = draw.uniform(0, 1.1 * reference.seconds)
    return Fault({-signal.SIGKILL, 0}, strike=partial(_after, seconds, signal.SIGKILL))


def _killed_at_a_write(reference, folder, draw):
    count = _Countdown(draw.randrange(reference.changes))
    return Fault({-signal.SIGKILL, 0}, partial(_at_each_change, folder / RUN, count))


def _ended(number, reference, folder, draw):
    seconds = draw.uniform(0, 1.1 * reference.seconds)
    return Fault({128 + number, 0}, strike=partial(_after, seconds, number))


def _disk_full(reference, folder, draw):
    largest = sum(path.stat().st_size for path in (reference.folder / RUN).rglob("*"))
    size = int(draw.uniform(0.01, 2.5) * largest)
    disk = _Disk.of(folder)
    disk.resize(size)
    return Fault({2, 0}, mend=partial(disk.resize, 10 * largest + 10**7), lines=1)


def _read_only(reference, folder, draw):
    seconds = draw.uniform(0, reference.seconds)
    disk = _Disk.of(folder)

    def strike(child):
        _wait(child, seconds)
        disk.make_read_only(child)

    return Fault({2, 0}, strike=strike, mend=disk.make_writable, lines=1)


def _power_cut(reference, folder, draw):
    """A kill, after which only what was told to reach the disk has reached it."""
    fault = _killed_at_a_write(reference, folder, draw)
    journal, kills = folder / JOURNAL, fault.prepare

    def prepare():
        def fsync(descriptor, actually=os.fsync):
            actually(descriptor)
            found = os.fstat(descriptor)
            with journal.open("a") as file:
                file.write(f"{found.st_ino} {found.st_size} {found.st_mtime_ns}\n")

        os.fsync = fsync
        kills()

    return Fault(fault.statuses, prepare, mend=partial(_drop_unsynced, folder / RUN, journal, draw))


FAULTS = {
    "killed at a moment": _killed_at_a_moment,
    "killed at a write": _killed_at_a_write,
    "SIGTERM": partial(_ended, signal.SIGTERM),
    "SIGINT": partial(_ended, signal.SIGINT),
    "disk full": _disk_full,
    "read-only": _read_only,
    "power cut": _power_cut,
}


ON_A_DISK = {"disk full", "read-only"}  # which only root can mount


def _wait(child, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and child.is_running():
        time.sleep(0.002)


def _after(seconds, number, child):
    _wait(child, seconds)
    child.end(number)


class _Countdown:
    """Kills this process at the call of this number, from 0."""

    def __init__(self, number):
        self.left = number

    def __call__(self):
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


def _note(path):
    with path.open("ab") as file:
        file.write(b".")


def _at_each_change(folder, act):
    """Call a function before each change of a file in a folder."""
    prefix = str(folder)

    def hook(event, arguments):
        if event not in CHANGES or not isinstance(arguments[0], str | Path):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
        if os.path.abspath(arguments[0]).startswith(prefix):
            act()

    sys.addaudithook(hook)


def _drop_unsynced(folder, journal, draw):
    """Cut every file that was changed since it last reached the disk."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    synced = {tuple(map(int, line.split())) for line in lines}
    for path in folder.rglob("*"):
        found = path.stat()
        key = (found.st_ino, found.st_size, found.st_mtime_ns)
        if path.is_file() and key not in synced:
            os.truncate(path, draw.randrange(found.st_size + 1))


class _Disk:
    """A disk of its own for the folder of a run: a tmpfs, which only root can mount."""

    def __init__(self, folder):
        self.folder = folder / RUN
        self.folder.mkdir()
        self._mount("size=100m", "-t", "tmpfs", "tmpfs")

    @classmethod
    def can_be_mounted(cls, folder):
        """Return whether this process may mount a disk."""
        folder.mkdir()
        try:
            cls(folder).close()
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    @classmethod
    def of(cls, folder):
        disk = cls.__new__(cls)
        disk.folder = folder / RUN
        return disk

    def resize(self, size):
        self._mount(f"remount,size={max(size, 4096)}")

    def make_read_only(self, child):
        """Let nobody write, at the first moment at which no file is open for writing."""
        is_writable = True
        while is_writable and child.is_running():
            with suppress(subprocess.CalledProcessError):
                self._mount("remount,ro")
                is_writable = False

    def make_writable(self):
        self._mount("remount,rw")

    def close(self):
        subprocess.run(["umount", self.folder], check=True)

    def _mount(self, options, *what):
        command = ["mount", "-o", options, *what, self.folder]
        subprocess.run(command, check=True, capture_output=True)


# What a run has left


def _prepare_folder(folder, lines):
    folder.mkdir(parents=True)
    (folder / "train.tsv").write_text("".join(f"{line}\n" for line in lines))
    (folder / "validation.tsv").write_text("".join(f"{line}\n" for line in lines[-24:]))


def _lines():
    """Return short pairs of the bundled corpus as lines of text."""
    from keras_attention import corpora

    pairs = corpora.load("bundled")
    short = (pair for pair in pairs if len(pair.context.split()) < 6)
    return [f"{pair.target}\t{pair.context}" for pair, _ in zip(short, range(120), strict=False)]


def _is_clean(ended: Ended, fault):
    wrong = []
    if ended.status not in fault.statuses:
        wrong.append(f"exit code {ended.status}, expected one of {sorted(fault.statuses)}")
    if "Traceback" in ended.errors or ended.errors.count("\n") > fault.lines:
        wrong.append(f"stderr: {ended.errors[-1500:]}")
    return wrong


def _is_finished(run):
    return (run / "history.json").is_file()


def _epochs(run):
    """Return the number of epochs that a run has kept."""
    if _is_finished(run):
        return len(json.loads((run / "history.json").read_text())["loss"])
    found = sorted(run.glob("checkpoints/epoch-*"))
    return int(found[-1].name.split("-")[1]) if found else 0


def _names(run):
    """Return the files of a run; not the events of TensorBoard, a file for each process."""
    for path in run.rglob("*"):
        if path.is_file() and not path.name.startswith("events.out.tfevents."):
            yield str(path.relative_to(run))


def _weights(run):
    """Return all weights of a run by name, as bytes."""
    import h5py

    found = {}
    with zipfile.ZipFile(run / "model.keras") as archive:
        data = BytesIO(archive.read("model.weights.h5"))

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()].tobytes()

    with h5py.File(data) as file:
        file.visititems(collect)
    return found
