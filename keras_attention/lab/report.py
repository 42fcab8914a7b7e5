"""What an experiment measured: figures, the bars they are held to, and pictures."""

import json
import math
from pathlib import Path
from typing import NamedTuple

from keras_attention.storage import written_whole

RESULTS_FILE = "results.json"


class Figure(NamedTuple):
    """One number that was measured, and what it is held to; a bar that is None is none."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self):
        """Whether the number is where it should be; NaN never is where there is a bar."""
        above = self.at_least is None or self.value >= self.at_least
        below = self.at_most is None or self.value <= self.at_most
        return above and below

    @property
    def bar(self):
        """What the number is held to, in words: "≥ 0.98", or "" where it is held to nothing."""
        parts = [f"≥ {self.at_least:g}"] if self.at_least is not None else []
        parts += [f"≤ {self.at_most:g}"] if self.at_most is not None else []
        return ", ".join(parts)


class Report(NamedTuple):
    """What one run of an experiment left: its figures, and its pictures by file name.

    `options` are what it was run with beside the seed, files by their names, and `data` is a
    fingerprint of these files; a quick run is held to no bars.
    """

    experiment: str
    options: dict
    seed: int
    quick: bool
    backend: str
    seconds: float
    figures: list
    pictures: list
    data: str = ""

    @property
    def missed(self):
        """The figures that are not where they should be."""
        return [] if self.quick else [figure for figure in self.figures if not figure.reached]

    def save(self, folder):
        """Write the report into its folder, as JSON."""
        content = {**self._asdict(), "figures": [figure._asdict() for figure in self.figures]}
        with written_whole(Path(folder) / RESULTS_FILE) as path:
            path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, folder):
        """Read the report of a folder.

        Raises:
            FileNotFoundError: the folder has none.
            ValueError: the file is no report.
        """
        path = Path(folder) / RESULTS_FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            figures = [Figure(**figure) for figure in content.pop("figures")]
            return cls(figures=figures, **content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path} is no report of an experiment: {error}") from error


def written(value):
    """Write a number with three or four significant digits: 0.0213, 12.4, 30,000."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{3 if abs(value) < 1 else 4}g}"
