"""Decoding many sentences in large batches, as a test set or a corpus is translated.

The Transformer of `decoding`, or the one that is given, translates 10,000 sentences, 512 a batch,
beside CTranslate2 with the same weights in float16: work for a GPU. On a CPU there are 2,000
sentences, and CTranslate2 has float32 and int8. Ours are the weights as they were saved, in
float32. Sentences of about equal length share a batch, in both.
"""

from examples.benchmarks import decoding, machine
from examples.benchmarks.decoding import FLOAT16, FLOAT32, INT8, TRANSFORMER, rates
from examples.benchmarks.drawing import bars, finish
from examples.benchmarks.subject import Subject, held, left_out, on_other_devices, ratios
from examples.benchmarks.workers import Job, started, take_turns

BATCH_SIZE = 512


def measure(options, progress):
    """Translate in turns."""
    run = {"run": options.run("transformer"), "sentences": options.sentences}
    with started({TRANSFORMER: ("decoders", "ThisPackage", run)}) as workers:
        ids = workers[TRANSFORMER].ask("inputs")
        kinds = (FLOAT16,) if machine.has_accelerator() else (FLOAT32, INT8)
        with started(decoding.ctranslate2(options, ids, kinds)) as rivals:
            everyone = workers | rivals
            elsewhere = on_other_devices(everyone, TRANSFORMER)
            everyone = {name: each for name, each in everyone.items() if name not in elsewhere}
            size = 8 if options.quick else BATCH_SIZE
            jobs = [
                Job(f"{way}, {size} a batch", "decode", (len(ids), size, beam, decoding.MAX_LENGTH))
                for way, beam in (("greedy", 1), ("beam of 4", 4))
            ]
            timed = take_turns(everyone, jobs, options.rounds, progress)
    speed = {
        condition: {
            name: decoding.described(
                found, len(ids), None if name == TRANSFORMER else by_name[TRANSFORMER]
            )
            for name, found in by_name.items()
        }
        for condition, by_name in timed.items()
    }
    left = [*left_out(["CTranslate2"]), *elsewhere.values()]
    return {"sentences": len(ids), "speed": speed, "left_out": left}


def figures(raw):
    """Hold what was measured to its bars."""
    result = []
    for condition, by_name in raw["speed"].items():
        for name, found in by_name.items():
            if name == TRANSFORMER:
                continue
            is_held = name == FLOAT16 and condition.startswith("greedy")
            ratio = ratios(rates(by_name[TRANSFORMER]), rates(found))
            title = f"sentences a second against {name}, {condition}"
            result.append(held(title, ratio, "×", at_least=(1, 1.5) if is_held else None))
    return result


def tables(raw):
    """Return the table of rates."""
    return [decoding.table_of_rates(raw, f"Sentences a second, of {raw['sentences']:,}")]


def draw(raw, figure):
    """Draw a panel of bars for each way to decode."""
    figure.set_size_inches(8, 2.4)
    panels = figure.subplots(1, len(raw["speed"]))
    for panel, (condition, by_name) in zip(panels, raw["speed"].items(), strict=True):
        bars(panel, {name: rates(found) for name, found in by_name.items()}, {TRANSFORMER})
        panel.set_title(condition, fontsize=10, loc="left")
    finish(figure, "sentences a second, more is better")


SUBJECT = Subject(
    "Decoding many sentences in large batches with the Transformer, beside CTranslate2.",
    measure,
    figures,
    tables,
    draw,
    runs=("transformer",),
)
