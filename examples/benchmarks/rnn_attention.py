"""Time the RNN with attention: training against plain Keras and PyTorch, decoding against a loop.

    python examples/benchmarks/rnn_attention.py --corpus path/to/spa.txt --run runs/rnn

Training. The same sentence pairs go through up to three implementations of one architecture, in
batches of 64, forward, backward and Adam; the rounds alternate, so that whatever else the machine
does hits all alike. The figure is the time for 64 pairs.

- keras_attention: bucketed to a few static lengths, compiled by XLA
- plain Keras: the same layers as the tutorial writes them, padded to the longest sentence of each
  batch, compiled with Keras' defaults
- PyTorch, where it is installed: the same model in `torch.nn`, padded in the same way

Decoding. 2,000 sentences are translated greedily by one and the same model:

- keras_attention: sorted batches of 64, one compiled program a bucket
- a loop in Python over the model's step, not compiled, in batches of 64 as they come
- the same loop, a sentence at a time (over the first 50)

Prints a table, and writes `rnn_attention.json` and `rnn_attention.png` beside this script or to
`--out`.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import platform
import statistics
import time
from pathlib import Path

import keras
import numpy as np
from keras import layers
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from keras_attention import corpora, models, runs
from keras_attention.text import END, START, Vocabulary
from keras_attention.training import (
    MaskedAccuracy,
    MaskedCrossentropy,
    MaskedLoss,
    compile_for_training,
)
from keras_attention.translator import Translator

BATCH, UNITS, VOCABULARY, MAX_LENGTH = 64, 256, 5000, 50
OURS, PLAIN, TORCH = "keras_attention", "plain Keras", "PyTorch"
COMPILED, LOOP, SINGLE = "compiled, sorted batches", "loop, batches", "loop, one by one"


def main():
    """Time everything, print a table, write the figures."""
    options = parse_arguments()
    keras.utils.set_random_seed(0)
    pairs = corpora.load(options.corpus)
    chosen = np.random.default_rng(0).permutation(len(pairs))[: BATCH * options.batches]
    vocabularies = [
        Vocabulary.learn((getattr(pair, side) for pair in pairs), VOCABULARY)
        for side in ("context", "target")
    ]
    ids = [
        vocabulary.ids(getattr(pairs[row], side) for row in chosen)
        for side, vocabulary in zip(("context", "target"), vocabularies, strict=True)
    ]
    training = time_training(*ids, options)
    if options.run:
        translator = Translator.load(options.run)
    else:
        sizes = {"vocabulary": VOCABULARY, "units": UNITS}
        translator = Translator(runs.build(runs.Settings(**sizes), *vocabularies), *vocabularies)
    sentences = [pairs[row].context for row in chosen[: options.sentences]]
    decoding = time_decoding(translator, sentences, options)
    result = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {keras.backend.backend()}",
        "corpus": Path(options.corpus).name,
        "training_ms_a_batch": training,
        "decoding_sentences_a_second": decoding,
    }
    report(result, options.out)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="bundled", help="bundled, spa-eng or a file")
    parser.add_argument("--run", type=Path, help="a trained model; else decoding is untrained")
    parser.add_argument("--batches", type=int, default=200, help="batches a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    return parser.parse_args()


def time_training(context_ids, target_ids, options):
    """Return the milliseconds for a batch of 64 pairs, one figure a round, by implementation.

    Each implementation lives in a process of its own, and waits while another is timed: in one
    process, the idle threads of one framework slow down the next.
    """
    epochs = {OURS: our_epoch, PLAIN: plain_epoch}
    if importlib.util.find_spec("torch"):
        epochs[TORCH] = torch_epoch
    processes = multiprocessing.get_context("spawn")
    workers = {}
    for name, make_epoch in epochs.items():
        here, there = processes.Pipe()
        arguments = (there, make_epoch, context_ids, target_ids)
        processes.Process(target=serve_epochs, args=arguments, daemon=True).start()
        workers[name] = here
    times = {name: [] for name in epochs}
    with Progress() as progress:
        bar = progress.add_task("Training", total=(options.rounds + 1) * len(epochs))
        for number in range(options.rounds + 1):
            for name, worker in workers.items():
                worker.send("an epoch, please")
                seconds = worker.recv()
                if number > 0:  # the first round compiles
                    times[name].append(1000 * seconds / options.batches)
                progress.advance(bar)
    for worker in workers.values():
        worker.send(None)
    return times


def serve_epochs(pipe, make_epoch, context_ids, target_ids):
    """Train an epoch for every message, and answer with its seconds; None is the end."""
    epoch = make_epoch(context_ids, target_ids)
    while pipe.recv():
        start = time.perf_counter()
        epoch()
        pipe.send(time.perf_counter() - start)


def our_epoch(context_ids, target_ids):
    """Return a function that trains the package's model on each pair once."""
    model = models.build_rnn_attention(VOCABULARY, VOCABULARY, UNITS)
    compile_for_training(model)
    batches = corpora.Batches(context_ids, target_ids, BATCH).in_order()
    return lambda: model.fit(batches, verbose=0, shuffle=False)


def plain_epoch(context_ids, target_ids):
    """Return the same for the tutorial's model as one would write it with Keras' layers."""
    import tensorflow as tf

    context = keras.Input((None,), dtype="int32", name="context")
    target = keras.Input((None,), dtype="int32", name="target")
    memory = layers.Embedding(VOCABULARY, UNITS, mask_zero=True)(context)
    memory = layers.Bidirectional(layers.GRU(UNITS, return_sequences=True), merge_mode="sum")(
        memory
    )
    x = layers.Embedding(VOCABULARY, UNITS, mask_zero=True)(target)
    x = layers.GRU(UNITS, return_sequences=True)(x)
    read = layers.MultiHeadAttention(num_heads=1, key_dim=UNITS)(query=x, value=memory)
    x = layers.LayerNormalization()(layers.Add()([x, read]))
    model = keras.Model(
        {"context": context, "target": target}, layers.Dense(VOCABULARY, name="logits")(x)
    )
    model.compile("adam", loss=MaskedCrossentropy(), metrics=[MaskedAccuracy(), MaskedLoss()])

    ids = tf.TensorSpec((BATCH, None), tf.int32)
    dataset = tf.data.Dataset.from_generator(
        lambda: (
            ({"context": c, "target": t[:, :-1]}, t[:, 1:])
            for c, t in batches_as_they_come(context_ids, target_ids)
        ),
        output_signature=({"context": ids, "target": ids}, ids),
    )
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(len(context_ids) // BATCH))
    dataset = dataset.prefetch(4)
    options = tf.data.Options()
    options.autotune.enabled = False  # as in keras_attention.corpora, which says why
    dataset = dataset.with_options(options)
    return lambda: model.fit(dataset, verbose=0, shuffle=False)


def batches_as_they_come(context_ids, target_ids):
    """Yield batches in the given (random) order, each side padded to the longest in the batch."""
    for start in range(0, len(context_ids), BATCH):
        rows = [ids[start : start + BATCH] for ids in (context_ids, target_ids)]
        yield [each[:, : (each != 0).sum(axis=1).max()] for each in rows]


def torch_epoch(context_ids, target_ids):
    """Return the same in PyTorch: the model, the loss and the two metrics."""
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.context_embedding = nn.Embedding(VOCABULARY, UNITS)
            self.context_rnn = nn.GRU(UNITS, UNITS, batch_first=True, bidirectional=True)
            self.target_embedding = nn.Embedding(VOCABULARY, UNITS)
            self.target_rnn = nn.GRU(UNITS, UNITS, batch_first=True)
            self.attention = nn.MultiheadAttention(UNITS, 1, batch_first=True)
            self.norm = nn.LayerNorm(UNITS)
            self.logits = nn.Linear(UNITS, VOCABULARY)

        def forward(self, context, target):
            padding = context == 0
            packed = pack_padded_sequence(
                self.context_embedding(context),
                (~padding).sum(1),
                batch_first=True,
                enforce_sorted=False,
            )
            memory, _ = pad_packed_sequence(self.context_rnn(packed)[0], batch_first=True)
            memory = memory[..., :UNITS] + memory[..., UNITS:]
            x, _ = self.target_rnn(self.target_embedding(target))
            read, _ = self.attention(x, memory, memory, key_padding_mask=padding)
            return self.logits(self.norm(x + read))

    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    loss_of = nn.CrossEntropyLoss(ignore_index=0)

    def epoch():
        hits = tokens = total = 0
        for batch in batches_as_they_come(context_ids, target_ids):
            context, target = (torch.from_numpy(each).long() for each in batch)
            labels = target[:, 1:]
            logits = model(context, target[:, :-1])
            loss = loss_of(logits.flatten(0, 1), labels.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen = labels != 0
            hits += ((logits.argmax(-1) == labels) & seen).sum().item()
            tokens, total = tokens + seen.sum().item(), total + loss.item()
        return hits / tokens, total

    return epoch


def time_decoding(translator, sentences, options):
    """Return sentences a second, one figure a round, by way of decoding."""
    ids = translator.context_vocabulary.ids(sentences)
    few = ids[:50]
    ways = {
        COMPILED: (len(ids), lambda: translator.generate(ids, max_length=MAX_LENGTH)),
        LOOP: (len(ids), lambda: loop_over_steps(translator.model, ids, BATCH)),
        SINGLE: (len(few), lambda: loop_over_steps(translator.model, few, 1)),
    }
    compiled = [tokens for tokens, _, _ in ways[COMPILED][1]()]  # this compiles
    looped = loop_over_steps(translator.model, ids[:BATCH], BATCH)
    same = np.mean([(a == b).all() for a, b in zip(compiled[:BATCH], looped, strict=True)])
    rates = {name: [] for name in ways}
    with Progress() as progress:
        bar = progress.add_task("Decoding", total=options.rounds * len(ways))
        for _ in range(options.rounds):
            for name, (count, run) in ways.items():
                start = time.perf_counter()
                run()
                rates[name].append(count / (time.perf_counter() - start))
                progress.advance(bar)
    return {**rates, "share of equal translations": same}


def loop_over_steps(model, ids, batch_size):
    """Decode greedily as one would in a notebook: a Python loop over the step, not compiled."""
    step, encode = models.step(model), models.encode(model)
    results = []
    for start in range(0, len(ids), batch_size):
        rows = ids[start : start + batch_size]
        encoded = encode(keras.ops.convert_to_tensor(rows[:, : (rows != 0).sum(1).max()]))
        memory, state = encoded["memory"], encoded["state"]
        tokens = np.full(len(rows), START, dtype="int32")
        written = np.zeros((len(rows), MAX_LENGTH), dtype="int32")
        finished = np.zeros(len(rows), dtype=bool)
        for position in range(MAX_LENGTH):
            logits, _, state = step(keras.ops.convert_to_tensor(tokens), memory, state)
            logits = np.array(keras.ops.convert_to_numpy(logits))
            logits[:, [0, START]] = -np.inf
            tokens = np.where(finished, 0, logits.argmax(-1)).astype("int32")
            written[:, position] = tokens
            finished |= tokens == END
            if finished.all():
                break
        results.extend(written)
    return results


def report(result, folder):
    """Print the table, and write JSON and picture."""
    training, decoding = result["training_ms_a_batch"], result["decoding_sentences_a_second"]
    same = decoding.pop("share of equal translations")
    table = Table(title=f"RNN with attention, {result['corpus']}, {result['machine']}")
    for column in ("", "median", "from – to", "ratio"):
        table.add_column(column, justify="left" if column == "" else "right")
    base = statistics.median(training[OURS])
    table.add_section()
    table.add_row("[b]Training, ms for 64 pairs", "", "", "to ours")
    for name, times in training.items():
        middle = statistics.median(times)
        spread = f"{min(times):.0f} – {max(times):.0f}"
        table.add_row(name, f"{middle:.0f}", spread, f"{middle / base:.2f} ×")
    table.add_section()
    table.add_row("[b]Decoding, sentences a second", "", "", "ours to it")
    base = statistics.median(decoding[COMPILED])
    for name, rates in decoding.items():
        middle = statistics.median(rates)
        spread = f"{min(rates):.0f} – {max(rates):.0f}"
        table.add_row(name, f"{middle:.0f}", spread, f"{base / middle:.1f} ×")
    Console().print(table)
    print(f"Equal translations, compiled and loop: {same:.0%}")
    result["ratios"] = {
        "step time, ours / plain Keras": statistics.median(training[OURS])
        / statistics.median(training[PLAIN]),
        "decoding speed, ours / loop in batches": base / statistics.median(decoding[LOOP]),
    }
    result["share_of_equal_translations"] = float(same)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rnn_attention.json").write_text(json.dumps(result, indent=2) + "\n")
    draw(training, decoding, folder / "rnn_attention.png")
    print(f"Wrote {folder / 'rnn_attention.json'} and {folder / 'rnn_attention.png'}")


def draw(training, decoding, path):
    """Draw the medians as bars, ours in the strong colour."""
    figure = Figure(figsize=(11, 2.6), layout="constrained", dpi=150)
    panels = figure.subplots(1, 2)
    for panel, values, title in (
        (panels[0], training, "Training: ms for 64 pairs, less is better"),
        (panels[1], decoding, "Decoding: sentences a second, more is better"),
    ):
        names = list(values)[::-1]
        middles = [statistics.median(values[name]) for name in names]
        bars = panel.barh(names, middles, color="#8fb8d8", edgecolor="none")
        bars[-1].set_color("#0072b2")
        panel.bar_label(bars, fmt="%.0f", padding=4)
        panel.set_title(title, fontsize=10, loc="left")
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        panel.set_xticks([])
        panel.tick_params(length=0)
        panel.margins(x=0.15)
    figure.savefig(path)


if __name__ == "__main__":
    main()
