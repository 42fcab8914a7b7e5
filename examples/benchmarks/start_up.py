"""Start-up: importing the package, the first translation of a loaded model, compiling.

Imports are timed in fresh processes, which alternate: one that imports Keras and then this package,
one that imports the rival. From the shell, a translation takes from the start of its process to the
end, with what comes with the package: where JAX is installed, the command line computes with NumPy;
as if it were not, with TensorFlow. Compiling is the first step in a bucket less the median of those
that follow, in a fresh process: what a user waits for once a bucket.
"""

import os
import subprocess
import sys
import time

from examples.benchmarks.drawing import bars, finish
from examples.benchmarks.subject import (
    Subject,
    Table,
    held,
    is_there,
    left_out,
    median_and_spread,
    rows_of,
)
from examples.benchmarks.workers import WorkerError, started

BEYOND = "import keras_attention, beyond import keras"
KERAS = "import keras"
IMPORTS = {"KerasHub": "import keras_hub", "PyTorch": "import torch"}
BUCKETS = (8, 16, 32, 64)  # every second one
RUNS = {"RNN": "rnn", "Transformer": "transformer"}
FROM_THE_SHELL = "a translation from the shell, {}"
SENTENCE = "¿Todavía están en casa?"
COMMAND = "from keras_attention_command import main; main()"
WITHOUT_JAX = f"import sys; sys.modules['jax'] = None; {COMMAND}"
COMMANDS = {
    "RNN": (COMMAND, "spa-eng-rnn"),
    "RNN, without JAX": (WITHOUT_JAX, "spa-eng-rnn"),
    "Transformer": (COMMAND, "spa-eng"),
    "Transformer, without JAX": (WITHOUT_JAX, "spa-eng"),
}
CODE = """
import time
begun = time.perf_counter()
{first}
middle = time.perf_counter()
{then}
print("seconds", middle - begun, time.perf_counter() - middle)
"""


def measure(options, progress):
    """Time imports, first translations, and compiling."""
    rounds = 3 if options.quick else 2 * options.rounds + 1
    buckets = (8,) if options.quick else BUCKETS
    rivals = {} if options.quick else {r: code for r, code in IMPORTS.items() if is_there(r)}
    of_processes = 1 + len(rivals) + len(COMMANDS)
    progress.expect(rounds * of_processes + len(RUNS) * (options.rounds + 1))
    imports = {KERAS: [], BEYOND: [], **{code: [] for code in rivals.values()}}
    for _ in range(rounds):
        progress.doing(BEYOND)
        for name, seconds in zip((KERAS, BEYOND), _imported(), strict=True):
            imports[name].append(1000 * seconds)
        progress.done()
        for code in rivals.values():
            progress.doing(code)
            imports[code].append(1000 * _imported(code, "pass")[0])
            progress.done()
    whole = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, (command, translator) in COMMANDS.items():
            progress.doing(FROM_THE_SHELL.format(name))
            whole[name].append(_translated(command, translator))
            progress.done()
    first, compiling = {}, {}
    for name, model in RUNS.items():
        first[name] = []
        for _ in range(options.rounds):
            progress.doing(f"first translation, {name}")
            arguments = {"run": options.run(model), "sentence": options.sentences[0]}
            with started({name: ("first_steps", "FirstTranslation", arguments)}) as workers:
                first[name].append(workers[name].ask("seconds"))
            progress.done()
        progress.doing(f"compiling, {name}")
        arguments = {"kind": model, "sizes": options.sizes[model], "buckets": buckets}
        with started({name: ("first_steps", "Compiling", arguments)}) as workers:
            compiling[name] = workers[name].ask("seconds")
        progress.done()
    return {
        "imports_ms": imports,
        "from_the_shell_s": whole,
        "first_translation_s": first,
        "compiling_s": compiling,
        "left_out": left_out(IMPORTS),
    }


def _imported(first=KERAS, then="import keras_attention"):
    """Return the seconds of two statements in a fresh process."""
    printed = _ran(CODE.format(first=first, then=then))
    return [float(number) for number in printed.split("seconds")[-1].split()]


def _translated(command, translator):
    """Return the seconds of `keras-attention translate`."""
    begun = time.perf_counter()
    _ran(command, "translate", translator, SENTENCE)
    return time.perf_counter() - begun


def _ran(code, *arguments):
    """Return what a fresh process prints, which may keep its bytecode."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        statements = "; ".join(code.strip().splitlines())
        raise WorkerError("a fresh process", " ".join([statements, *arguments]), done.stderr)
    return done.stdout


def figures(raw):
    """Hold what was measured to its bars."""
    result = [held(BEYOND, raw["imports_ms"][BEYOND], "ms", at_most=(50, 10))]
    for name, seconds in raw["from_the_shell_s"].items():
        result.append(held(FROM_THE_SHELL.format(name), seconds, "s", at_most=(3, 1.5)))
    for name, rounds in raw["first_translation_s"].items():
        load, translate = ([each[part] for each in rounds] for part in ("load", "first"))
        result.append(held(f"loading a model, {name}", load, "s"))
        result.append(held(f"its first translation, {name}", translate, "s"))
        result.append(
            held(
                f"its second translation, {name}", [1000 * each["second"] for each in rounds], "ms"
            )
        )
    for name, buckets in raw["compiling_s"].items():
        for what in ("training", "decoding"):
            times = [each[what] for each in buckets.values()]
            result.append(held(f"compiling a bucket, {what}, {name}, over the buckets", times, "s"))
    return result


def tables(raw):
    """Return the table of imports, and that of compile times by bucket."""
    imports = [(code, *median_and_spread(times)) for code, times in raw["imports_ms"].items()]
    compiling = [
        (name, bucket, f"{each['training']:.2f}", f"{each['decoding']:.2f}")
        for name, bucket, each in rows_of(raw["compiling_s"])
    ]
    return [
        Table("Milliseconds in a fresh process", ("statement", "median", "from – to"), imports),
        Table(
            "Seconds to compile a bucket", ("model", "bucket", "training", "decoding"), compiling
        ),
    ]


def draw(raw, figure):
    """Draw imports, first translations and compile times."""
    figure.set_size_inches(12, 2.6)
    left, middle, right = figure.subplots(1, 3)
    bars(left, raw["imports_ms"], {BEYOND})
    left.set_title("imports, ms", fontsize=10, loc="left")
    parts = {
        f"{name}, {part}": [each[part] for each in rounds]
        for name, rounds in raw["first_translation_s"].items()
        for part in ("load", "first")
    }
    parts |= {f"{name}, from the shell": times for name, times in raw["from_the_shell_s"].items()}
    bars(middle, parts, parts)
    middle.set_title("a first translation, s", fontsize=10, loc="left")
    compiling = {
        f"{name}, {what}": [each[what] for each in buckets.values()]
        for name, buckets in raw["compiling_s"].items()
        for what in ("training", "decoding")
    }
    bars(right, compiling, compiling)
    right.set_title("compiling a bucket, s", fontsize=10, loc="left")
    finish(figure, "start-up, less is better")


SUBJECT = Subject(
    "Start-up: the import, the first translation of a loaded model, compile times by bucket.",
    measure,
    figures,
    tables,
    draw,
    runs=("rnn", "transformer"),
)
