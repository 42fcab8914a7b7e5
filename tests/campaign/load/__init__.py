"""Many translations in one process, and many clients of one page.

Both must go on as they began: no more memory, no more programs, no slower, and no other answer than
a translation or a clear refusal.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

from tests.campaign.load.serving import serving
from tests.campaign.load.translating import translations
from tests.campaign.outcome import Outcome


def run(cases: int, number: int, folder: Path, say: Callable) -> list[Outcome]:
    """Translate this many texts, then serve a page for a time in proportion to them."""
    outcomes = []
    for part in (translations, serving):
        begun = time.monotonic()
        outcome = part(cases, random.Random(number), folder)
        outcome.seconds = time.monotonic() - begun
        outcomes.append(outcome)
        say(f"{outcome.what}: {outcome.cases:,} cases, {len(outcome.failures)} failures")
        say(outcome.figures)
    return outcomes
