"""Real target tokens a second in training: what the two subjects of training have in common.

A turn is some batches of a condition, always the same ones: forward, backward, Adam and two
metrics, without dropout. What counts is the number of real target tokens in them, not that of
batches, which padding would flatter. There are two kinds of conditions. In the first, every
implementation makes its batches from the same pairs in its own way: this package sorts by length,
its rivals pad random batches, as one writes it. In the second all train on the same batches, sorted
by length, so that the ratio says nothing of padding. Such batches are spread evenly over the
lengths; random ones hold all lengths.
"""

import numpy as np

from examples.benchmarks import batches
from examples.benchmarks.drawing import bars, finish
from examples.benchmarks.subject import (
    Table,
    held,
    is_there,
    left_out,
    median_and_spread,
    on_other_devices,
    ratios,
    rows_of,
)
from examples.benchmarks.workers import Job, started, take_turns

OURS, PLAIN, HUB = "keras_attention", "plain Keras", "KerasHub"
PLAIN_OUR_LOSS = "plain Keras, this package's loss"
TORCH, TORCH_BFLOAT16 = "PyTorch", "PyTorch bfloat16"
TORCH_COMPILED = "PyTorch bfloat16, compiled"
WITH_XLA, BFLOAT16, RECIPE = "with XLA", "mixed_bfloat16", "as `train` does"
DROPPED_BFLOAT16 = "mixed_bfloat16, with dropout"
RETURNED = "freed memory given back"
SAME = "the same batches"  # how the names of such conditions begin
MULTIPLY = "matrix product"
IMPLEMENTATIONS = {  # the module, the class, and what it takes beside what all take
    OURS: ("keras_models", "ThisPackage", {}),
    PLAIN: ("keras_models", "PlainKeras", {}),
    PLAIN_OUR_LOSS: ("keras_models", "PlainKerasWithOurLoss", {}),
    HUB: ("keras_models", "KerasHub", {}),
    TORCH: ("torch_models", "PyTorch", {}),
    TORCH_BFLOAT16: ("torch_models", "PyTorch", {"bfloat16": True}),
    TORCH_COMPILED: ("torch_models", "PyTorch", {"bfloat16": True, "compiled": True}),
    WITH_XLA: ("keras_models", "ThisPackage", {"jit_compile": True}),
    RECIPE: ("keras_models", "Recipe", {}),
    BFLOAT16: ("keras_models", "ThisPackage", {"dtype_policy": "mixed_bfloat16"}),
    DROPPED_BFLOAT16: (
        "keras_models",
        "ThisPackage",
        {"dtype_policy": "mixed_bfloat16", "dropout": 0.1},
    ),
    RETURNED: ("keras_models", "ThisPackage", {"keep_memory": False}),
}
NEEDS = {HUB: "KerasHub"} | dict.fromkeys((TORCH, TORCH_BFLOAT16, TORCH_COMPILED), "PyTorch")


def with_or_without_xla(contestants):
    """Return contestants without `WITH_XLA`, where this is not another way to compute."""
    import keras

    from keras_attention.training import uses_xla

    has_both = keras.backend.backend() == "tensorflow" and not uses_xla()
    return [name for name in contestants if has_both or name != WITH_XLA]


def conditions_of(options, pool, batch_sizes):
    """Return the `Condition`s of a subject by name, the first of them the main one.

    Args:
        options: `Options`.
        pool: context and target ids.
        batch_sizes: sentences a batch, which every implementation makes in its own way; the first
            also for the same batches, of all sentences and of the short, middle and long third.
    """
    if options.quick:
        batch_sizes = [size // 4 for size in batch_sizes]
    sentences, fewest = (64, 1) if options.quick else (2048, 24)
    main = batch_sizes[0]
    every = np.arange(len(pool[0]))
    thirds = zip(("short", "middle", "long"), batches.by_length(*pool), strict=True)
    parts = {SAME: every} | {f"{SAME}, {name} third": part for name, part in thirds}
    return {
        f"each its own, {size} a batch": batches.Condition(
            every, size, max(sentences // size, fewest)
        )
        for size in batch_sizes
    } | {
        f"{name}, {main} a batch": batches.Condition(
            part, main, max(sentences // main, fewest), batches.SORTED
        )
        for name, part in parts.items()
    }


def measure(
    options,
    progress,
    model,
    contestants,
    conditions,
    sizes,
    pool,
    can=lambda name, condition: True,
    also=(),
    ours=OURS,
    peak_in="float32",
):
    """Let contestants train, in turns.

    Args:
        options: `Options`.
        progress: as for `take_turns`.
        model: name of the model.
        contestants: names of `IMPLEMENTATIONS`.
        conditions: of `conditions_of`.
        sizes: of the model.
        pool: context and target ids.
        can: `can(name, condition)`: whether a contestant trains in a condition.
        also: further `Job`s, of this package alone; their rounds are in `also`.
        ours: the contestant that the others are held against.
        peak_in: dtype of the matrix product whose rate is the peak.

    Returns:
        A dictionary for JSON.
    """
    common = {"kind": model, "sizes": sizes, "pool": pool, "conditions": conditions}
    there = {
        name: (*make, common | more)
        for name in contestants
        if is_there(NEEDS.get(name))
        for *make, more in [IMPLEMENTATIONS[name]]
    }
    jobs = [Job(name, "train", (name,)) for name in conditions]
    jobs += [Job(MULTIPLY, "multiply", (peak_in,)), *also]

    def can_do(name, job):
        if job in also:
            return name == ours
        return job.name == MULTIPLY or can(name, job.name)

    with started(there) as workers:
        elsewhere = on_other_devices(workers, ours)
        workers = {name: each for name, each in workers.items() if name not in elsewhere}
        timed = take_turns(workers, jobs, options.rounds, progress, can_do)
        multiplied = timed.pop(MULTIPLY)
        others = {job.name: timed.pop(job.name)[ours] for job in also}
        measured = {
            condition: {
                name: {
                    **workers[name].ask("count", condition),
                    "first_seconds": each.first,
                    "seconds": each.seconds,
                    "loss": each.answers,
                }
                for name, each in by_name.items()
            }
            for condition, by_name in timed.items()
        }
    return {
        "model": model,
        "sizes": sizes,
        "pairs": len(pool[0]),
        "measured": measured,
        "matrix_product": {name: each.answers for name, each in multiplied.items()},
        "peak_in": peak_in,
        "also": {
            name: {"seconds": each.seconds, "answers": each.answers}
            for name, each in others.items()
        },
        "left_out": [
            *left_out({NEEDS[name] for name in contestants if name in NEEDS}),
            *elsewhere.values(),
        ],
    }


def measure_by_length(options, progress, pool, contestants, everywhere, alike, batch_sizes):
    """Let contestants train in turns, on batches of their own and on the same ones.

    Args:
        options: `Options`.
        progress: as for `take_turns`.
        pool: name of the ids and sizes, for `Options.pool`.
        contestants: names of `IMPLEMENTATIONS`.
        everywhere: those that train in every condition; the others in the main one.
        alike: those of the others that also train on the same batches of all lengths.
        batch_sizes: as for `conditions_of`.

    Returns:
        A dictionary for JSON.
    """
    *ids, sizes = options.pool(pool)
    conditions = conditions_of(options, ids, batch_sizes)
    main = next(iter(conditions))
    model = "rnn" if pool == "rnn" else "transformer"
    contestants = with_or_without_xla(contestants)

    def can(name, condition):
        found = conditions[condition]
        is_same = found.batched == batches.SORTED and len(found.rows) == len(ids[0])
        return name in everywhere or condition == main or (is_same and name in alike)

    return measure(options, progress, model, contestants, conditions, sizes, ids, can=can)


def rates(found):
    """Return the real target tokens a second of each round."""
    return [found["target_tokens"] / seconds for seconds in found["seconds"]]


def against(raw, rival, bar=None, of=OURS, bar_of_same=None):
    """Return the figures of this package against a rival, one a condition.

    Args:
        raw: what was measured.
        rival: name of the rival.
        bar: for the first condition.
        of: name of what is held against it.
        bar_of_same: for the same batches.
    """
    figures = []
    for condition, by_name in raw["measured"].items():
        if rival in by_name:
            ratio = ratios(rates(by_name[of]), rates(by_name[rival]))
            name = f"tokens a second against {rival}, {condition}"
            its_bar = bar_of_same if condition.startswith(SAME) else None if figures else bar
            figures.append(held(name, ratio, "×", at_least=its_bar))
    return figures


def peak(raw):
    """Return the fastest matrix product that was measured, operations a second."""
    return max(rate for each in raw["matrix_product"].values() for rate in each)


def shares_of_peak(raw, bar=None, of=OURS):
    """Return the share of the peak that this package reaches, over all places and over tokens."""
    found = next(iter(raw["measured"].values())).get(of)
    if not found:  # a page may hold what was measured without it
        return []
    shares = {
        kind: [100 * found[kind] / seconds / peak(raw) for seconds in found["seconds"]]
        for kind in ("operations", "useful_operations")
    }
    name = "share of the matrix peak in training"
    return [
        held(name, shares["operations"], "%", at_least=bar),
        held(f"{name}, of real tokens alone", shares["useful_operations"], "%"),
    ]


def tables(raw):
    """Return the table of rates, and that of what was computed for them."""
    rows, work = [], []
    for condition, name, found in rows_of(raw["measured"]):
        padding = 1 - found["target_tokens"] / found["target_places"]
        share = np.median([found["operations"] / s / peak(raw) for s in found["seconds"]])
        rows.append(
            (
                condition,
                name,
                *median_and_spread(rates(found)),
                f"{100 * padding:.0f} %",
                f"{100 * share:.0f} %",
                f"{found['first_seconds']:.1f}",
            )
        )
        work.append(
            (
                condition,
                name,
                f"{found['sentences']:,}",
                f"{found['target_tokens']:,}",
                str(found["shapes"]),
                f"{found['parameters']:,}",
                f"{found['loss'][0]:.2f} → {found['loss'][-1]:.2f}",
            )
        )
    return [
        Table(
            "Real target tokens a second",
            (
                "condition",
                "implementation",
                "median",
                "from – to",
                "padding",
                "of the peak",
                "first turn, s",
            ),
            rows,
        ),
        Table(
            "The work of a turn",
            (
                "condition",
                "implementation",
                "sentences",
                "target tokens",
                "shapes",
                "parameters",
                "loss",
            ),
            work,
        ),
        Table(
            f"The peak: a product of two large square matrices in {raw['peak_in']}, GFLOP a "
            "second; on a GPU, float32 may be rounded to TF32, and where a step of this package "
            "divides its batch among the cores, a product is computed by one of them",
            ("implementation", "median", "from – to"),
            [
                (name, *median_and_spread([rate / 1e9 for rate in each]))
                for name, each in raw["matrix_product"].items()
            ],
        ),
    ]


def _whole_name(name):
    """Name this package where an implementation's name says only how it computes."""
    is_ours = name != OURS and IMPLEMENTATIONS[name][1] in ("ThisPackage", "Recipe")
    return f"{OURS},\n{name}" if is_ours else name


def draw(raw, figure):
    """Draw a panel of bars for each condition."""
    count = len(raw["measured"])
    most = max(map(len, raw["measured"].values()))  # bars, whose names may have two lines
    figure.set_size_inches(min(4 * count, 12), max(2.6, 0.48 * most) * -(-count // 3))
    panels = [*figure.subplots(-(-count // 3), min(count, 3), squeeze=False).flat]
    for panel, (condition, by_name) in zip(panels, raw["measured"].items(), strict=False):
        values = {_whole_name(name): rates(found) for name, found in by_name.items()}
        bars(panel, values, {name for name in values if name.startswith(OURS)})
        panel.set_title(condition.replace(", ", ",\n", 1), fontsize=10, loc="left")
    for panel in panels[count:]:
        panel.set_visible(False)
    finish(figure, "real target tokens a second, more is better")
