"""What came out of a part of the campaign."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """The cases of one line of the table.

    Attributes:
        part: name of the part.
        what: what its cases are.
        cases: number of cases that ran.
        failures: for each kind of failure, what it was and how often.
        seconds: by the clock on the wall.
        figures: what was measured, in words.
    """

    part: str
    what: str
    cases: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    figures: str = ""

    def fail(self, what: str) -> None:
        """Count a failure; say at once what a new one is."""
        if what not in self.failures:
            print(f"{self.part}, {self.what}: {what}", flush=True)
        self.failures[what] = self.failures.get(what, 0) + 1


@contextmanager
def measured(part: str, what: str, say: Callable) -> Iterator[Outcome]:
    """Yield the outcome of the cases in the block; measure its seconds, and say how they went."""
    outcome, begun = Outcome(part, what), time.monotonic()
    yield outcome
    outcome.seconds = time.monotonic() - begun
    say(f"{what}: {outcome.cases:,} cases, {sum(outcome.failures.values())} failures")
