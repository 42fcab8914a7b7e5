"""What came out so far, in a JSON file: an interrupted run goes on where it was.

A file is written beside, then renamed, after each mutant. What it holds of a mutant is taken over
only if the sample has the very same one, and of a room only while nothing there has changed.
"""

import json
import os
from dataclasses import asdict, dataclass, field

from tests.mutants.population import Mutant

SUITES = {"everyday": "not slow and not thorough", "whole": "thorough and not slow"}
FILE = "mutants.json"


@dataclass
class Result:
    """A mutant, and what the tests said.

    Attributes:
        mutant: the `Mutant`.
        run: the last suite that was run: None, "everyday" or "whole".
        killed_by: the suite that killed it, or None.
        how: the first test that failed, or what else happened.
        seconds: how long it took, all suites together.
    """

    mutant: Mutant
    run: str | None = None
    killed_by: str | None = None
    how: str = ""
    seconds: float = 0.0

    def is_due(self, suite):
        """Whether there is something left to run, where all is run up to a suite."""
        return self.killed_by is None and self.run not in (suite, "whole")

    def add(self, suite, outcome):
        """Take over what came out of a suite."""
        self.run, self.how = suite, outcome.how
        self.killed_by = None if outcome.passed else suite
        self.seconds = round(self.seconds + outcome.seconds, 1)

    def forget(self):
        """Be as if nothing had been run."""
        self.run, self.killed_by, self.how, self.seconds = None, None, "", 0.0


@dataclass
class Record:
    """All results of a sample.

    Attributes:
        folder: where its file is.
        results: a `Result` for each mutant.
        clean: for every room and suite, its fingerprint and seconds without any mutant.
    """

    folder: object
    results: list
    clean: dict = field(default_factory=dict)

    @classmethod
    def opened(cls, folder, mutants):
        """Begin a record, with what an earlier one in this folder knows of the same mutants."""
        file = folder / FILE
        held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        known = {result.mutant: result for result in map(_result, held.get("mutants", ()))}
        results = [known.get(mutant, Result(mutant)) for mutant in mutants]
        return cls(folder, results, held.get("clean", {}))

    def of(self, rooms):
        """Return the results for some rooms."""
        return [result for result in self.results if result.mutant.room in rooms]

    def keep(self):
        """Write the file, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"clean": self.clean}
        content["mutants"] = [_flat(result) for result in self.results]
        beside = self.folder / f".partial-{FILE}"
        beside.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.replace(beside, self.folder / FILE)


def _flat(result):
    flat = asdict(result)
    return {**flat.pop("mutant"), **flat}


def _result(flat):
    names = Mutant.__dataclass_fields__
    rest = {name: value for name, value in flat.items() if name not in names}
    return Result(Mutant(**{name: flat[name] for name in names}), **rest)
