"""The choices of this package's training, each beside what else one could do, on this device.

- XLA (`jit_compile`), or the backend's operations one by one. On JAX Keras always compiles a step,
  so there is no other side to measure; on TensorFlow the package compiles for GPUs and TPUs.
- float32, or Keras' policy `mixed_bfloat16`, which halves what is moved and needs a device that
  multiplies such numbers faster than float32.
- Batches of random sentences, each padded to its longest; or this package's, where sentences of
  about equal length share one of a few shapes; or in these shapes as many sentences as make a
  constant number of tokens. Theory: with XLA a shape costs a compilation, once; padding costs its
  share of the operations, always.
- The memory that a step frees is kept for the next one, or given back to the system, as the C
  library does by itself.
- `tf.data` over a Python generator: what it delivers alone, beside what training takes; and
  training from it beside training on the same batches made beforehand, which is what waiting for
  data costs, the work on the same cores included.

A turn is about a pass over 2,048 pairs, for which the package chooses five shapes; a corpus gets
more, and has less padding still. Where batches are padded to their longest, nearly each is a
program of its own to compile: a turn has as many of them, but of an eighth of the pairs, eight
times. There is no dropout.

What the figures decide: the defaults of `training.compile_for_training` and `corpora.Batches`, that
the package trains in float32 unless told otherwise, that its commands keep freed memory, and that
batches are made in Python.
"""

import numpy as np

from examples.benchmarks import batches, training
from examples.benchmarks.drawing import bars, finish
from examples.benchmarks.subject import Subject, held, ratios
from examples.benchmarks.training import BFLOAT16, OURS, RETURNED, WITH_XLA, rates
from examples.benchmarks.workers import Job

SHAPES, LONGEST = "in few shapes", "random, to their longest"
TOKENS, MEMORY = "in few shapes, constant tokens", "in few shapes, made beforehand"
PIPELINE = "the pipeline alone"
BATCHED = {
    SHAPES: batches.TO_SHAPES,
    LONGEST: batches.TO_THE_LONGEST,
    TOKENS: batches.BY_TOKENS,
    MEMORY: batches.IN_MEMORY,
}
PASSES = {LONGEST: 8}  # over fewer pairs, since nearly each batch is a program of its own
# Each way to compute meets the batches with which it could be chosen.
CONDITIONS = {
    OURS: tuple(BATCHED),
    WITH_XLA: (SHAPES, LONGEST),
    BFLOAT16: (SHAPES,),
    RETURNED: (SHAPES,),
}
MODELS = {"RNN": "rnn", "Transformer": "transformer"}
NO_OTHER_SIDE = f"{WITH_XLA} is left out: the package trains without it on TensorFlow and a CPU"


def measure(options, progress):
    """Train both models in turns; quickly, the RNN alone."""
    contestants = training.with_or_without_xla(CONDITIONS)
    batch_size, steps = (16, 4) if options.quick else (64, 32)
    delivered = Job(PIPELINE, "deliver", (SHAPES, 20 if options.quick else 500))
    found = {}
    for name, model in list(MODELS.items())[: 1 if options.quick else None]:
        *ids, sizes = options.pool(model)
        pool = [each[: steps * batch_size] for each in ids]
        conditions = conditions_of(len(pool[0]), batch_size, steps)
        arguments = (options, progress, model, contestants, conditions, sizes, pool)
        can = lambda name, condition: condition in CONDITIONS[name]  # noqa: E731
        found[name] = training.measure(*arguments, can=can, also=(delivered,))
    return {"models": found, "left_out": [] if WITH_XLA in contestants else [NO_OTHER_SIDE]}


def conditions_of(pairs, batch_size, steps):
    """Return the `Condition`s by name: all of so many batches, some of them the same ones again."""
    result = {}
    for batched, how in BATCHED.items():
        different = -(-steps // PASSES.get(batched, 1))
        rows = np.arange(min(pairs, different * batch_size))
        result[batched] = batches.Condition(rows, batch_size, steps, how)
    return result


def pipeline_rates(raw):
    """Return the real target tokens a second that the pipeline alone delivers, by round."""
    found = raw["also"][PIPELINE]
    return ratios(found["answers"], found["seconds"])


def figures(raw):
    """Hold what was measured to its bars."""
    result = []
    for model, each in raw["models"].items():
        speed = {
            (condition, name): rates(found)
            for condition, by_name in each["measured"].items()
            for name, found in by_name.items()
        }
        main = speed[SHAPES, OURS]

        def against(what, one, other, model=model):
            return held(f"tokens a second, {what}, {model}", ratios(one, other), "×")

        if (SHAPES, WITH_XLA) in speed:
            for condition, what in (
                (SHAPES, "XLA in few shapes against none in any"),
                (LONGEST, f"XLA against none, {LONGEST}"),
            ):
                compiled, plain = speed[condition, WITH_XLA], speed[condition, OURS]
                result.append(against(what, compiled, plain))
        result += [
            against("mixed_bfloat16 against float32", speed[SHAPES, BFLOAT16], main),
            against("freed memory kept against given back", main, speed[SHAPES, RETURNED]),
            against("few shapes against padding to the longest", main, speed[LONGEST, OURS]),
            against("constant tokens against constant sentences", speed[TOKENS, OURS], main),
        ]
        for condition in (SHAPES, LONGEST, TOKENS):
            found = each["measured"][condition][OURS]
            share = 100 * found["target_tokens"] / found["target_places"]
            result.append(held(f"real target tokens, {condition}, {model}", [share], "%"))
        ratio = ratios(pipeline_rates(each), main)
        title = f"tokens that the pipeline delivers against what training takes, {model}"
        result.append(held(title, ratio, "×", at_least=(10, None)))
        waiting = [100 * (1 - share) for share in ratios(main, speed[MEMORY, OURS])]
        result.append(held(f"time of training that the pipeline costs, {model}", waiting, "%"))
    return result


def tables(raw):
    """Return the tables of rates and of the work of both models."""
    return [
        table._replace(title=f"{table.title}, {model}")
        for model, each in raw["models"].items()
        for table in training.tables(each)[:2]
    ]


def draw(raw, figure):
    """Draw for each model how it is computed, how batches are made, and what the pipeline does."""
    figure.set_size_inches(12, 2.4 * len(raw["models"]))
    rows = figure.subplots(len(raw["models"]), 3, squeeze=False)
    for row, (model, each) in zip(rows, raw["models"].items(), strict=True):
        measured = each["measured"]
        ours = {name: rates(by_name[OURS]) for name, by_name in measured.items()}
        computed = {name: rates(found) for name, found in measured[SHAPES].items()}
        supplied = {PIPELINE: pipeline_rates(each), "training": ours[SHAPES]}
        batched = {name: values for name, values in ours.items() if name != MEMORY}
        for panel, title, values, strong in zip(
            row,
            ("computing", "batches", "the pipeline"),
            (computed, batched, supplied),
            (OURS, SHAPES, "training"),
            strict=True,
        ):
            bars(panel, values, {strong})
            panel.set_title(f"{model}: {title}", fontsize=10, loc="left")
    finish(figure, "real target tokens a second, more is better; blue: as this package trains")


SUBJECT = Subject(
    "The choices of training, each beside the other: XLA, bfloat16, batches, the input pipeline.",
    measure,
    figures,
    tables,
    draw,
    pools=("rnn", "transformer"),
)
