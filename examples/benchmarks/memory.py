"""Memory: the peaks of training and decoding, and whether many translations leave it as it was.

A peak is the most resident memory of a fresh process, on a GPU that of the host alone; and beside
it what the process had before the first batch: the framework and its libraries, the model, data.

Then thousands of translations of random lengths, one sentence or some at a time, with attention:
the resident memory is to stay as it was after the warm-up, and no new program may appear. What
single translations take and give back comes and goes; growth is the middle reading of the last
quarter of them against that of the first, and the highest reading stands beside it. Programs
are counted by their traces: Python runs the model's layers when a program is made, and never after.
"""

import numpy as np

from examples.benchmarks import training
from examples.benchmarks.batches import Condition
from examples.benchmarks.decoding import FLOAT32, MAX_LENGTH
from examples.benchmarks.drawing import COLORS, bars, finish
from examples.benchmarks.subject import Subject, Table, held, is_there, left_out, rows_of
from examples.benchmarks.workers import started

OURS = training.OURS
TRAINING = {
    "RNN": ("rnn", 64, (OURS, training.RETURNED, training.PLAIN, training.TORCH)),
    "Transformer": ("transformer", 128, (OURS, training.HUB, training.TORCH)),
}
RUNS = {"RNN": "rnn", "Transformer": "transformer"}


def measure(options, progress):
    """Measure each in a fresh process."""
    trainings = [(model, *each) for model, each in TRAINING.items()]
    progress.expect(sum(len(names) for *_, names in trainings) + 3 + len(RUNS))
    peaks = {f"training, {model}": {} for model in TRAINING}
    for model, kind, batch_size, names in trainings:
        for name in names:
            if is_there(training.NEEDS.get(name)) and not (options.quick and name != OURS):
                progress.doing(f"training, {model}: {name}")
                peaks[f"training, {model}"][name] = _training(options, kind, batch_size, name)
            progress.done()
    peaks["decoding, RNN"] = {OURS: _decoding(options, "rnn", progress)}
    peaks["decoding, Transformer"] = {OURS: _decoding(options, "transformer", progress)}
    if is_there("CTranslate2") and not options.quick:
        progress.doing("decoding, Transformer: CTranslate2")
        peaks["decoding, Transformer"][FLOAT32] = _ctranslate2(options)
    progress.done()
    flat = {}
    count = 200 if options.quick else 10_000
    for name, model in RUNS.items():
        progress.doing(f"{count:,} translations, {name}")
        arguments = {"run": options.run(model), "quick": options.quick}
        with started({name: ("steady", "Steady", arguments)}) as workers:
            flat[name] = workers[name].ask("translate", count)
        progress.done()
    rivals = [
        "CTranslate2",
        *(
            training.NEEDS[name]
            for *_, names in trainings
            for name in names
            if name in training.NEEDS
        ),
    ]
    return {"peaks": peaks, "translations": flat, "left_out": left_out(dict.fromkeys(rivals))}


def _training(options, kind, batch_size, name):
    """Return the memory of a process that trains on some batches."""
    *pool, sizes = options.pool(kind)
    steps = 2 if options.quick else 32
    condition = Condition(np.arange(len(pool[0])), batch_size // (4 if options.quick else 1), steps)
    *make, more = training.IMPLEMENTATIONS[name]
    arguments = {"kind": kind, "sizes": sizes, "pool": pool, "conditions": {"all": condition}}
    with started({name: (*make, arguments | more)}) as workers:
        before = workers[name].memory()
        workers[name].ask("train", "all")
        return {"before": before["now"], "most": workers[name].memory()["most"]}


def _decoding(options, model, progress):
    """Return the memory of a process that translates all sentences."""
    progress.doing(f"decoding: {model}")
    arguments = {"run": options.run(model), "sentences": options.sentences}
    with started({OURS: ("decoders", "ThisPackage", arguments)}) as workers:
        worker = workers[OURS]
        before = worker.memory()
        rows = len(worker.ask("inputs"))
        worker.ask("decode", rows, None, 1, MAX_LENGTH)
        progress.done()
        return {"before": before["now"], "most": worker.memory()["most"]}


def _ctranslate2(options):
    """Return the memory of CTranslate2 that translates all sentences."""
    arguments = {"run": options.run("transformer"), "sentences": options.sentences}
    folder = options.folder / "ctranslate2-memory"
    with started({OURS: ("decoders", "ThisPackage", arguments)}) as workers:
        ids = workers[OURS].ask("inputs")
    with started({"converter": ("ctranslate2_model", "Converter", {})}) as workers:
        workers["converter"].ask("convert", options.run("transformer"), folder)
    arguments = {"folder": folder, "compute_type": "float32", "sentences": ids}
    with started({FLOAT32: ("ctranslate2_model", "CTranslate2", arguments)}) as workers:
        before = workers[FLOAT32].memory()
        workers[FLOAT32].ask("decode", len(ids), None, 1, MAX_LENGTH)
        return {"before": before["now"], "most": workers[FLOAT32].memory()["most"]}


def figures(raw):
    """Hold what was measured to its bars."""
    result = []
    for name, found in raw["translations"].items():
        first, *_, last = np.array_split(found["memory_mb"], 4)
        title = f"growth of memory over {found['translated'][-1]:,} translations, {name}"
        growth = float(np.median(last) - np.median(first))
        result.append(held(title, [growth], "MB", at_most=(50, None)))
        above = max(found["memory_mb"]) - found["memory_mb"][0]
        result.append(held(f"most memory above that before them, {name}", [above], "MB"))
        title = f"new programs in these, {name}"
        result.append(held(title, [found["traces"][-1] - found["traces"][0]], at_most=(0, None)))
    for what, name, found in rows_of(raw["peaks"]):
        result.append(held(f"peak of {what}, {name}", [found["most"]], "MB"))
    return result


def tables(raw):
    """Return the table of peaks, and that of the programs."""
    peaks = [
        (what, name, f"{found['before']:,.0f}", f"{found['most']:,.0f}")
        for what, name, found in rows_of(raw["peaks"])
    ]
    steady = [
        (
            name,
            f"{found['translated'][-1]:,}",
            f"{found['memory_mb'][0]:,.0f}",
            f"{found['memory_mb'][-1]:,.0f}",
            str(found["traces"][0]),
            str(found["traces"][-1]),
        )
        for name, found in raw["translations"].items()
    ]
    return [
        Table(
            "Resident memory, MB",
            ("work", "implementation", "before the first batch", "at most"),
            peaks,
        ),
        Table(
            "Translations of random lengths after the warm-up",
            ("model", "translations", "MB before", "MB after", "traces before", "traces after"),
            steady,
        ),
    ]


def draw(raw, figure):
    """Draw peaks, and memory over the translations."""
    figure.set_size_inches(12, 3.4)
    left, right = figure.subplots(1, 2)
    peaks = {f"{what}: {name}": [found["most"]] for what, name, found in rows_of(raw["peaks"])}
    bars(left, peaks, {name for name in peaks if name.endswith(OURS)})
    left.set_title("peak of resident memory, MB", fontsize=10, loc="left")
    for color, (name, found) in zip(COLORS, raw["translations"].items(), strict=False):
        right.plot(found["translated"], found["memory_mb"], color=color, label=name)
    right.set_ylim(0)
    right.set_title("resident memory, MB, by translations", fontsize=10, loc="left")
    right.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, fontsize=9)
    finish(figure, "memory")


SUBJECT = Subject(
    "Memory: peaks of training and decoding, and whether 10,000 translations leave it as it was.",
    measure,
    figures,
    tables,
    draw,
    pools=("rnn", "transformer"),
    runs=("rnn", "transformer"),
)
