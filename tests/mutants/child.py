"""One process, which runs the tests of a room against one mutant, or against the package as it is.

Its exit status says what came out. It is a fork of a process that imported TensorFlow and the like
and nothing of the package: the mutant is imported when a test asks for it, as anything else.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mutants import loader, rooms

PASSED, FAILED, BROKEN = 0, 1, 70  # what it exits with; BROKEN: the child itself, not a test
REPORT = "report.json"
LOG = "log.txt"

STARTED = "started"  # a file that is there once pytest has begun

START = "start"  # until the first test of a run: imports and collection
# A test may take so many times as long as the slowest of its file without a mutant, and so many
# seconds more: what is compiled for several tests, the first of them waits for.
TIMES, SECONDS_MORE = 3, 30
UNKNOWN = 200  # seconds, where it is not known how long it takes


@dataclass
class Trial:
    """What a child does.

    Attributes:
        subject: whose trial it is; the child does not look at it.
        runs: test files for every run of pytest; the next run only if the one before passes.
        marks: the marker expression that chooses tests in them.
        mutant: what `loader.serve` takes, or None.
        slowest: seconds of the slowest test in each file, and until the first test, without a
            mutant.
        forked: how many children have tried.
    """

    subject: object
    runs: list
    marks: str
    mutant: dict | None = None
    slowest: dict = field(default_factory=dict)
    forked: int = 0


class Watch:
    """A plugin of pytest: measures tests, ends the process where one takes too long."""

    def __init__(self, slowest, folder):
        self.limits, self.folder = slowest, folder
        self.slowest, self.failed, self.ran = {}, "", 0

    def begin(self, file):
        # A signal that nobody handles: it ends loops in C++ as well
        limit = TIMES * self.limits.get(file, UNKNOWN) + SECONDS_MORE
        signal.setitimer(signal.ITIMER_REAL, limit)
        self.began = time.monotonic()

    def end(self, file):
        seconds = round(time.monotonic() - self.began, 2)
        self.slowest[file] = max(seconds, self.slowest.get(file, 0))

    def pytest_sessionstart(self):
        (self.folder / STARTED).touch()
        self.begin(START)

    def pytest_runtestloop(self):
        self.end(START)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        file = item.path.relative_to(rooms.ROOT).as_posix()
        self.begin(file)
        result = yield
        self.end(file)
        self.ran += 1
        return result

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid


def live(trial, folder):
    """Be the child: run the tests of a trial, leave a report in a folder, and exit."""
    status = BROKEN
    try:
        os.setsid()  # with what its tests start it is one group, which can be ended together
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        watch = Watch(trial.slowest, folder)
        watch.begin(START)
        stay_inside(folder)
        if trial.mutant:
            loader.serve_everywhere(trial.mutant, folder)
        status = run_tests(trial, watch)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # the exit handlers are those of the parent


def stay_inside(folder):
    """Let all that a test prints and leaves go to a folder, and let it take no more than its part.

    A mutant can ask for any amount of memory: if it comes to that, it is ended before all others.
    """
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins that no test needs take a second
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    os.chdir(rooms.ROOT)
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text("1000")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (memory // 2, resource.RLIM_INFINITY))


def run_tests(trial, watch):
    """Run pytest over each group of files until one fails; return PASSED or FAILED."""
    status = PASSED
    for files in filter(None, trial.runs):
        options = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-m", trial.marks]
        options += [f"--basetemp={watch.folder / 'tests'}", f"--rootdir={rooms.ROOT}"]
        code = pytest.main([*options, *map(str, files)], plugins=[watch])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            status = FAILED
            break
    report = {"failed": watch.failed, "ran": watch.ran, "slowest": watch.slowest}
    (watch.folder / REPORT).write_text(json.dumps(report), encoding="utf-8")
    return status
