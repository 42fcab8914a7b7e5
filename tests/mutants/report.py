"""The table by room, and the survivors; `same_program.json` names those that no test can kill.

An entry there has `module`, `definition`, `before` and `after` of a mutant, and the `reason` why it
is the same program. It still counts as a mutant that was not killed.
"""

import json
from pathlib import Path

from tests.mutants import rooms

WANTED = {"everyday": 0.85, "whole": 0.95}  # the share of mutants that each suite has to kill
KEY = ("module", "definition", "before", "after")
HEAD = "| room | mutants | killed by the everyday suite | by the whole suite | survivors |"
RULE = "|---|--:|--:|--:|--:|"
SAME_PROGRAM = Path(__file__).with_name("same_program.json")


def reasons(file=SAME_PROGRAM):
    """Read why some mutants are the same program.

    Raises:
        ValueError: an entry lacks something.
    """
    found = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        if set(entry) != {*KEY, "reason"}:
            raise ValueError(f"{file.name}: expected {[*KEY, 'reason']}, got {list(entry)}")
        found[tuple(entry[name] for name in KEY)] = entry["reason"]
    return found


def key(mutant):
    """Return what names a mutant in `same_program.json`."""
    return tuple(getattr(mutant, name) for name in KEY)


def killed(results, suite):
    """Return how many mutants a suite kills; the everyday suite is part of the whole one."""
    suites = ("everyday",) if suite == "everyday" else ("everyday", "whole")
    return sum(result.killed_by in suites for result in results)


def complete(results, suite):
    """Return the results of which it is known whether the suite kills them."""
    return [result for result in results if not result.is_due(suite)]


def table(results):
    """Return a line for each room and one for all of them."""
    groups = {room: [r for r in results if r.mutant.room == room] for room in rooms.ROOMS}
    groups = {room: group for room, group in groups.items() if group}
    lines = [HEAD, RULE]
    for room, group in {**groups, "all": results}.items():
        everyday, whole = (killed(group, suite) for suite in WANTED)
        shares = (f"{count} ({count / len(group):.0%})" for count in (everyday, whole))
        cells = (room, len(group), *shares, len(group) - whole)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def survivors(results, why):
    """Return a line for each survivor: first those that ask for a test, then the same programs."""
    left = [result.mutant for result in results if result.killed_by is None]
    unnamed = [mutant for mutant in left if key(mutant) not in why]
    named = [mutant for mutant in left if key(mutant) in why]
    lines = ["", f"Survivors that ask for a test: {len(unnamed)}"]
    lines += ["", *(f"- `{mutant}`" for mutant in unnamed)] if unnamed else []
    lines += ["", f"Survivors that are the same program: {len(named)}"]
    return lines + (["", *(f"- `{m}`: {why[key(m)]}" for m in named)] if named else [])


def needless(results, why, whole_sample):
    """Return a line for each entry of `same_program.json` that is not needed."""
    met = {key(result.mutant): result for result in results}
    lines = []
    for each in why:
        if each in met and met[each].killed_by:
            lines.append(f"- {each[0]}, `{each[2]}` -> `{each[3]}`: {met[each].how} kills it")
        elif each not in met and whole_sample:
            lines.append(f"- {each[0]}, `{each[2]}` -> `{each[3]}`: not in this sample")
    return ["", "No longer needed in same_program.json:", "", *lines] if lines else []


def page(results, suite, why, whole_sample):
    """Return the page, as lines of Markdown, for what is complete."""
    known = complete(results, suite)
    if not known:
        return ["No mutant has been run."]
    lines = [*table(known), *survivors(known, why), *needless(known, why, whole_sample)]
    if len(known) < len(results):
        lines = [f"Not complete: {len(known)} of {len(results)} mutants.", "", *lines]
    return lines


def shortcomings(results, suite, why):
    """Return what is not as it should be, a line for each; none: all is well."""
    lines = []
    for each, wanted in WANTED.items():
        share = killed(results, each) / len(results)
        if share < wanted and (suite == "whole" or each == suite):
            lines.append(f"the {each} suite kills {share:.1%} of the mutants, not {wanted:.0%}")
    left = [r for r in results if r.killed_by is None and key(r.mutant) not in why]
    if suite == "whole" and left:
        lines.append(f"{len(left)} survivors ask for a test, or for a reason in same_program.json")
    return lines
