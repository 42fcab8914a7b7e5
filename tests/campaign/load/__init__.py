"""Many translations in one process, and many clients of one page.

Both must go on as they began: no more memory, no more programs, no slower, and no other answer than
a translation or a clear refusal.
"""

import random
from collections.abc import Callable
from pathlib import Path

from tests.campaign.load.serving import CLIENTS, serve_clients
from tests.campaign.load.translating import translations
from tests.campaign.outcome import Outcome, measured

HALVES = {
    "translations in one process": translations,
    f"a page with {sum(CLIENTS.values())} clients": serve_clients,
}


def run(cases: int, number: int, folder: Path, say: Callable, only: str) -> list[Outcome]:
    """Translate this many texts, then serve a page for a time in proportion to them."""
    outcomes = []
    for what, part in HALVES.items():
        if only not in what:
            continue
        with measured("load", what, say) as outcome:
            part(cases, random.Random(number), folder, outcome)
        say(outcome.figures)
        outcomes.append(outcome)
    return outcomes
