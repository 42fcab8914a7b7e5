"""Time the decoding of a Transformer: with a cache, and computing the prefix again at each token.

    python examples/benchmarks/decoding.py --corpus path/to/spa.txt --run runs/transformer

2,000 sentences are translated greedily by one and the same model, in batches of 64 of about equal
length; the rounds alternate, so that whatever else the machine does hits all alike.

- cache: the package's `Generator` over `step`, one compiled program a bucket; also with a beam of 4
- prefix, compiled: the same program, but its step runs the decoder over all that was written so
  far, in as many places as there are tokens at most
- prefix, loop: a loop in Python which runs the decoder over a growing prefix, as the TensorFlow
  tutorial does, though here the encoder runs but once

Then the time for one more token by its position, in a batch of 64.

Prints a table, and writes `decoding.json` and `decoding.png` beside this script or to `--out`.
"""

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path

import keras
import numpy as np
from keras import ops
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from keras_attention import corpora, models
from keras_attention.decoding import Generator
from keras_attention.text import END, START, WordPieces
from keras_attention.translator import Translator

BATCH, MAX_LENGTH, ROOM = 64, 50, 50
CACHE, BEAM, PREFIX, LOOP = "cache", "cache, beam 4", "prefix, compiled", "prefix, loop"


def main():
    """Time everything, print a table, write the figures."""
    options = parse_arguments()
    keras.utils.set_random_seed(0)
    pairs = corpora.load(options.corpus)
    if options.run:
        translator = Translator.load(options.run)
    else:
        sides = ("context", "target")
        pieces = [WordPieces.learn(getattr(pair, side) for pair in pairs) for side in sides]
        translator = Translator(models.build_transformer(*map(len, pieces)), *pieces)
    chosen = np.random.default_rng(0).permutation(len(pairs))[: options.sentences]
    ids = translator.context_vocabulary.ids(pairs[row].context for row in chosen)
    rates, same = time_sentences(translator.model, list(batches_of(ids)), options.rounds)
    result = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {keras.backend.backend()}",
        "corpus": Path(options.corpus).name,
        "sentences": len(ids),
        "sentences_a_second": rates,
        "share_of_equal_translations": same,
        "ms_a_token_by_position": time_positions(translator.model, ids, options.rounds),
    }
    report(result, options.out)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="bundled", help="bundled, spa-eng or a file")
    parser.add_argument("--run", type=Path, help="a trained Transformer; else it is untrained")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    return parser.parse_args()


def batches_of(ids):
    """Yield batches of sentences of about equal length, cut to their bucket."""
    lengths = (ids != 0).sum(axis=1)
    order = np.argsort(lengths, kind="stable")
    for start in range(0, len(order), BATCH):
        rows = np.resize(order[start : start + BATCH], BATCH)
        batch = np.zeros((BATCH, corpora.bucket_of(lengths[rows].max())), dtype="int32")
        part = ids[rows, : batch.shape[1]]
        batch[:, : part.shape[1]] = part
        yield batch


class PrefixEncode(keras.layers.Layer):
    """The encoder, and as the state what has been written: nothing yet."""

    def __init__(self, model, **kwargs):
        super().__init__(**kwargs)
        self.encoder = model.get_layer("encoder")

    def call(self, context):
        encoded = self.encoder(context)
        written = ops.zeros((ops.shape(context)[0], MAX_LENGTH), dtype="int32")
        state = {"encoded": encoded["state"], "position": written[:, 0], "written": written}
        return {"memory": encoded["memory"], "state": state}


class PrefixStep(keras.layers.Layer):
    """A step without a cache: runs the decoder over everything that has been written."""

    def __init__(self, model, **kwargs):
        super().__init__(**kwargs)
        self.decoder = model.get_layer("decoder")

    def call(self, tokens, memory, state):
        here = ops.arange(MAX_LENGTH) == state["position"][:, None]
        written = ops.where(here, tokens[:, None], state["written"])
        outputs = self.decoder({"memory": memory, "state": state["encoded"], "target": written})
        logits = ops.take_along_axis(outputs["logits"], state["position"][:, None, None], axis=1)
        return logits[:, 0], {}, {**state, "position": state["position"] + 1, "written": written}


def time_sentences(model, batches, rounds):
    """Return sentences a second by way of decoding, one figure a round; and who agrees."""
    cached = Generator(models.encode(model, ROOM), models.step(model), max_length=MAX_LENGTH)
    searching = Generator(
        models.encode(model, ROOM), models.step(model), max_length=MAX_LENGTH, beam=4
    )
    recomputing = Generator(PrefixEncode(model), PrefixStep(model), max_length=MAX_LENGTH)
    ways = {
        CACHE: lambda batch: cached.run(batch).tokens,
        BEAM: lambda batch: searching.run(batch).tokens[:, 0],
        PREFIX: lambda batch: recomputing.run(batch).tokens,
        LOOP: lambda batch: loop_over_prefixes(model, batch),
    }
    rates = {name: [] for name in ways}
    tokens = {}
    with Progress() as progress:
        bar = progress.add_task("Sentences", total=(rounds + 1) * len(ways))
        for number in range(rounds + 1):
            for name, decode in ways.items():
                start = time.perf_counter()
                tokens[name] = [decode(batch) for batch in batches]
                seconds = time.perf_counter() - start
                if number > 0:  # the first round compiles
                    rates[name].append(BATCH * len(batches) / seconds)
                progress.advance(bar)
    same = {
        name: float(
            np.mean(
                [(a == b).all(axis=1) for a, b in zip(tokens[name], tokens[CACHE], strict=True)]
            )
        )
        for name in (PREFIX, LOOP)
    }
    return rates, same


def loop_over_prefixes(model, batch):
    """Decode greedily as the tutorial does: the decoder runs over the whole prefix, each time."""
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    encoded = encoder(ops.convert_to_tensor(batch))
    inputs = {"memory": encoded["memory"], "state": encoded["state"]}
    written = np.full((len(batch), 1), START, dtype="int32")
    finished = np.zeros(len(batch), dtype=bool)
    while written.shape[1] <= MAX_LENGTH and not finished.all():
        logits = decoder({**inputs, "target": ops.convert_to_tensor(written)})["logits"][:, -1]
        logits = np.array(ops.convert_to_numpy(logits))
        logits[:, [0, START]] = -np.inf
        tokens = np.where(finished, 0, logits.argmax(-1)).astype("int32")
        written = np.concatenate([written, tokens[:, None]], axis=1)
        finished |= tokens == END
    missing = MAX_LENGTH + 1 - written.shape[1]
    return np.pad(written[:, 1:], [(0, 0), (0, missing)])


def time_positions(model, ids, rounds):
    """Return milliseconds for one more token of 64 sentences, by its position and by way."""
    import tensorflow as tf

    batch = next(iter(batches_of(ids[:BATCH])))
    step, decoder = models.step(model), model.get_layer("decoder")
    encoded, plain = models.encode(model, ROOM)(batch), model.get_layer("encoder")(batch)
    memory = encoded["memory"]
    tokens = tf.fill([BATCH], START)
    cached = tf.function(lambda t, s: step(t, memory, s), jit_compile=True)
    prefix = tf.function(
        lambda t: decoder({"memory": plain["memory"], "state": plain["state"], "target": t}),
        input_signature=[tf.TensorSpec((BATCH, None), tf.int32)],
    )
    cached(tokens, encoded["state"])
    prefix(tokens[:, None])
    times = {CACHE: [[] for _ in range(MAX_LENGTH)], LOOP: [[] for _ in range(MAX_LENGTH)]}
    for _ in range(rounds):
        state = encoded["state"]
        for position in range(MAX_LENGTH):
            start = time.perf_counter()
            logits, _, state = cached(tokens, state)
            logits.numpy()
            times[CACHE][position].append(1000 * (time.perf_counter() - start))
            written = tf.fill([BATCH, position + 1], START)
            start = time.perf_counter()
            prefix(written)["logits"][:, -1].numpy()
            times[LOOP][position].append(1000 * (time.perf_counter() - start))
    return {name: [statistics.median(each) for each in rows] for name, rows in times.items()}


def report(result, folder):
    """Print the table, and write JSON and picture."""
    rates, positions = result["sentences_a_second"], result["ms_a_token_by_position"]
    table = Table(title=f"Transformer, {result['corpus']}, {result['machine']}")
    for column in ("sentences a second", "median", "from – to", "cache to it"):
        table.add_column(column, justify="left" if column == "sentences a second" else "right")
    base = statistics.median(rates[CACHE])
    for name, each in rates.items():
        middle = statistics.median(each)
        spread = f"{min(each):.0f} – {max(each):.0f}"
        table.add_row(name, f"{middle:.0f}", spread, f"{base / middle:.1f} ×")
    Console().print(table)
    for name, share in result["share_of_equal_translations"].items():
        print(f"Translations as with the cache, {name}: {share:.1%}")
    for name, times in positions.items():
        first, last = statistics.median(times[:10]), statistics.median(times[-10:])
        print(
            f"{name}: {first:.1f} ms for one of the first ten tokens, {last:.1f} for the last ten"
        )
    result["ratios"] = {
        f"cache / {name}": base / statistics.median(rates[name]) for name in (PREFIX, LOOP)
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "decoding.json").write_text(json.dumps(result, indent=2) + "\n")
    draw(rates, positions, folder / "decoding.png")
    print(f"Wrote {folder / 'decoding.json'} and {folder / 'decoding.png'}")


def draw(rates, positions, path):
    """Draw the medians as bars, and the time for a token by its position."""
    figure = Figure(figsize=(11, 3), layout="constrained", dpi=150)
    bars, lines = figure.subplots(1, 2)
    names = list(rates)[::-1]
    drawn = bars.barh(names, [statistics.median(rates[name]) for name in names], color="#8fb8d8")
    drawn[-1].set_color("#0072b2")
    bars.bar_label(drawn, fmt="%.0f", padding=4)
    bars.set_title("Sentences a second, more is better", fontsize=10, loc="left")
    bars.spines[["top", "right", "bottom"]].set_visible(False)
    bars.set_xticks([])
    bars.tick_params(length=0)
    bars.margins(x=0.15)
    for (name, times), color in zip(positions.items(), ("#0072b2", "#d55e00"), strict=True):
        lines.plot(range(1, len(times) + 1), times, color=color)
        place = len(times) // 2
        lines.annotate(
            name,
            (place, times[place - 1]),
            xytext=(-8, 10),
            textcoords="offset points",
            ha="right",
            color=color,
            size=9,
        )
    lines.set_title("ms for one more token of 64 sentences, by position", fontsize=10, loc="left")
    lines.set_xlabel("position", fontsize=9)
    lines.set_ylim(0)
    lines.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
