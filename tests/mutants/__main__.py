"""The command: `python -m tests.mutants`. Thin: reads options, runs, reports.

A wrong option is one line on stderr and exit code 2.
"""

import argparse
import signal
import sys
from pathlib import Path

from tests.mutants import report, rooms

NAME = "tests.mutants"
SAYS = """\
Show which small mistakes in the package its tests notice.

cosmic-ray knows the mistakes: a < that becomes <=, a 1 that becomes 2, a branch turned round, a
decorator left out. A sample of them is drawn by a seed over all rooms. Each mutant lives in a
process of its own, no file of the checkout changes, and the tests of its room are run against it:
first the everyday suite, then, if it survives, the thorough tests too. A test that takes much
longer than without the mutant has killed it as well.
"""
EXAMPLES = """\
Prints a line for each mutant, and at the end a table by room and all survivors. A survivor asks for
a test that fails with it, or it is the same program: then tests/mutants/same_program.json says why.
The exit code is 1 if a suite kills too few, or a survivor is neither.

An interrupted run goes on where it was; when nothing is left, the next one begins anew.

Examples:
  python -m tests.mutants                               all, about half an hour on two cores
  python -m tests.mutants --rooms ops text              those of the sample in two rooms
  python -m tests.mutants --rooms ops --survivors       after new tests: those that survived, again
  python -m tests.mutants --sample 1000 --seed 7        others, and more of them
"""


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message):
        complain(message)
        sys.exit(2)


def complain(message):
    print(f"{NAME}: error: {' '.join(str(message).split())}", file=sys.stderr)


def at_least_one(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def parser():
    """Return the options, with a help that teaches."""
    options = Parser(
        f"python -m {NAME}",
        description=SAYS,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = options.add_argument
    add(
        "--rooms",
        nargs="+",
        choices=rooms.ROOMS,
        default=list(rooms.ROOMS),
        metavar="ROOM",
        help=f"run the mutants of these rooms only: {', '.join(rooms.ROOMS)} (default: all)",
    )
    add("--sample", type=at_least_one, default=300, metavar="N", help="mutants of all rooms (300)")
    add("--seed", type=int, default=1, help="another seed draws other mutants (1)")
    add("--jobs", type=at_least_one, default=2, metavar="N", help="processes side by side (2)")
    add("--only", choices=["everyday"], help="run no thorough test")
    again = options.add_mutually_exclusive_group()
    again.add_argument("--survivors", action="store_true", help="run those that survived again")
    again.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    out = rooms.ROOT / "build" / "mutants"
    add(
        "--out", type=Path, default=out, help="folder for mutants.json and mutants.md (%(default)s)"
    )
    return options


def run(options):
    """Do what the options say; return the exit status."""
    from tests.mutants import campaign, population
    from tests.mutants.record import Record

    suite = options.only or "whole"
    why = report.reasons()
    mutants = population.sample(options.sample, options.seed)
    record = Record.opened(options.out, mutants)
    results = record.of(options.rooms)
    for result in results:
        survived = options.survivors and result.run and not result.killed_by
        if options.fresh or survived:
            result.forget()
    if not options.survivors and not any(result.is_due(suite) for result in results):
        for result in results:
            result.forget()
    try:
        campaign.run(record, options.rooms, suite, options.jobs, say)
    except campaign.RoomError as error:
        complain(error)
        return 1
    page = report.page(results, suite, why, len(results) == len(record.results))
    print("", *page, sep="\n")
    (options.out / "mutants.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    wrong = report.shortcomings(results, suite, why)
    for line in wrong:
        complain(line)
    return 1 if wrong else 0


def say(line):
    """Say at once how it goes, also where it goes to a file."""
    print(line, flush=True)


def main(arguments=None):
    """Run the command line, and return its exit status."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the children too, as Ctrl-C
    try:
        return run(options)
    except ModuleNotFoundError as error:
        complain(f"{error}; pip install -e '.[mutants]' brings it")
    except (ValueError, OSError) as error:
        complain(error)
    except KeyboardInterrupt:
        complain("interrupted; the same command goes on from here")
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
