"""The table of the campaign in docs/reliability.md."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.campaign.outcome import Outcome

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "reliability.md", Path(__file__).with_name("results.json")
HEAD = (
    "| part | what happens | cases | failures | seconds | figures |\n"
    "| --- | --- | ---: | ---: | ---: | --- |\n"
)


def write(outcomes: Sequence[Outcome], seed: int) -> None:
    """Write the outcomes of the kinds of cases that ran, and keep those of the others."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for outcome in outcomes:
        lines = results.setdefault(outcome.part, {})
        lines[outcome.what] = {**asdict(outcome), "seed": seed}
    text = json.dumps(results, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def written(page: str) -> str:
    """Return the page with the table of the results."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    begin = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", begin - 1)
    return page[:begin] + "\n".join(rows(results)) + page[end:]


def rows(results: dict) -> list[str]:
    """Return a row for each outcome."""
    return [
        f"| {part} | {line['what']} | {line['cases']:,} | {sum(line['failures'].values())} "
        f"| {line['seconds']:.0f} | {line['figures']} |"
        for part in sorted(results)
        for line in results[part].values()
    ]
