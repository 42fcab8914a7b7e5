"""The run: every room must pass as it is, then each mutant meets the tests of its room.

The everyday suite comes first, the test file of the mutated module before the others; what survives
it meets the thorough tests too.
"""

from functools import partial

from tests.mutants import forks, loader, population, rooms
from tests.mutants.child import Trial
from tests.mutants.record import SUITES


class RoomError(Exception):
    """The tests of a room fail without any mutant, so that they say nothing about mutants."""


def run(record, chosen, suite, jobs, say):
    """Run what is due in the chosen rooms up to a suite; `say` gets a line for each step."""
    due = [result for result in record.of(chosen) if result.is_due(suite)]
    if not due:
        return
    suites = list(SUITES)[: list(SUITES).index(suite) + 1]
    say("Importing TensorFlow and the like, once.")
    forks.import_what_is_heavy()
    wanted = [room for room in chosen if any(result.mutant.room == room for result in due)]
    check(record, wanted, suites, jobs, say)
    done = len(record.of(chosen)) - len(due)

    def finished(trial, outcome):
        nonlocal done
        result, ran = trial.subject
        result.add(ran, outcome)
        record.keep()
        if result.is_due(suite):
            return partial(next_trial, record, result)
        done += 1
        fate = f"killed by {result.killed_by}" if result.killed_by else "SURVIVED"
        count = f"[{done}/{len(record.of(chosen))}]"
        say(f"{count} {fate}, {result.seconds:.0f} s  {result.mutant}  {result.how}")
        return None

    forks.run_all([partial(next_trial, record, result) for result in due], jobs, finished)


def check(record, wanted, suites, jobs, say):
    """Run the tests of rooms without a mutant, unless nothing has changed since they passed."""
    trials = []
    for room in wanted:
        fingerprint = rooms.fingerprint(room)
        if record.clean.get(room, {}).get("fingerprint") != fingerprint:
            record.clean[room] = {"fingerprint": fingerprint, "suites": {}}
        held = record.clean[room]["suites"]
        files = rooms.room_tests(room)
        runs = [files[:1], files[1:]]  # two, as for a mutant
        trials += [Trial((room, each), runs, SUITES[each]) for each in suites if each not in held]

    def finished(trial, outcome):
        room, suite = trial.subject
        if not outcome.passed:
            see = f'see python -m pytest -m "{SUITES[suite]}" tests/*{room}*'
            raise RoomError(f"{room}: fails without any mutant: {outcome.how}; {see}")
        if suite == "everyday" and not outcome.ran:
            raise RoomError(f"{room}: the everyday suite has no test of it")
        seconds = {"tests": outcome.ran, "seconds": outcome.seconds, "slowest": outcome.slowest}
        record.clean[room]["suites"][suite] = seconds
        record.keep()
        say(f"{room}: {outcome.ran} tests pass, {suite}, {outcome.seconds:.0f} s")

    forks.run_all(trials, jobs, finished)


def next_trial(record, result):
    """Return the trial of a mutant against the suite that comes next for it."""
    mutant = result.mutant
    suite = "whole" if result.run else "everyday"
    file = rooms.ROOT / "keras_attention" / mutant.module
    source = population.mutated_source(
        file.read_text(encoding="utf-8"), mutant.operator, mutant.occurrence
    )
    served = loader.describe(mutant.module, source, rooms.ROOT)
    slowest = record.clean[mutant.room]["suites"][suite]["slowest"]
    runs = rooms.in_turn(mutant.module)
    return Trial((result, suite), runs, SUITES[suite], served, slowest)
