"""What grows, and how the cost of it is told: exponents beside theory, tables, pictures.

One axis grows while the others stay as they are. The exponent is the slope of log cost over log
size, by least squares: 1 is "twice as much costs twice as much", and what is the same for all sizes
pulls it towards 0. Theory is a formula of the cost, and its exponent is the same slope.
"""

import itertools
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from examples.benchmarks.drawing import COLORS, finish, growth
from examples.benchmarks.subject import Table, held

MODELS = {"RNN": "rnn", "Transformer": "transformer"}
ON_ONNX_RUNTIME = "Transformer, ONNX Runtime"
KIND_OF = {**MODELS, ON_ONNX_RUNTIME: "transformer"}
WORDS = {"train": "a step of training", "decode": "decoding a batch"}
LABELS = {
    "source": "source length",
    "target": "target length",
    "batch": "sentences a batch",
    "vocabulary": "vocabulary",
    "units": "width",
    "num_layers": "layers",
    "beam": "hypotheses of a beam",
}
COLUMNS = 3  # of panels, in pictures
COLOR_OF = dict(zip(KIND_OF, COLORS, strict=False))
OF_A_CALL = ("source", "target", "batch", "beam")  # the other axes are of the model
BASE = {"source": 16, "target": 16, "batch": 64, "beam": 1}
LENGTHS = {"source": (16, 64, 256, 512), "target": (16, 64, 256), "batch": (1, 16, 64, 256)}
VOCABULARIES = {"vocabulary": (1000, 8000, 64000)}
AXES = {  # few points far apart: each is a program to compile
    "train": {
        **LENGTHS,
        **VOCABULARIES,
        "units": (64, 128, 256, 512),
        "num_layers": (1, 2, 4, 8),
    },
    "decode": {**LENGTHS, **VOCABULARIES, "beam": (1, 2, 4, 8)},
}
QUICK_BASE = {"source": 8, "target": 8, "batch": 4, "beam": 1}
QUICK_AXES = {
    "train": {"target": (4, 8, 16), "units": (16, 32)},
    "decode": {"target": (4, 8, 16), "beam": (1, 2)},
}


class Point(NamedTuple):
    """A size of an axis.

    Attributes:
        work: "train" or "decode".
        axis: from `LABELS`.
        size: on the axis.
        model: the sizes of the model.
        call: source length, target length and sentences a batch; hypotheses too if it decodes.
    """

    work: str
    axis: str
    size: int
    model: dict
    call: tuple

    @property
    def name(self):
        """What is done, in words."""
        return f"{self.work}, {LABELS[self.axis]} {self.size}"


class Cost(NamedTuple):
    """What is measured along the axes.

    Attributes:
        name: "time" or "memory".
        field: of what was measured, a list for each size.
        unit: in which it is shown.
        units: of `unit` in what was measured.
        theory: `theory(kind, point)` → what it costs by formula.
        is_shape: whether theory has another unit, and is drawn through the last point.
        dotted: what the formula counts, for the picture.
    """

    name: str
    field: str
    unit: str
    units: float
    theory: Callable[[str, Point], float]
    is_shape: bool
    dotted: str


def points(kind, sizes, quick=False):
    """Return the points of all axes for a kind of model.

    Args:
        kind: "rnn" or "transformer".
        sizes: of the model where its own do not grow.
        quick: whether they are few.
    """
    axes, base = (QUICK_AXES, QUICK_BASE) if quick else (AXES, BASE)
    return [
        point(kind, sizes, base, work, axis, size)
        for work, its_axes in axes.items()
        for axis, its_sizes in its_axes.items()
        if axis in OF_A_CALL or axis in sizes
        for size in its_sizes
    ]


def point(kind, sizes, base, work, axis, size):
    """Return a point. The hidden width of a feed-forward network grows with that of the model."""
    call, model = dict(base), dict(sizes)
    (call if axis in OF_A_CALL else model)[axis] = size
    if kind == "transformer" and axis == "units":
        model["feed_forward_dim"] = sizes["feed_forward_dim"] * size // sizes["units"]
    values = [call[name] for name in OF_A_CALL]
    return Point(work, axis, size, model, tuple(values if work == "decode" else values[:3]))


def by_model(points):
    """Yield (sizes of a model, its points): a model is built once."""

    def sizes(point):
        return sorted(point.model.items())

    for found, group in itertools.groupby(sorted(points, key=sizes), key=sizes):
        yield dict(found), list(group)


def by_axis(points, values, field):
    """Return what was measured at points by work and axis: sizes, and a list for each.

    Args:
        points: of one model.
        values: `values[point.name]`, a list.
        field: of the lists.
    """
    found: dict[str, Any] = {}
    for each in points:
        place = found.setdefault(each.work, {}).setdefault(each.axis, {"sizes": [], field: []})
        place["sizes"].append(each.size)
        place[field].append(values[each.name])
    return found


def measured(options, found):
    """Return what was measured, by name of the model, with what its points are of, for JSON."""
    return {
        "base": QUICK_BASE if options.quick else BASE,
        "models": {name: options.sizes[KIND_OF[name]] for name in found},
        "measured": found,
    }


def exponent(sizes, values):
    """Return the slope of log value over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def lines(raw, cost):
    """Yield (model, work, axis, sizes, medians, what theory says) of every line."""
    for name, works in raw["measured"].items():
        for work, axes in works.items():
            for axis, found in axes.items():
                of_all = KIND_OF[name], raw["models"][name], raw["base"], work, axis
                theory = [cost.theory(KIND_OF[name], point(*of_all, n)) for n in found["sizes"]]
                middles = [statistics.median(values) for values in found[cost.field]]
                yield name, work, axis, found["sizes"], middles, theory


def figures(raw, cost):
    """Return the exponent of every line, as `Held` to no bar."""
    return [
        held(
            f"exponent of the {cost.name} of {WORDS[work]} by {LABELS[axis]}, {name}",
            [exponent(sizes, middles)],
        )
        for name, work, axis, sizes, middles, _ in lines(raw, cost)
    ]


def tables(raw, cost):
    """Return the table of exponents beside theory, and that of what was measured."""
    exponents, values = [], []
    for name, work, axis, sizes, middles, theory in lines(raw, cost):
        words = (name, WORDS[work], LABELS[axis])
        slopes = [
            exponent(sizes[-last:], each[-last:])
            for last in (len(sizes), 2)
            for each in (middles, theory)
        ]
        exponents.append(
            (*words, f"{sizes[0]:,} → {sizes[-1]:,}", *(f"{slope:.2f}" for slope in slopes))
        )
        cells = [
            f"{size:,}: {_short(cost.units * each)}"
            for size, each in zip(sizes, middles, strict=True)
        ]
        values.append((*words, ", ".join(cells)))
    columns = ("model", "work", "grows")
    more = ("from → to", "exponent", "theory", "of the last two", "theory of these")
    return [
        Table(f"Exponents of {cost.name}", (*columns, *more), exponents),
        Table(f"{cost.unit} by size", (*columns, f"size: {cost.unit}"), values),
    ]


def draw(raw, figure, cost):
    """Draw a panel for each axis of each work, cost by size; dotted what theory says."""
    drawn: dict[tuple, dict] = {}
    for name, work, axis, sizes, middles, theory in lines(raw, cost):
        scale = middles[-1] / theory[-1] if cost.is_shape else 1
        both = middles, scale * np.array(theory)
        series = drawn.setdefault((work, axis), {})
        series[name] = sizes, *(cost.units * np.array(each) for each in both)
    rows: list[list] = []
    for work in WORDS:
        axes = [axis for its_work, axis in drawn if its_work == work]
        rows += [
            [(work, axis) for axis in axes[at : at + COLUMNS]]
            for at in range(0, len(axes), COLUMNS)
        ]
    figure.set_size_inches(3.2 * COLUMNS, 2.6 * len(rows))
    panels = figure.subplots(len(rows), COLUMNS, squeeze=False)
    for its_panels, row in zip(panels, rows, strict=True):
        for panel, each in itertools.zip_longest(its_panels, row):
            if each is None:
                panel.set_axis_off()
            else:
                growth(panel, drawn[each], LABELS[each[1]], COLOR_OF)
        its_panels[0].set_ylabel(f"{WORDS[row[0][0]]}, {cost.unit}", fontsize=9)
    by_name = {}
    for panel in panels.flat:
        handles, names = panel.get_legend_handles_labels()
        by_name |= dict(zip(names, handles, strict=True))
    panels[0][0].legend(by_name.values(), by_name, frameon=False, fontsize=8)
    finish(figure, f"{cost.name} by size; dotted: {cost.dotted}, by formula")


def _short(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
