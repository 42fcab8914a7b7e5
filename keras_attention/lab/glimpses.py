"""Hard attention by glimpses: one digit in clutter, and two digits read from left to right."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks import Scenes, load_digits, scatter_digits
from keras_attention.models import build_deep_recurrent_attention, build_recurrent_attention
from keras_attention.ops import glimpse
from keras_attention.plotting import plot_curves, plot_glimpses
from keras_attention.training import StopOnDivergence

SIZE, SCALES = 8, 2  # of a glimpse: patches of 8 × 8 cells, over 8 × 8 and 16 × 16 pixels
BATCH = 128
WHERE, CURVES = "where-it-looked.png", "curves.png"


class Setting(NamedTuple):
    """A task and its training: pictures of `shape` with `number` digits each."""

    shape: tuple[int, int]
    number: int
    clutter: int
    pictures: int
    tests: int
    epochs: int
    learning_rate: float


ONE = Setting((20, 20), 1, 3, 51_200, 2_000, 40, 2e-3)
TWO = Setting((20, 32), 2, 2, 51_200, 2_000, 20, 2e-3)


def draw(setting: Setting, seed: int) -> list[Scenes]:
    """Draw the training and the test pictures, which have no digit in common."""
    for_training, for_tests = load_digits()
    counts = ((for_training, setting.pictures), (for_tests, setting.tests))
    return [
        scatter_digits(
            digits,
            np.random.default_rng([seed, stream]),
            count,
            setting.shape,
            setting.number,
            setting.clutter,
        )
        for stream, (digits, count) in enumerate(counts)
    ]


def labels_of(scenes: Scenes) -> np.ndarray:
    """Return the labels that fit the logits of a model: (B,) for one digit, (B, N) for several."""
    return scenes.labels[:, 0] if scenes.labels.shape[1] == 1 else scenes.labels


def train(
    model: keras.Model,
    setting: Setting,
    scenes: Scenes,
    verbose: int | str,
    loss: keras.losses.Loss | None = None,
) -> dict[str, list[float]]:
    """Train a model with Adam and a learning rate that falls along a cosine; return its history."""
    steps = setting.epochs * -(-len(scenes.pictures) // BATCH)
    rate = keras.optimizers.schedules.CosineDecay(setting.learning_rate, steps)
    jit = keras.backend.backend() != "torch"
    model.compile(keras.optimizers.Adam(rate), loss=loss, metrics=["accuracy"], jit_compile=jit)
    return model.fit(
        scenes.pictures,
        labels_of(scenes),
        batch_size=BATCH,
        epochs=setting.epochs,
        verbose=verbose,
        callbacks=[StopOnDivergence()],
    ).history


def predict(model: keras.Model, pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the logits, and the locations of the glimpses or None."""
    outputs = model.predict(pictures, batch_size=500, verbose=0)
    return (
        (outputs["logits"], outputs["locations"]) if isinstance(outputs, dict) else (outputs, None)
    )


def right(logits: np.ndarray, scenes: Scenes) -> np.ndarray:
    """Return for each picture whether all its labels are right, booleans (B,)."""
    same = np.argmax(logits, axis=-1).reshape(scenes.labels.shape) == scenes.labels
    return same.all(axis=1)


def build_dense(shape: tuple[int, int], number: int, parameters: int) -> keras.Model:
    """Build a net with one hidden layer over the whole picture and about `parameters` weights."""
    inputs, outputs = int(np.prod(shape)), 10 * number
    hidden = max(1, round((parameters - outputs) / (inputs + 1 + outputs)))
    layers = [
        keras.Input((*shape, 1)),
        keras.layers.Flatten(),
        keras.layers.Dense(hidden, "relu"),
        keras.layers.Dense(outputs),
    ]
    return keras.Sequential([*layers, keras.layers.Reshape((number, 10))] if number > 1 else layers)


def picture_where(
    path: Path | str, scenes: Scenes, logits: np.ndarray, locations: np.ndarray, most: int = 4
) -> None:
    """Draw the glimpses at some pictures read correctly, and at one read wrongly, if any."""
    good = right(logits, scenes)
    chosen = [*np.flatnonzero(good)[:most], *np.flatnonzero(~good)[:1]]
    pictures, looked = scenes.pictures[chosen], locations[chosen]
    patches = np.stack(
        [
            keras.ops.convert_to_numpy(glimpse(pictures, looked[:, t], SIZE, SCALES))[..., 0]
            for t in range(looked.shape[1])
        ],
        axis=1,
    )
    titles = [
        f"{''.join(map(str, scenes.labels[i]))} read as "
        f"{''.join(map(str, np.argmax(logits[i], axis=-1).reshape(-1)))}"
        for i in chosen
    ]
    plot_glimpses(pictures[..., 0], looked, patches, titles, path=path)


def run(
    folder: Path,
    *,
    setting: Setting,
    build: Callable[..., keras.Model],
    bars: Mapping[str, tuple[float | None, float | None]],
    what: str,
    seed: int,
    quick: bool,
    verbose: int | str,
) -> tuple[list[Figure], list[str]]:
    """Train the model with each policy and the dense net; return figures and pictures."""
    if quick:
        setting = setting._replace(pictures=2 * BATCH, tests=100, epochs=1)
    scenes, tests = draw(setting, seed)
    figures, curves, parameters = [], {}, 0
    for name, (at_least, at_most) in bars.items():
        if verbose:
            print(f"{name}: {what}")
        keras.utils.set_random_seed(seed)
        if name == "dense":
            model = build_dense(setting.shape, setting.number, parameters)
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        else:
            model, loss = build((*setting.shape, 1), policy=name), None
            parameters = parameters or model.count_params()
        history = train(model, setting, scenes, verbose, loss)
        logits, locations = predict(model, tests.pictures)
        value = float(right(logits, tests).mean())
        figures.append(Figure(f"{what}, {NAMES[name]}", value, "share", at_least, at_most))
        (accuracy,) = (value for key, value in history.items() if key.endswith("accuracy"))
        curves[NAMES[name]] = (range(1, len(accuracy) + 1), accuracy)
        if name == "learned" and locations is not None:
            picture_where(folder / WHERE, tests, logits, locations)
    plot_curves(curves, xlabel="epoch", ylabel="training accuracy", path=folder / CURVES)
    return figures, [WHERE, CURVES]


NAMES = {
    "learned": "learned glimpses",
    "centre": "glimpses at the centre",
    "dense": "dense net on the whole picture",
}

EXPERIMENTS = {
    "glimpses": Experiment(
        run=partial(
            run,
            setting=ONE,
            build=partial(build_recurrent_attention, num_glimpses=4, size=SIZE, scales=SCALES),
            bars={
                "learned": (0.7, None),
                "centre": (None, 0.5),
                "dense": (None, None),
            },
            what="digit right",
        ),
        says="A network that learns where to take its glimpses reads far more digits than one "
        "whose glimpses stay at the centre.",
        source="Mnih et al. (2014), table 2",
    ),
    "two-digits": Experiment(
        run=partial(
            run,
            setting=TWO,
            build=partial(build_deep_recurrent_attention, num_glimpses=2, size=SIZE, scales=SCALES),
            bars={
                "learned": (0.6, None),
                "centre": (None, 0.2),
                "dense": (None, None),
            },
            what="both digits right",
        ),
        says="A network reads two digits from left to right, and learns where they are from "
        "their labels alone.",
        source="Ba et al. (2015), table 1",
    ),
}
