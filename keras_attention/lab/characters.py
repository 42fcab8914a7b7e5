"""Character models with and without attention: continuing a text, and a game of recall.

How could attention improve the CharRNN? An LSTM carries all that it has read in a state of fixed
size. With attention over its own text it can retrieve what it wrote long ago. A Transformer has
only attention.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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


def build_equal(vocabulary: int, kind: str, *, units: int, **sizes: Any) -> keras.Model:
    """Build a model of a kind with as many weights as a Transformer of width `units`.

    The number of weights is a quadratic function of the width, which three small models determine.
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
    """Counts seconds of training; the first step, which compiles, counts as an average one."""

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


def train(
    model: keras.Model,
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]],
    validation: tuple[np.ndarray, np.ndarray],
    *,
    steps: int,
    batch: int,
    stages: int,
    peak: float,
    verbose: int | str,
) -> tuple[list[tuple[float, ...]], Callable[[np.ndarray, np.ndarray], dict[str, float]]]:
    """Train a character model in stages, each on fresh examples.

    Args:
        model: ids → logits; it gets no optimizer, so that its file stays small.
        draw: `draw(count) → ids, targets`.
        validation: ids and targets, evaluated after every stage.
        steps: total number of batches.
        batch: rows per batch.
        stages: number of stages.
        peak: the highest learning rate.
        verbose: as in `keras.Model.fit`.

    Returns:
        The seconds of training and the validation loss after each stage, and a function that
        measures the loss and accuracy of the model on ids and targets.
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


def check_kind(model: str) -> list[str]:
    """Return the kinds of model that a name stands for.

    Raises:
        ValueError: there is no such kind.
    """
    if model != "all" and model not in LABELS:
        raise ValueError(f"model must be all or one of {', '.join(LABELS)}, got {model!r}")
    return list(LABELS) if model == "all" else [model]


FULL: dict[str, Any] = {
    "model": {"units": 128, "num_layers": 4, "num_heads": 4, "key_dim": 32, "embedding": 64},
    "training": {"steps": 1500, "batch": 32, "stages": 10, "peak": 2e-3},
    "window": 64,
}
QUICK: dict[str, Any] = {
    "model": {"units": 16, "num_layers": 1, "num_heads": 2, "key_dim": 8, "embedding": 8},
    "training": {"steps": 20, "batch": 8, "stages": 2, "peak": 1e-2},
    "window": 32,
}


def prepare(
    text: Path | str, model: str, quick: bool
) -> tuple[list[str], str, Characters, np.ndarray, np.ndarray]:
    """Load a text and check the options of the experiment, before any work.

    Returns:
        The kinds of model, the text, its `Characters`, and the ids for training and validation.

    Raises:
        ValueError: there is no such model, or the text cannot be used; the message says why.
        OSError: the text cannot be read.
    """
    kinds = check_kind(model)
    text = load_text(text)
    text = text[:_QUICK_CHARACTERS] if quick else text
    characters = Characters.learn(text)
    return kinds, text, characters, *split_text(characters.encode(text), sizes_of(quick)["window"])


def check(*, quick: bool = False, text: Path | str = "bundled", model: str = "all") -> None:
    """Check the options of the experiment on a text; see `prepare`."""
    prepare(text, model, quick)


def sizes_of(quick: bool) -> dict[str, Any]:
    """Return the sizes of the experiment on a text."""
    return QUICK if quick else FULL


def run_characters(
    folder: Path,
    *,
    seed: int,
    quick: bool,
    verbose: int | str,
    text: Path | str = "bundled",
    model: str = "all",
) -> tuple[list[Figure], list[str]]:
    """Train the kinds of model on a text, with equal numbers of weights and of steps."""
    for place in (folder, *(folder / kind for kind in check_kind(model))):
        check_place(place)
    kinds, text, characters, part, validation = prepare(text, model, quick)
    sizes = sizes_of(quick)
    trained = {}
    for kind in kinds:
        trained[kind] = _trained(kind, characters, part, validation, sizes, seed, verbose)
        trained[kind].writer.save(folder / kind)
    by_loss = sorted(trained, key=lambda kind: trained[kind].loss)
    best = trained[by_loss[0]]
    best.writer.save(folder)
    plot_curves(
        {LABELS[kind]: each.curve for kind, each in trained.items()},
        xlabel="seconds of training",
        ylabel="validation loss (nats a character)",
        title="Characters, with and without attention",
        path=folder / CURVES,
    )
    beginning = text[len(part) :][: sizes["window"]]
    _write_sample(folder / SAMPLE, best.writer, beginning, seed, verbose)
    pictures = [CURVES]
    for kind in [kind for kind in by_loss if kind != "lstm"][:1]:  # the best that has attention
        _plot_looks(folder / LOOKS, trained[kind].writer, beginning, LABELS[kind])
        pictures.append(LOOKS)
    return _figures_of(trained, best.loss, is_tiny_shakespeare(text)), pictures


class _Trained(NamedTuple):
    """What came of a training: the curve is seconds and validation losses, in nats."""

    writer: Writer
    loss: float
    curve: Any


def _trained(kind, characters, part, validation, sizes, seed, verbose):
    """Train a kind of model on ids of characters; all kinds see the same windows."""
    if verbose:
        print(f"{LABELS[kind]}: {len(part):,} characters of text")
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng([seed, 0])
    window = sizes["window"]
    model = build_equal(len(characters), kind, **sizes["model"])
    ids, targets = covering_windows(validation, window)
    curve, measure = train(
        model,
        lambda count: draw_windows(part, count, window, rng),
        (ids[::8], targets[::8]),
        **sizes["training"],
        verbose=verbose,
    )
    writer = Writer(model, characters, window, {"kind": kind})
    return _Trained(writer, measure(ids, targets)["nats"], curve)


def _figures_of(trained, best, is_shakespeare):
    """Return the figures of all kinds of model."""
    figures = []
    for kind, each in trained.items():
        name = LABELS[kind]
        figures += [
            Figure(f"{name}: weights", each.writer.model.count_params()),
            Figure(f"{name}: validation loss", each.loss, "nats a character"),
            Figure(f"{name}: seconds of training", each.curve[0][-1], "s"),
        ]
    bar = {"at_most": 1.9} if is_shakespeare else {}
    figures.append(Figure("best: validation loss", best, "nats a character", **bar))
    if len(trained) > 1:
        counts = [each.writer.model.count_params() for each in trained.values()]
        ratio = max(counts) / min(counts)
        figures.append(Figure("weights, most against fewest", ratio, at_most=1.02))
    return figures


def _write_sample(path, writer, text, seed, verbose):
    """Let a writer continue the first line of a text, and save the result."""
    prompt = "".join(text.lstrip("\n").partition("\n")[:2]) or text
    sample = prompt + writer(prompt, 400, seed=seed)
    with written_whole(path) as part:
        part.write_text(sample + "\n", encoding="utf-8")
    if verbose:
        print(sample)


def _plot_looks(path, writer, text, label):
    """Draw the attention of the head that attends farthest back in a text."""
    text = text[:48]
    back = np.arange(len(text))[:, None] - np.arange(len(text))
    heads = [head for weights in writer.attend(text) for head in weights]
    farthest = max(heads, key=lambda head: (head * back).sum())
    plot_attention(
        farthest,
        ["⏎" if letter == "\n" else letter for letter in text],
        ["⏎" if letter == "\n" else letter for letter in text],
        axis_names=("character", "attends to"),
        title=f"{label}: the head that attends farthest back",
        path=path,
    )


# Of right answers with no pair told in between, and with at least three quarters of all pairs
RECALL_BARS: dict[str, Any] = {"lstm": ({"at_least": 0.5}, {"at_most": 0.3})}
RECALL_FULL: dict[str, Any] = {
    "model": {"units": 64, "num_layers": 2, "num_heads": 4, "key_dim": 16, "embedding": 32},
    "training": {"steps": 1500, "batch": 32, "stages": 5, "peak": 3e-3},
    "task": {"pairs": 16, "questions": 8},
    "rows": 3000,
}
RECALL_QUICK: dict[str, Any] = {
    "model": {"units": 16, "num_layers": 1, "num_heads": 2, "key_dim": 8, "embedding": 8},
    "training": {"steps": 20, "batch": 16, "stages": 2, "peak": 1e-2},
    "task": {"pairs": 4, "questions": 2},
    "rows": 100,
}


def run_recall(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Ask for values that were told just now or long ago."""
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
        rng = np.random.default_rng([seed, 0])  # all kinds see the same rows
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
        ylabel="fraction of right answers",
        title="k=7 … k? from near and from far",
        path=folder / RECALL_CURVES,
    )
    return figures, [RECALL_CURVES]


def _right(model, test, batch):
    """Return whether each answer of a test is right, in order."""
    logits = ops.convert_to_numpy(model.predict(test.ids, batch_size=batch, verbose=0))
    asked = test.targets > 0
    return logits.argmax(-1)[asked] == test.targets[asked]


EXPERIMENTS = {
    "characters": Experiment(
        run=run_characters,
        says="A CharRNN, a CharRNN with attention and a Transformer continue a text.",
        source="Karpathy (2015); Cheng et al. (2016); Vaswani et al. (2017)",
        check=check,
    ),
    "key-recall": Experiment(
        run=run_recall,
        says="An LSTM loses what it was told long ago; a model with attention retrieves it.",
        source="the exercise on the CharRNN; Cheng et al. (2016), section 3",
    ),
}
