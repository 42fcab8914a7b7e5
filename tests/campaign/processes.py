"""Training in several processes of this machine, of which one is killed, stopped or slowed.

When one is lost, the others end with one line, and the run goes on in another number of processes;
one that is slow is waited for. The curves are always those of one process.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from keras_attention.distribution.processes import SILENCE
from tests.campaign.outcome import Outcome, measured
from tests.distribution.conftest import COMMAND_LINE, ended, free_address, starting
from tests.distribution.small_run import SmallRun, assert_same_curves

NUMBERS = (2, 4)
RESUMED = {2: (1, 4), 4: (1, 2)}  # in how many processes a run of 2, or of 4, goes on
LATEST = 2 * SILENCE  # seconds within which the others end
NAP, AWAKE = 2.0, 0.5  # seconds, of a process that is slow
LOST = "was lost. The last finished epoch is kept"


def run(cases: int, number: int, folder: Path, say: Callable, only: str) -> list[Outcome]:
    """Let every fault happen to this many runs."""
    if not find_spec("jax"):
        say("processes: left out, since JAX is not installed")
        return []
    kinds = {f"one of 2 or 4 is {name}": name for name in FAULTS}
    kinds = {what: name for what, name in kinds.items() if only in what}
    if not kinds:
        return []
    small = SmallRun.prepare(folder)
    begun = time.monotonic()
    with starting() as start:
        alone = start("-c", COMMAND_LINE, "train", *small.options, "--out", "one", cwd=folder)
        status, _, errors = ended(alone)
    if status:
        raise RuntimeError(f"the run in one process: {errors}")
    lasts = time.monotonic() - begun
    outcomes = []
    for what, name in kinds.items():
        with measured("processes", what, say) as outcome:
            for place in range(cases):
                draw = random.Random(f"{number} {name} {place}")
                try:
                    case(small, FAULTS[name], lasts, draw)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    outcome.fail(f"case {place}: {str(error).strip()[:500]}")
                outcome.cases += 1
        outcomes.append(outcome)
    return outcomes


def case(small: SmallRun, fault: Callable, lasts: float, draw: random.Random) -> None:
    """Let a fault happen to a run, and require that it ends as it should.

    Args:
        small: the run.
        fault: called with the process, the others and the `random.Random`.
        lasts: seconds that the run takes in one process.
        draw: decides the rest.

    Raises:
        AssertionError: something is wrong.
    """
    number = draw.choice(NUMBERS)
    out = small.folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    with starting() as start:
        processes = small.start(start, out, free_address(), number)
        struck = processes.pop(draw.randrange(number))
        # From the beginning to a while after the end, since several are slower than one
        _wait(processes, draw.uniform(0.2, 1.5) * lasts)
        is_lost = fault(struck, processes, draw)
        begun = time.monotonic()
        found = [ended(process, LATEST + 30) for process in processes]
        took = time.monotonic() - begun
    is_finished = (out / "history.json").is_file()
    if is_lost and not is_finished:
        assert took < LATEST, f"the others ended after {took:.0f} s"
        for status, _, errors in found:
            assert status == 2, f"exit code {status}: {errors}"
            assert errors.count("\n") == 1, errors
            assert LOST in errors or "joined the coordinator" in errors, errors
        _resume(small, out, draw.choice(RESUMED[number]))
    else:
        for status, _, errors in found:
            # One that was lost at the very end may leave the others without a goodbye
            assert status == 0 or (is_lost and LOST in errors), f"exit code {status}: {errors}"
    assert_same_curves(out, small.folder / "one")


def _resume(small, out, number):
    """Let the run go on in another number of processes."""
    begun = (out / "config.json").exists()
    with starting() as start:
        if begun and number == 1:
            command = ("-c", COMMAND_LINE, "train", "--resume", "--out", out)
            again = [start(*command, cwd=small.folder)]
        elif begun:
            joined = ("--coordinator", free_address(), "--processes", number)
            command = ("-c", COMMAND_LINE, "train", "--resume", "--out", out, *joined)
            again = [start(*command, "--process-id", i, cwd=small.folder) for i in range(number)]
        else:
            again = small.start(start, out, free_address(), number)
        for status, _, errors in map(ended, again):
            assert (status, errors) == (0, ""), f"resumed: exit code {status}: {errors}"


# Faults; each says whether the process is lost to the others


def _kill(struck, others, draw):
    with suppress(ProcessLookupError):
        os.killpg(struck.pid, signal.SIGKILL)
    return True


def _stop(struck, others, draw):
    with suppress(ProcessLookupError):
        os.killpg(struck.pid, signal.SIGSTOP)
    return True


def _slow_down(struck, others, draw):
    """Stop it again and again for a while, each time for less than it may be silent."""
    for _ in range(draw.randint(3, 8)):
        for number, seconds in ((signal.SIGSTOP, NAP), (signal.SIGCONT, AWAKE)):
            with suppress(ProcessLookupError):
                os.killpg(struck.pid, number)
            time.sleep(seconds)
    return False


FAULTS = {"killed": _kill, "stopped": _stop, "slow": _slow_down}


def _wait(processes: Sequence[subprocess.Popen], seconds):
    """Wait, or until the processes have ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(each.poll() is None for each in processes):
        time.sleep(0.01)
