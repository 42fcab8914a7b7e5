"""Decoding: sentences a second by batch size, and the latency of a single one.

The same sentences, as ids, are translated by the same trained model: by this package, compiled by
Keras and with ONNX Runtime, in float32 and int8; by CTranslate2 with the weights of our
Transformer, in both; and by a loop over the growing prefix as the TensorFlow tutorial has it. How
many translations are the same is counted; beam search is without a length penalty, since the two
have different ones.

The loop is slow, and translates only the first of the sentences; it is compared with this package
on the same ones, 64 a batch, sorted by length, in both.

Latency is that of a whole call, `translator(sentence)`, with all that happens to the text; with
`attention=True` one more pass says where the model looked. The sentence is the same for all.
"""

import statistics

from examples.benchmarks.drawing import bars, finish
from examples.benchmarks.subject import (
    Subject,
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

RNN, TRANSFORMER = "keras_attention, RNN", "keras_attention, Transformer"
QUANTIZED = "keras_attention, Transformer int8"
GRAPHS = "keras_attention, Transformer, ONNX Runtime"
GRAPHS_INT8 = "keras_attention, Transformer int8, ONNX Runtime"
FLOAT32, FLOAT16, INT8 = (f"CTranslate2 {kind}" for kind in ("float32", "float16", "int8"))
LOOP, BESIDE_LOOP = "loop over the prefix", "greedy, the sentences of the loop"
# CTranslate2 can also fill batches with a number of tokens, and advises to. Its best batches are
# smaller than ours; and each size more makes programs, of which a worker holds gigabytes.
TOKENS = "tokens"
BY_TOKENS = "greedy, 1,024 tokens a batch"
OF_CTRANSLATE2 = (BY_TOKENS, "greedy, 16 a batch")
MAX_LENGTH = 50
RUNS = {RNN: "rnn", TRANSFORMER: "transformer"}
RUNTIMES = {GRAPHS: "onnxruntime", GRAPHS_INT8: "onnxruntime-int8"}
LATENCIES = {RNN: (4, 2), TRANSFORMER: (5, 3), GRAPHS: (5, 3)}  # bars, in milliseconds


def measure(options, progress):
    """Translate in turns."""
    ours = {
        name: ("decoders", "ThisPackage", {"run": options.run(run), "sentences": options.sentences})
        for name, run in RUNS.items()
    }
    _, _, arguments = ours[TRANSFORMER]
    others = {QUANTIZED: ("decoders", "ThisPackage", {**arguments, "quantized": "int8"})}
    if is_there("ONNX Runtime"):
        others |= {
            name: ("decoders", "ThisPackage", {**arguments, "runtime": runtime})
            for name, runtime in RUNTIMES.items()
        }
    with started(ours | others) as workers:
        inputs = {name: workers[name].ask("inputs") for name in ours}
        ids = inputs[TRANSFORMER]
        rows, ones = min(map(len, inputs.values())), 10 if options.quick else 200
        short = short_sentence(options.sentences)
        with started(ctranslate2(options, ids, (FLOAT32, INT8))) as rivals:
            everyone = workers | rivals
            elsewhere = on_other_devices(everyone, TRANSFORMER)
            everyone = {name: each for name, each in everyone.items() if name not in elsewhere}
            jobs = _jobs(rows, min(ones, rows), short, options.quick)
            timed = take_turns(everyone, jobs, options.rounds, progress, can=_can)
    latencies = {
        job.name: {name: each.answers for name, each in timed.pop(job.name).items()}
        for job in jobs
        if job.method == "latency"
    }
    return {
        "sentences": rows,
        "short_sentence": short,
        "speed": {
            job.name: {
                name: described(found, job.arguments[0], _reference(timed, job.name, name))
                for name, found in timed[job.name].items()
            }
            for job in jobs
            if job.name in timed
        },
        "latency_ms": latencies,
        "left_out": [*left_out(["CTranslate2", "ONNX Runtime"]), *elsewhere.values()],
    }


def short_sentence(sentences):
    """Return the sentence than which a quarter has fewer words."""
    return sorted(sentences, key=lambda sentence: len(sentence.split()))[len(sentences) // 4]


def ctranslate2(options, ids, names):
    """Return what starts CTranslate2, with our Transformer converted for it, where it is.

    Args:
        options: `Options`.
        ids: of the sentences.
        names: of the contestants, which end with how CTranslate2 computes.
    """
    if not is_there("CTranslate2"):
        return {}
    folder = options.folder / "ctranslate2"
    with started({"converter": ("ctranslate2_model", "Converter", {})}) as workers:
        workers["converter"].ask("convert", options.run("transformer"), folder)
    common = {"folder": folder, "sentences": ids}
    return {
        name: ("ctranslate2_model", "CTranslate2", {**common, "compute_type": name.split()[-1]})
        for name in names
    }


def _jobs(rows, ones, short, quick):
    sizes = () if quick else (16, 32, 128, 256)
    few, calls = min(rows, 16 if quick else 256), 3 if quick else 30
    return [
        Job("greedy, one at a time", "decode", (ones, 1, 1, MAX_LENGTH)),
        *(Job(f"greedy, {size} a batch", "decode", (rows, size, 1, MAX_LENGTH)) for size in sizes),
        Job("greedy, all", "decode", (rows, None, 1, MAX_LENGTH)),
        Job(BY_TOKENS, "decode", (rows, TOKENS, 1, MAX_LENGTH)),
        Job("beam of 4, all", "decode", (rows, None, 4, MAX_LENGTH)),
        Job(BESIDE_LOOP, "decode", (few, 64, 1, MAX_LENGTH)),
        Job(LOOP, "loop", (few, 64, MAX_LENGTH)),
        *(
            Job(
                f"{'beam of 4' if beam > 1 else 'greedy'}, {'with' if attention else 'without'} "
                "attention",
                "latency",
                (short, calls, attention, beam),
            )
            for beam in ((1,) if quick else (1, 4))
            for attention in (False, True)
        ),
    ]


def _can(name, job):
    if job.name in OF_CTRANSLATE2:
        return name in (FLOAT32, INT8)
    if job.method == "latency":
        return name in RUNS or (name in RUNTIMES and "without attention" in job.name)
    return name in RUNS or (job.method == "decode" and job.name != BESIDE_LOOP)


def _reference(timed, condition, name):
    """Return what this package did that a rival or the loop is to do as well, or None."""
    if condition == LOOP:
        return timed[BESIDE_LOOP][name]
    condition = "greedy, all" if condition in OF_CTRANSLATE2 else condition
    return None if name in RUNS else timed[condition][TRANSFORMER]


def described(found, sentences, reference=None):
    """Describe what was timed, for JSON.

    Args:
        found: `Timed`, whose answers are translations.
        sentences: how many there were.
        reference: `Timed` of what the translations are compared with, or None.
    """
    same = None
    if reference is not None:
        pairs = [*zip(found.answers[-1], reference.answers[-1], strict=True)]
        same = sum(one == other for one, other in pairs) / len(pairs)
    return {
        "sentences": sentences,
        "tokens": sum(len(each) for each in found.answers[-1]),
        "first_seconds": found.first,
        "seconds": found.seconds,
        "same": same,
    }


def rates(found):
    """Return the sentences a second of each round."""
    return [found["sentences"] / seconds for seconds in found["seconds"]]


def median_rate(found):
    """Return the sentences a second of the median round."""
    return statistics.median(rates(found))


def figures(raw):
    """Hold what was measured to its bars."""
    speed, result = raw["speed"], []
    greedy = {c: by_name for c, by_name in speed.items() if c.startswith("greedy")}

    def best(name):
        found = [by_name[name] for by_name in greedy.values() if name in by_name]
        return max(
            (each for each in found if each["sentences"] == raw["sentences"]), key=median_rate
        )

    there = speed["greedy, all"]  # a page may hold what was measured without one of them
    for name in (QUANTIZED, *RUNTIMES):
        if name in there:
            same = 100 * there[name]["same"]
            title = f"translations of {name} that are those of {TRANSFORMER}, greedy"
            result.append(held(title, [same], "%"))
    for rival, ours, bar in (
        (FLOAT32, GRAPHS, (1, 1.5)),
        (INT8, GRAPHS_INT8, (0.7, 1)),
        (FLOAT32, TRANSFORMER, (1, 1.5)),
        (INT8, QUANTIZED, (0.7, 1)),
    ):
        if rival not in there or ours not in there:
            continue
        name = f"sentences a second, {ours}, greedy, each in its best batches, against {rival}"
        ratio = ratios(rates(best(ours)), rates(best(rival)))
        result.append(held(name, ratio, "×", at_least=bar))
        for condition, by_name in speed.items():
            if rival in by_name and ours in by_name:
                ratio = ratios(rates(by_name[ours]), rates(by_name[rival]))
                is_main = rival == FLOAT32 and condition.startswith("beam")
                beam_bar = (0.7, 1) if is_main else None
                name = f"{ours}, against {rival}, {condition}"
                result.append(held(name, ratio, "×", at_least=beam_bar))
    for rival in (FLOAT32, INT8):
        if rival in there:
            same = 100 * there[rival]["same"]
            result.append(held(f"translations that are those of {rival}, greedy", [same], "%"))
    for name in RUNS:
        ratio = ratios(rates(speed[BESIDE_LOOP][name]), rates(speed[LOOP][name]))
        result.append(
            held(f"sentences a second against a loop over the prefix, {name}", ratio, "×")
        )
    for condition, by_name in raw["latency_ms"].items():
        for name, times in by_name.items():
            bar = LATENCIES.get(name) if condition == "greedy, without attention" else None
            result.append(
                held(f"latency of a short sentence, {name}, {condition}", times, "ms", at_most=bar)
            )
    return result


def table_of_rates(raw, title):
    """Return the table of rates."""
    rows = [
        (
            condition,
            name,
            *median_and_spread(rates(found)),
            f"{found['tokens'] / found['sentences']:.1f}",
            "" if found["same"] is None else f"{100 * found['same']:.1f} %",
        )
        for condition, name, found in rows_of(raw["speed"])
    ]
    columns = ("way", "implementation", "median", "from – to", "tokens each", "same as ours")
    return Table(title, columns, rows)


def tables(raw):
    """Return the table of rates, and that of latencies."""
    latencies = [
        (condition, name, *median_and_spread(times))
        for condition, name, times in rows_of(raw["latency_ms"])
    ]
    return [
        table_of_rates(
            raw, f"Sentences a second, of {raw['sentences']:,} sentences; beside the loop, of fewer"
        ),
        Table(
            f"Milliseconds for “{raw['short_sentence']}”, from text to text",
            ("way", "implementation", "median", "from – to"),
            latencies,
        ),
    ]


def draw(raw, figure):
    """Draw rates by batch size, and latencies."""
    conditions = [condition for condition in raw["speed"] if condition not in (LOOP, BESIDE_LOOP)]
    columns = (len(conditions) + 2) // 2
    figure.set_size_inches(3 * columns + 3, 6)
    panels = figure.subplots(2, columns).flat
    ours = [_short(name) for name in (*RUNS, QUANTIZED, *RUNTIMES)]
    for place, (panel, condition) in enumerate(zip(panels, conditions, strict=False)):
        by_name = raw["speed"][condition]
        bars(panel, {_short(name): rates(found) for name, found in by_name.items()}, ours)
        panel.set_title(condition, fontsize=10, loc="left")
        if place % columns:
            panel.set_yticklabels([])  # those of the first panel
    *_, last = figure.axes
    for panel in figure.axes[len(conditions) : -1]:
        panel.set_visible(False)
    latencies = {
        f"{_short(name)}{', attention' if 'with ' in condition else ''}": times
        for condition, name, times in rows_of(raw["latency_ms"])
        if condition.startswith("greedy")
    }
    bars(last, latencies, latencies)
    last.set_title("a short sentence, ms", fontsize=10, loc="left")
    finish(figure, "sentences a second, more is better; and the latency of one")


def _short(name):
    return name.removeprefix("keras_attention, ")


SUBJECT = Subject(
    "Decoding with the RNN and the Transformer, beside CTranslate2 and a loop over the prefix.",
    measure,
    figures,
    tables,
    draw,
    runs=("rnn", "transformer"),
)
