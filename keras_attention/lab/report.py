"""What an experiment measured: figures, the bars that they must reach, and pictures."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from keras_attention.storage import written_whole

RESULTS_FILE = "results.json"


class Figure(NamedTuple):
    """One measured number and its bars; None means that there is no bar."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the number meets its bars; NaN meets no bar."""
        above = self.at_least is None or self.value >= self.at_least
        below = self.at_most is None or self.value <= self.at_most
        return above and below

    @property
    def bar(self) -> str:
        """The bars as text: "≥ 0.98", or "" without a bar."""
        parts = [f"≥ {self.at_least:g}"] if self.at_least is not None else []
        parts += [f"≤ {self.at_most:g}"] if self.at_most is not None else []
        return ", ".join(parts)


class Report(NamedTuple):
    """The results of one run of an experiment: its figures, and its pictures by file name.

    `options` are those of the run, without the seed and with files by their names; `data` is a
    fingerprint of these files. The bars do not apply to a quick run.
    """

    experiment: str
    options: dict[str, str]
    seed: int
    quick: bool
    backend: str
    seconds: float
    figures: list[Figure]
    pictures: list[str]
    data: str = ""

    @property
    def missed(self) -> list[Figure]:
        """The figures that miss a bar."""
        return [] if self.quick else [figure for figure in self.figures if not figure.reached]

    def save(self, folder: Path | str) -> None:
        """Write the report to its folder, as JSON."""
        content: dict[str, Any] = {
            **self._asdict(),
            "figures": [figure._asdict() for figure in self.figures],
        }
        with written_whole(Path(folder) / RESULTS_FILE) as path:
            path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> "Report":
        """Read the report of a folder.

        Raises:
            FileNotFoundError: the folder has no report.
            ValueError: the file is not a report.
        """
        path = Path(folder) / RESULTS_FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            figures = [Figure(**figure) for figure in content.pop("figures")]
            return cls(figures=figures, **content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path} is not a report of an experiment: {error}") from error


def written(value: float) -> str:
    """Format a number with three or four significant digits: 0.0213, 12.4, 30,000."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{3 if abs(value) < 1 else 4}g}"
