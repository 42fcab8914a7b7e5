"""A character model that can look back, beside one that has to remember: a text, and a game.

How could attention improve the CharRNN? An LSTM carries all that it has read in a state of fixed
size. With attention over its own past it need not: what it wrote long ago is still there to be
looked up. A Transformer has nothing else.
"""

import time

import keras
import numpy as np
from keras import ops

from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks import (
    RECALL_CHARACTERS,
    Characters,
    covering_windows,
    draw_windows,
    is_tiny_shakespeare,
    key_recall,
    load_text,
    split_text,
)
from keras_attention.lab.writer import Writer, check_place
from keras_attention.models import build_character_model
from keras_attention.plotting import plot_attention, plot_curves
from keras_attention.storage import written_whole
from keras_attention.training import (
    MaskedAccuracy,
    MaskedCrossentropy,
    MaskedLoss,
    StopOnDivergence,
    WarmUp,
)

LABELS = {
    "lstm": "LSTM",
    "lstm_attention": "LSTM + attention",
    "transformer": "Transformer",
}
CURVES, LOOKS, SAMPLE = "curves.png", "looks-back.png", "sample.txt"
RECALL_CURVES = "recall-by-distance.png"
_QUICK_CHARACTERS = 20_000


def build_equal(vocabulary, kind, *, units, **sizes):
    """Build a model of a kind with as many weights as the Transformer of a width.

    The number of weights is a quadratic function of the width: three small models tell which.
    """
    if kind == "transformer":
        return build_character_model(vocabulary, kind, units, **sizes)
    wanted = build_character_model(vocabulary, "transformer", units, **sizes).count_params()
    widths = (2, 4, 6)
    counts = [
        build_character_model(vocabulary, kind, width, **sizes).count_params() for width in widths
    ]
    square, linear, constant = np.polyfit(widths, counts, 2)
    width = round(np.roots([square, linear, constant - wanted]).real.max())
    return build_character_model(vocabulary, kind, width, **sizes)


class _Clock(keras.callbacks.Callback):
    """Counts seconds of training, as if the first step, which compiles, took no longer."""

    def __init__(self):
        super().__init__()
        self.seconds = 0.0

    def on_train_begin(self, logs=None):
        self.steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == 1:
            self.begun = time.perf_counter()

    def on_train_end(self, logs=None):
        passed = time.perf_counter() - self.begun
        self.seconds += passed * self.steps / max(self.steps - 1, 1)


def train(model, draw, validation, *, steps, batch, stages, peak, verbose):
    """Train a character model in stages, each on fresh examples.

    Args:
        model: ids → logits; it stays without an optimizer, so that it is saved small.
        draw: `draw(count) → ids, targets`.
        validation: ids and targets, looked at after every stage.
        steps: number of batches in all.
        batch: rows of a batch.
        stages: in how many parts.
        peak: of the learning rate.
        verbose: as in `keras.Model.fit`.

    Returns:
        Seconds of training and the validation loss after each stage, and what measures the loss and
        accuracy of the model on ids and targets.
    """
    trainer = keras.Model(model.inputs, model.outputs)
    trainer.compile(
        keras.optimizers.AdamW(
            WarmUp(peak, max(steps // 20, 1), steps),
            weight_decay=0.01,
            beta_2=0.99,
            global_clipnorm=1.0,
        ),
        loss=MaskedCrossentropy(),
        metrics=[MaskedAccuracy(name="accuracy"), MaskedLoss(name="nats")],
        # Measured on a CPU: the loop of an LSTM and these small batches are 30 % slower with
        # TensorFlow's XLA than without.
        jit_compile=keras.backend.backend() == "jax",
    )

    def measure(ids, targets):
        return trainer.evaluate(ids, targets, batch_size=batch, verbose=0, return_dict=True)

    clock, divergence, curve = _Clock(), StopOnDivergence(), []
    for stage in range(stages):
        trainer.fit(
            *draw(steps // stages * batch),
            batch_size=batch,
            initial_epoch=stage,
            epochs=stage + 1,
            verbose=verbose,
            callbacks=[clock, divergence],
        )
        curve.append((clock.seconds, measure(*validation)["nats"]))
    return list(zip(*curve, strict=True)), measure


def check_kind(model):
    """Return the kinds of model that a name means.

    Raises:
        ValueError: it means none.
    """
    if model != "all" and model not in LABELS:
        raise ValueError(f"model must be all or one of {', '.join(LABELS)}, got {model!r}")
    return list(LABELS) if model == "all" else [model]


FULL = {
    "model": {"units": 128, "num_layers": 4, "num_heads": 4, "key_dim": 32, "embedding": 64},
    "training": {"steps": 1500, "batch": 32, "stages": 10, "peak": 2e-3},
    "window": 64,
}
QUICK = {
    "model": {"units": 16, "num_layers": 1, "num_heads": 2, "key_dim": 8, "embedding": 8},
    "training": {"steps": 20, "batch": 8, "stages": 2, "peak": 1e-2},
    "window": 32,
}


def prepare(text, model, quick):
    """Load a text and check what the experiment is asked for, before any work.

    Returns:
        The kinds of model, the text, its `Characters`, and the ids to train and to validate on.

    Raises:
        ValueError: there is no such model, or the text cannot be used; the message says why.
        OSError: the text cannot be read.
    """
    kinds = check_kind(model)
    text = load_text(text)
    text = text[:_QUICK_CHARACTERS] if quick else text
    characters = Characters.learn(text)
    return kinds, text, characters, *split_text(characters.encode(text), sizes_of(quick)["window"])


def check(*, quick=False, text="bundled", model="all"):
    """Check what the experiment on a text is asked for, see `prepare`."""
    prepare(text, model, quick)


def sizes_of(quick):
    """Return the sizes of the experiment on a text."""
    return QUICK if quick else FULL


def run_characters(folder, *, seed, quick, verbose, text="bundled", model="all"):
    """Train the kinds of model on a text, at equal numbers of weights and of steps."""
    for place in (folder, *(folder / kind for kind in check_kind(model))):
        check_place(place)
    kinds, text, characters, part, validation = prepare(text, model, quick)
    sizes = sizes_of(quick)
    ids, targets = covering_windows(validation, sizes["window"])
    figures, curves, writers, losses = [], {}, {}, {}
    for kind in kinds:
        if verbose:
            print(f"{LABELS[kind]}: {len(part):,} characters of text")
        keras.utils.set_random_seed(seed)
        rng = np.random.default_rng([seed, 0])  # all kinds see the same
        model = build_equal(len(characters), kind, **sizes["model"])
        curves[LABELS[kind]], measure = train(
            model,
            lambda count, rng=rng: draw_windows(part, count, sizes["window"], rng),
            (ids[::8], targets[::8]),
            **sizes["training"],
            verbose=verbose,
        )
        losses[kind] = measure(ids, targets)["nats"]
        writers[kind] = Writer(model, characters, sizes["window"], {"kind": kind})
        writers[kind].save(folder / kind)
        seconds = curves[LABELS[kind]][0][-1]
        figures += [
            Figure(f"{LABELS[kind]}: weights", model.count_params()),
            Figure(f"{LABELS[kind]}: validation loss", losses[kind], "nats a character"),
            Figure(f"{LABELS[kind]}: seconds of training", seconds, "s"),
        ]
    best = min(losses, key=losses.get)
    writers[best].save(folder)
    bar = {"at_most": 1.9} if is_tiny_shakespeare(text) else {}
    figures.append(Figure("best: validation loss", losses[best], "nats a character", **bar))
    if len(kinds) > 1:
        counts = [writer.model.count_params() for writer in writers.values()]
        figures.append(
            Figure("weights, most against fewest", max(counts) / min(counts), at_most=1.02)
        )
    plot_curves(
        curves,
        xlabel="seconds of training",
        ylabel="validation loss (nats a character)",
        title="Characters, with and without a look back",
        path=folder / CURVES,
    )
    beginning = text[len(part) :][: sizes["window"]]
    _write_sample(folder / SAMPLE, writers[best], beginning, seed, verbose)
    looking = [kind for kind in sorted(losses, key=losses.get) if kind != "lstm"]
    if not looking:
        return figures, [CURVES]
    _plot_looks(folder / LOOKS, writers[looking[0]], beginning, LABELS[looking[0]])
    return figures, [CURVES, LOOKS]


def _write_sample(path, writer, text, seed, verbose):
    """Let a writer go on from the first line of a text, and keep what it wrote."""
    prompt = "".join(text.lstrip("\n").partition("\n")[:2]) or text
    sample = prompt + writer(prompt, 400, seed=seed)
    with written_whole(path) as part:
        part.write_text(sample + "\n", encoding="utf-8")
    if verbose:
        print(sample)


def _plot_looks(path, writer, text, label):
    """Draw where a writer looks back in a text: the head that looks back the farthest."""
    text = text[:48]
    back = np.arange(len(text))[:, None] - np.arange(len(text))
    heads = [head for weights in writer.attend(text) for head in weights]
    farthest = max(heads, key=lambda head: (head * back).sum())
    plot_attention(
        farthest,
        ["⏎" if letter == "\n" else letter for letter in text],
        ["⏎" if letter == "\n" else letter for letter in text],
        axis_names=("character", "looks back to"),
        title=f"{label}: the head that looks back the farthest",
        path=path,
    )


# Of right answers where no pair was told in between, and where three quarters of all were
RECALL_BARS = {"lstm": ({"at_least": 0.5}, {"at_most": 0.3})}
RECALL_FULL = {
    "model": {"units": 64, "num_layers": 2, "num_heads": 4, "key_dim": 16, "embedding": 32},
    "training": {"steps": 1500, "batch": 32, "stages": 5, "peak": 3e-3},
    "task": {"pairs": 16, "questions": 8},
    "rows": 3000,
}
RECALL_QUICK = {
    "model": {"units": 16, "num_layers": 1, "num_heads": 2, "key_dim": 8, "embedding": 8},
    "training": {"steps": 20, "batch": 16, "stages": 2, "peak": 1e-2},
    "task": {"pairs": 4, "questions": 2},
    "rows": 100,
}


def run_recall(folder, *, seed, quick, verbose):
    """Ask for what was told before, just now and long ago."""
    sizes = RECALL_QUICK if quick else RECALL_FULL
    task = sizes["task"]
    test = key_recall(sizes["rows"], np.random.default_rng([seed, 1]), **task)
    distances = test.distances[test.targets > 0]
    near, far = distances == 0, distances >= 0.75 * task["pairs"]
    figures, curves = [], {}
    for kind, label in LABELS.items():
        if verbose:
            print(f"{label}: {task['pairs']} pairs, {task['questions']} questions")
        keras.utils.set_random_seed(seed)
        rng = np.random.default_rng([seed, 0])  # all kinds see the same
        model = build_equal(len(RECALL_CHARACTERS), kind, **sizes["model"])

        def draw(count, rng=rng):
            drawn = key_recall(count, rng, **task)
            return drawn.ids, drawn.targets

        train(model, draw, (test.ids, test.targets), **sizes["training"], verbose=verbose)
        right = _right(model, test, sizes["training"]["batch"])
        told = np.unique(distances)
        curves[label] = told, [right[distances == distance].mean() for distance in told]
        near_bar, far_bar = RECALL_BARS.get(kind, ({"at_least": 0.95}, {"at_least": 0.95}))
        figures += [
            Figure(f"{label}: weights", model.count_params()),
            Figure(f"{label}: right answers, nearest", float(right[near].mean()), **near_bar),
            Figure(f"{label}: right answers, farthest", float(right[far].mean()), **far_bar),
        ]
    figures.append(Figure("chance: right answers", 0.1))
    plot_curves(
        curves,
        xlabel="pairs told between a pair and its question",
        ylabel="share of right answers",
        title="k=7 … k? from near and from far",
        path=folder / RECALL_CURVES,
    )
    return figures, [RECALL_CURVES]


def _right(model, test, batch):
    """Say which answers of a test are right, one after the other."""
    logits = ops.convert_to_numpy(model.predict(test.ids, batch_size=batch, verbose=0))
    asked = test.targets > 0
    return logits.argmax(-1)[asked] == test.targets[asked]


EXPERIMENTS = {
    "characters": Experiment(
        run=run_characters,
        says="A text, written on by a CharRNN, by one that may look back, and by a Transformer.",
        source="Karpathy (2015); Cheng et al. (2016); Vaswani et al. (2017)",
        check=check,
    ),
    "key-recall": Experiment(
        run=run_recall,
        says="What was told long ago is lost to an LSTM, and at hand for who can look back.",
        source="the exercise on the CharRNN; Cheng et al. (2016), section 3",
    ),
}
