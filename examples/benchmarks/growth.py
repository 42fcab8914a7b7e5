"""How time grows with the length of the source and of the target, with vocabulary, and with batch.

One axis grows while the others stay as they are. The exponent is the slope of log time over log
size, by least squares over the medians: 1 is "twice as much takes twice as long", and what is the
same for all sizes pulls it towards 0.

Theory is the same slope of the operations in `flops`, three times the forward pass for a step of
training. Where sentences are short the products with weights are nearly everything, and they grow
with the number of tokens: the exponent is between that of what does not grow (the other sentence,
the logits) and 1; attention's S², S·T and T² come in only where a sentence is longer than the model
is wide, and then pull it towards 2. With the vocabulary only the logits grow; with the batch
everything does, exponent 1, and less as long as a machine is not busy with few sentences.

Decoding with a cache computes what a forward pass does, one token after the other: the same
operations, T² in attention to the past included, if keys and values of the memory are computed
once. So a token of a long sentence costs about what one of a short sentence does. The bar is time
by tokens, of 256 against of 16; beside it stand differences, from 64 to 256 tokens against from 16
to 64, in which what a call costs at any length does not count. An untrained model is made never to
end a sentence, so that lengths are as asked for.
"""

import statistics

import numpy as np

from examples.benchmarks import flops
from examples.benchmarks.drawing import finish, growth
from examples.benchmarks.subject import Subject, Table, held
from examples.benchmarks.workers import Job, started, take_turns

BASE = {"source": 16, "target": 16, "vocabulary": None, "batch": 64}
AXES = {  # few points far apart: each is a program to compile
    "source": (16, 64, 256, 512),
    "target": (16, 64, 256),
    "vocabulary": (1000, 8000, 64000),
    "batch": (1, 16, 64, 256),
}
QUICK_BASE = {"source": 8, "target": 8, "vocabulary": None, "batch": 4}
QUICK_AXES = {"target": (4, 8, 16)}
LABELS = {
    "source": "source length",
    "target": "target length",
    "vocabulary": "vocabulary",
    "batch": "sentences a batch",
}
MODELS, WORK = {"RNN": "rnn", "Transformer": "transformer"}, ("train", "decode")
WORDS = {"train": "a step of training", "decode": "decoding a batch"}


def measure(options, progress):
    """Let both models grow along each axis, a process for each model and vocabulary."""
    axes = QUICK_AXES if options.quick else AXES
    found = {
        name: {work: {axis: {"sizes": [], "seconds": []} for axis in axes} for work in WORK}
        for name in MODELS
    }
    for name, kind in MODELS.items():
        own = options.sizes[kind]["vocabulary"]
        for vocabulary in sorted({own, *axes.get("vocabulary", ())}):
            points = _points(axes, vocabulary, own, options.quick)
            jobs = [
                Job(f"{work}, {axis} {size}", work, arguments)
                for work in WORK
                for axis, size, arguments in points
            ]
            arguments = {"kind": kind, "sizes": {**options.sizes[kind], "vocabulary": vocabulary}}
            with started({name: ("endless", "Endless", arguments)}) as workers:
                timed = take_turns(workers, jobs, options.rounds, progress)
            for work in WORK:
                for axis, size, _ in points:
                    place = found[name][work][axis]
                    place["sizes"].append(size)
                    place["seconds"].append(timed[f"{work}, {axis} {size}"][name].seconds)
    return {
        "base": {name: _base(options.sizes[kind], options.quick) for name, kind in MODELS.items()},
        "models": {name: options.sizes[kind] for name, kind in MODELS.items()},
        "measured": found,
    }


def _base(sizes, quick):
    return {**(QUICK_BASE if quick else BASE), "vocabulary": sizes["vocabulary"]}


def _points(axes, vocabulary, own, quick):
    """Return (axis, size, arguments of the work) of all points with one vocabulary."""
    base = _base({"vocabulary": own}, quick)
    order = ("source", "target", "batch")
    points = []
    if vocabulary in axes.get("vocabulary", ()):
        points.append(("vocabulary", vocabulary, tuple(base[axis] for axis in order)))
    if vocabulary == own:
        for axis in order:
            for size in axes.get(axis, ()):
                points.append((axis, size, tuple({**base, axis: size}[each] for each in order)))
    return points


def theory(raw, name, work, axis, size):
    """Return the operations of a point."""
    at = {**raw["base"][name], axis: size}
    sizes = {**raw["models"][name], "vocabulary": at["vocabulary"]}
    forward = flops.forward(MODELS[name], at["source"], at["target"], sizes)
    return at["batch"] * forward * (3 if work == "train" else 1)


def exponent(sizes, values):
    """Return the slope of log value over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def time_a_token(sizes, seconds):
    """Return how much longer a token takes in the longest sentence than in the shortest.

    Args:
        sizes: tokens, from few to many.
        seconds: by size.
    """
    return seconds[-1] / sizes[-1] / (seconds[0] / sizes[0])


def time_of_a_further_token(sizes, seconds):
    """Return how much longer a further token takes between the last two sizes than before them.

    Args:
        sizes: tokens, at least three sizes, from few to many.
        seconds: by size.
    """
    (short, *_, middle, long), (few, *_, some, most) = sizes, seconds
    return (most - some) / (long - middle) / ((some - few) / (middle - short))


def lines(raw):
    """Yield (model, work, axis, sizes, median seconds, operations) of every line."""
    for name, works in raw["measured"].items():
        for work, axes in works.items():
            for axis, found in axes.items():
                middles = [statistics.median(seconds) for seconds in found["seconds"]]
                operations = [theory(raw, name, work, axis, size) for size in found["sizes"]]
                yield name, work, axis, found["sizes"], middles, operations


def figures(raw):
    """Hold what was measured to its bars, and give the exponents."""
    result = []
    for name in reversed(raw["measured"]):
        found = raw["measured"][name]["decode"]["target"]
        sizes, rounds = found["sizes"], list(zip(*found["seconds"], strict=True))
        short, *_, middle, long = sizes
        tokens = [time_a_token(sizes, seconds) for seconds in rounds]
        bar = (1.5, None) if name == "Transformer" else None
        title = f"time a token, {long} tokens against {short}, cached, {name}"
        result.append(held(title, tokens, "×", at_most=bar))
        further = [time_of_a_further_token(sizes, seconds) for seconds in rounds]
        title = f"a further token from {middle} to {long} against from {short} to {middle}, {name}"
        result.append(held(title, further, "×"))
    for name, work, axis, sizes, middles, _ in lines(raw):
        result.append(
            held(f"exponent of {WORDS[work]} by {LABELS[axis]}, {name}", [exponent(sizes, middles)])
        )
    return result


def tables(raw):
    """Return the table of exponents beside theory, and that of milliseconds."""
    exponents, times = [], []
    for name, work, axis, sizes, middles, operations in lines(raw):
        words = (name, WORDS[work], LABELS[axis])
        exponents.append(
            (
                *words,
                f"{sizes[0]:,} → {sizes[-1]:,}",
                f"{exponent(sizes, middles):.2f}",
                f"{exponent(sizes, operations):.2f}",
                f"{exponent(sizes[-2:], middles[-2:]):.2f}",
                f"{exponent(sizes[-2:], operations[-2:]):.2f}",
            )
        )
        cells = [f"{size:,}: {1000 * each:.3g}" for size, each in zip(sizes, middles, strict=True)]
        times.append((*words, ", ".join(cells)))
    columns = ("model", "work", "grows")
    more = ("from → to", "exponent", "theory", "of the last two", "theory of these")
    return [
        Table("Exponents of time", (*columns, *more), exponents),
        Table("Median milliseconds by size", (*columns, "size: ms"), times),
    ]


def draw(raw, figure):
    """Draw a panel for each axis and each work, time by size; dotted what theory says."""
    axes = list(next(iter(raw["measured"].values()))["train"])
    figure.set_size_inches(max(3.2 * len(axes), 7), 5.6)
    panels = figure.subplots(2, len(axes), squeeze=False)
    for row, work in zip(panels, WORK, strict=True):
        for panel, axis in zip(row, axes, strict=True):
            series = {}
            for name, its_work, its_axis, sizes, middles, operations in lines(raw):
                if (its_work, its_axis) == (work, axis):
                    # Theory gives the shape: laid through the last point
                    scale = middles[-1] / operations[-1]
                    said = [1000 * scale * each for each in operations]
                    series[name] = sizes, [1000 * each for each in middles], said
            growth(panel, series, LABELS[axis])
        row[0].set_ylabel(f"{WORDS[work]}, ms", fontsize=9)
    panels[0][0].legend(frameon=False, fontsize=8)
    finish(figure, "time by size; dotted: the operations that it takes, by formula")


SUBJECT = Subject(
    "How time grows with length, vocabulary and batch, beside what theory says.",
    measure,
    figures,
    tables,
    draw,
)
