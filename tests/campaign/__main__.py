"""The command: `python -m tests.campaign`. Thin: reads options, runs the parts, reports.

A wrong option is one line on stderr and exit code 2.
"""

import argparse
import sys

from tests.campaign import page
from tests.campaign.parts import FEW, PARTS, run, say

SAYS = """\
Try what must not happen: faults during training, wrong, strange and hostile input, and load.

parts:
  kills    training that is killed, ended, out of disk, without permission or out of power, and
           then resumed: it must end as if nothing had happened
  inputs   texts, files, options and numbers drawn by Hypothesis: each must end in a result that
           holds what it promises, or in the error that is documented
  load     many translations in one process, then a page with 32 clients, some slow, some broken:
           no slower, no larger, and every answer a translation or a clear refusal
  numbers  every layer and builder with large numbers, no sequence, no key, thousands of keys, on
           each backend in three precisions: near what float64 gives, and all of it numbers
  processes  training in 2 or 4 processes, of which one is killed, stopped or slowed: the others
           end with one line or wait, and the run goes on in another number of processes
  pages    hostile sentences on every kind of page, opened in headless Chromium: nothing of theirs
           runs, and no request leaves
"""
EXAMPLES = """\
Prints a line for each kind of case, and every failure. The exit code is 1 if there is one. A whole
campaign takes hours, and `--write` puts its table into docs/reliability.md.

Examples:
  python -m tests.campaign --few                       a quarter of an hour
  python -m tests.campaign inputs --cases 5000         one part
  python -m tests.campaign kills --only SIGTERM --seed 7  one kind, at other moments
"""


def parser():
    """Return the options, with a help that teaches."""
    options = argparse.ArgumentParser(
        "python -m tests.campaign",
        description=SAYS,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = options.add_argument
    add("parts", nargs="*", metavar="PART", help=f"{' or '.join(PARTS)} (default: all)")
    add("--cases", type=at_least_one, metavar="N", help="cases in place of those of a campaign")
    add("--few", action="store_true", help="few cases of each part")
    add("--seed", type=int, default=0, help="another seed draws other cases (0)")
    add(
        "--only",
        default="",
        metavar="WORDS",
        help="the kinds of cases with these words in the name",
    )
    add("--write", action="store_true", help="write the table into docs/reliability.md")
    return options


def at_least_one(text):
    """Read a whole number from 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def main(arguments=None):
    """Run the command line, and return its exit status."""
    reader = parser()
    options = reader.parse_args(arguments)
    wrong = set(options.parts) - set(PARTS)
    if wrong:
        reader.error(f"a part is one of {', '.join(PARTS)}, got {', '.join(sorted(wrong))}")
    outcomes = []
    for part in options.parts or PARTS:
        cases = options.cases or (FEW if options.few else PARTS)[part]
        outcomes += run(part, cases, options.seed, options.only)
    for outcome in outcomes:
        for failure, count in outcome.failures.items():
            say(f"{outcome.part}, {outcome.what}: {count} × {failure}")
    if options.only and not outcomes:
        reader.error(f"no kind of case has {options.only!r} in its name")
    if options.write:
        page.write(outcomes, options.seed)
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
