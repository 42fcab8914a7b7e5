"""What a subject is, and how its figures are held to bars."""

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from examples.benchmarks import machine
from keras_attention.installing import pip_install
from keras_attention.lab.report import Figure, written

# The packages of the rivals; the extra `bench` brings them.
RIVALS = {
    "KerasHub": "keras_hub",
    "PyTorch": "torch",
    "CTranslate2": "ctranslate2",
    "ONNX Runtime": "onnxruntime",
}


class Subject(NamedTuple):
    """Something that is measured.

    Attributes:
        says: what, in one sentence.
        measure: `measure(options, progress)` → everything that was measured, for JSON.
        figures: of what was measured → a list of `Held`.
        tables: of what was measured → a list of `Table`.
        draw: `draw(measured, figure)`: draws it on a `matplotlib.figure.Figure`.
        pools: models of whose kind ids are needed.
        runs: models that are needed trained.
    """

    says: str
    measure: Callable
    figures: Callable
    tables: Callable
    draw: Callable
    pools: tuple = ()
    runs: tuple = ()


class Held(NamedTuple):
    """A figure that is held to its bar, and to what would be more than was asked."""

    figure: Figure
    beyond: Figure | None = None
    spread: tuple = ()

    def cells(self, quick=False):
        """Return the texts of a row: name, value, from – to, unit, bar, beyond.

        Args:
            quick: whether it is of a quick run, which is held to no bar.
        """
        name, value, unit = self.figure[:3]
        spread = f"{written(self.spread[0])} – {written(self.spread[1])}" if self.spread else ""
        bars = [_judged(figure, quick) for figure in (self.figure, self.beyond)]
        return name, written(value), spread, unit, *bars


class Table(NamedTuple):
    """A table of texts: the first column is words, the others are numbers."""

    title: str
    columns: tuple
    rows: list


def _judged(figure, quick):
    if figure is None or not figure.bar:
        return ""
    return figure.bar if quick else f"{'✓' if figure.reached else '✗'} {figure.bar}"


def held(name, values, unit="", *, at_least=None, at_most=None):
    """Hold the median of some values to a bar.

    Args:
        name: of the figure.
        values: one a round.
        unit: of the values.
        at_least: the bar, or a pair: the bar, and what would be beyond.
        at_most: likewise.
    """
    middle = statistics.median(values)
    bars = [
        dict(zip(("at_least", "at_most"), pair, strict=True))
        for pair in zip(
            *(each if isinstance(each, tuple) else (each, None) for each in (at_least, at_most)),
            strict=True,
        )
    ]
    figure, beyond = (Figure(name, middle, unit, **bar) for bar in bars)
    spread = (min(values), max(values)) if len(values) > 1 else ()
    return Held(figure, beyond if beyond.bar else None, spread)


def median_and_spread(values):
    """Write the median of some values, and from where to where they go: two cells."""
    return written(statistics.median(values)), f"{written(min(values))} – {written(max(values))}"


def ratios(ours, theirs):
    """Return the ratios of two lists, round by round."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def is_there(rival):
    """Return whether the package of a rival is installed."""
    return rival not in RIVALS or importlib.util.find_spec(RIVALS[rival]) is not None


def left_out(rivals):
    """Return a line for each rival that is not installed: what would bring it."""
    return [
        f"{rival} is left out, since it is not installed: {pip_install('bench')}"
        for rival in rivals
        if not is_there(rival)
    ]


def on_other_devices(workers, ours):
    """Return a line for each worker that computes on a CPU where ours does not, or the reverse.

    Args:
        workers: `Worker`s by name, each of something with a method `device`.
        ours: name of the one that the others are held against.

    Returns:
        The lines, by name of the worker.
    """
    devices = {name: worker.ask("device") for name, worker in workers.items()}
    return {
        name: f"{name} is left out, since it computes on {device}, and {ours} on {devices[ours]}"
        for name, device in devices.items()
        if machine.is_cpu(device) != machine.is_cpu(devices[ours])
    }


def rows_of(measured: dict[str, Any]):
    """Yield (condition, contestant, value) of what is kept by condition and by contestant."""
    for condition, contestants in measured.items():
        for name, value in contestants.items():
            yield condition, name, value
