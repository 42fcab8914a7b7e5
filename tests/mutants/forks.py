"""Children side by side: each is forked from this process once that has imported TensorFlow.

To import TensorFlow takes seconds, to fork a process that has it next to nothing. It works as long
as no operation has run, so this process runs none, and imports nothing of the package.
"""

import gc
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants import child

# What the tests of the rooms import from outside, and what that imports late.
HEAVY = (
    "keras",
    "tensorflow",
    "tensorflow_text",
    "keras_nlp",
    "sacrebleu",
    "matplotlib.pyplot",
    "pytest",
    "_pytest.assertion.rewrite",
)

TRIES = 3  # children for a trial whose child is ended before pytest begins


@dataclass
class Outcome:
    """What came out of a trial.

    Attributes:
        passed: whether no test failed.
        how: the test that failed, "took too long", or the signal that ended the process.
        seconds: how long it took, by the clock on the wall.
        ran: number of tests.
        slowest: seconds of the slowest test in each file; see `child.Trial`.
    """

    passed: bool
    how: str
    seconds: float
    ran: int = 0
    slowest: dict = field(default_factory=dict)


def import_what_is_heavy():
    """Import once what every child needs."""
    importlib.import_module("tests.conftest")  # sets what TensorFlow reads when it is imported
    with _quiet():
        for name in HEAVY:
            with suppress(ImportError):  # what is missing here, the tests do without
                importlib.import_module(name)
    # A child need not look at all these objects again, and copy their pages, to collect its own
    gc.collect()
    gc.freeze()


@contextmanager
def _quiet():
    """Drop what C++ says on stderr: TensorFlow greets whoever imports it."""
    stderr = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def run_all(trials, jobs, finished):
    """Run trials, so many at a time; call `finished(trial, outcome)` for each.

    A trial may also be a function that returns the trial when its turn comes. What `finished`
    returns, a trial or None, comes next.
    """
    waiting, running = deque(trials), {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as base:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    trial = waiting.popleft()
                    trial = trial() if callable(trial) else trial
                    folder = Path(tempfile.mkdtemp(dir=base))
                    running[_fork(trial, folder)] = trial, folder, time.monotonic()
                number, status = os.wait()
                trial, folder, began = running.pop(number)
                _end_group(number)
                seconds = round(time.monotonic() - began, 1)
                if _never_started(status, folder) and trial.forked < TRIES:
                    follower = trial
                else:
                    follower = finished(trial, _outcome(status, folder, seconds))
                shutil.rmtree(folder, ignore_errors=True)
                if follower is not None:
                    waiting.appendleft(follower)
        finally:
            for number in running:
                os.kill(number, signal.SIGKILL)  # it may not have a group yet
                _end_group(number)
                os.waitpid(number, 0)


def _fork(trial, folder):
    trial.forked += 1
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        child.live(trial, folder)
    return number


def _end_group(number):
    """End what a child has started; itself too, if it is still there."""
    with suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


def _never_started(status, folder):
    """Whether a child was ended before pytest began: a lock of C++ may have hung in the fork."""
    return os.WIFSIGNALED(status) and not (folder / child.STARTED).exists()


def _outcome(status, folder, seconds):
    """Read what came out from the exit status of a child, and from the report that it left."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = number == signal.SIGALRM
        return Outcome(False, "took too long" if late else signal.Signals(number).name, seconds)
    code = os.WEXITSTATUS(status)
    if code == child.BROKEN:
        log = (folder / child.LOG).read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"a child broke before it could run a test:\n{log[-2000:]}")
    if not (folder / child.REPORT).exists():
        return Outcome(False, f"exit status {code}", seconds)
    report = json.loads((folder / child.REPORT).read_text(encoding="utf-8"))
    passed = code == child.PASSED
    how = "" if passed else report["failed"] or "pytest could not start"
    return Outcome(passed, how, seconds, report["ran"], report["slowest"])
