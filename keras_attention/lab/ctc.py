"""CTC is hard attention whose sum over all choices can be computed, so it needs no samples."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks import SILENCE, Speech, speak
from keras_attention.ops import ctc_alignment, ctc_loss
from keras_attention.plotting import plot_attention
from keras_attention.training import StopOnDivergence
from keras_attention.types import Array

PICTURE = "alignment.png"
SIZES: dict[str, Any] = {"labels": 6, "frames": 40, "vocabulary": 10, "noise": 0.15}


def build_speller(frames: int, vocabulary: int) -> keras.Model:
    """Build a model that names a frame from itself and its neighbours: (B, S, V) → (B, S, V)."""
    sounds = keras.Input((frames, vocabulary), name="frames")
    x = layers.Conv1D(32, 3, padding="same", activation="relu", name="neighbours")(sounds)
    return keras.Model(sounds, layers.Dense(vocabulary, name="logits")(x), name="speller")


def of_all_alignments(labels: Array, logits: Array) -> Array:
    """Return the CTC loss: the frames speak the labels in this order, in any alignment."""
    return ctc_loss(logits, labels, ops.ones_like(logits[..., 0], dtype="bool"))


def of_an_even_spread(labels: Array, logits: Array) -> Array:
    """Return the loss of an even alignment, in which every label has equally many frames."""
    places = np.arange(SIZES["frames"]) * SIZES["labels"] // SIZES["frames"]
    return ops.sparse_categorical_crossentropy(
        ops.take(labels, places, axis=1), logits, from_logits=True
    )


def transcripts(names: np.ndarray) -> list[list[int]]:
    """Remove repeats and silences from the names of frames (B, S), and return the labels."""
    return [
        [now for before, now in itertools.pairwise([SILENCE, *row]) if now not in (SILENCE, before)]
        for row in names.tolist()
    ]


def trained(
    loss: Callable[[Array, Array], Array], speech: Speech, verbose: int | str
) -> keras.Model:
    """Train a speller with a loss, and return it."""
    model = build_speller(SIZES["frames"], SIZES["vocabulary"])
    model.compile(
        keras.optimizers.Adam(1e-2), loss=loss, jit_compile=keras.backend.backend() != "torch"
    )
    model.fit(
        speech.frames,
        speech.labels,
        batch_size=128,
        verbose=verbose,
        callbacks=[StopOnDivergence()],
    )
    return model


def run(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Learn to spell without an alignment, and examine the one that the model finds."""
    train, test = (
        speak(np.random.default_rng([seed, part]), count, **SIZES)
        for part, count in enumerate((128 * (60 if quick else 500), 200 if quick else 2000))
    )
    figures = []
    bars: dict[str, dict[str, Any]] = {"CTC": {"at_least": 0.95}, "even spread": {"at_most": 0.3}}
    for name, loss in (("CTC", of_all_alignments), ("even spread", of_an_even_spread)):
        model = trained(loss, train, verbose)
        logits = ops.convert_to_numpy(model.predict(test.frames, batch_size=200, verbose=0))
        found = transcripts(logits.argmax(-1))
        right = np.mean([a == b for a, b in zip(found, test.labels.tolist(), strict=True)])
        figures.append(Figure(f"{name}: sequences spelled right", float(right), **bars[name]))
        if loss is of_all_alignments:
            alignment = _alignment(logits, test.labels)
    hits = (alignment * test.spoken).sum() / alignment.sum()
    figures += [
        Figure("CTC: weight on frames that speak the label", float(hits), at_least=0.85),
        Figure(
            "forward-backward against the sum over all paths, largest difference",
            _difference_from_enumeration(seed),
            "nats",
            at_most=1e-5,
        ),
    ]
    plot_attention(
        alignment[0],
        [str(frame) for frame in range(SIZES["frames"])],
        [f"label {label}" for label in test.labels[0]],
        links=[(frame, label) for label, frame in np.argwhere(test.spoken[0])],
        outlined="frames that speak the label",
        axis_names=("labels", "frames"),
        vmax=1,
        title="CTC: which frames speak which label",
        path=folder / PICTURE,
    )
    return figures, [PICTURE]


def _alignment(logits, labels):
    logits = ops.convert_to_tensor(logits)
    mask = ops.ones_like(logits[..., 0], dtype="bool")
    return ops.convert_to_numpy(ctc_alignment(logits, ops.convert_to_tensor(labels), mask))


def _difference_from_enumeration(seed, frames=6, vocabulary=4, count=5):
    """Return the largest |−log p| between the recursion and a sum over all V^S paths."""
    rng = np.random.default_rng([seed, 2])
    logits = rng.normal(size=(count, frames, vocabulary)).astype("float32")
    labels = rng.integers(1, vocabulary, size=(count, 2)).astype("int32")
    mask = ops.ones((count, frames), dtype="bool")
    losses = ctc_loss(ops.convert_to_tensor(logits), ops.convert_to_tensor(labels), mask)
    paths = np.array(list(itertools.product(range(vocabulary), repeat=frames)))
    spelled = transcripts(paths)
    logs = logits - np.log(np.exp(logits.astype("float64")).sum(-1, keepdims=True))
    of_paths = logs[:, np.arange(frames), paths].sum(-1)
    expected = [
        -np.log(np.exp(row[[text == label for text in spelled]]).sum())
        for row, label in zip(of_paths, labels.tolist(), strict=True)
    ]
    return float(np.abs(ops.convert_to_numpy(losses) - expected).max())


EXPERIMENTS = {
    "ctc": Experiment(
        run=run,
        says="CTC is hard attention that sums over all monotone alignments, and so learns them.",
        source="Graves et al. (2006), eq. 3 to 14",
    )
}
