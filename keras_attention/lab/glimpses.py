"""Hard attention that looks: one digit in clutter, and two digits to be read from left to right."""

from functools import partial
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks import load_digits, scatter_digits
from keras_attention.models import build_deep_recurrent_attention, build_recurrent_attention
from keras_attention.ops import glimpse
from keras_attention.plotting import plot_curves, plot_glimpses
from keras_attention.training import StopOnDivergence

SIZE, SCALES = 8, 2  # of a glimpse: patches of 8 × 8 cells, over 8 × 8 and 16 × 16 pixels
BATCH = 128
WHERE, CURVES = "where-it-looked.png", "curves.png"


class Setting(NamedTuple):
    """A task and how long to train on it: pictures of `shape` with `number` digits each."""

    shape: tuple
    number: int
    clutter: int
    pictures: int
    tests: int
    epochs: int
    learning_rate: float


ONE = Setting((20, 20), 1, 3, 51_200, 2_000, 40, 2e-3)
TWO = Setting((20, 32), 2, 2, 51_200, 2_000, 20, 2e-3)


def draw(setting, seed):
    """Draw the pictures to learn from, and those to test with, of digits that no other shows."""
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


def labels_of(scenes):
    """Return labels as the models have logits: (B,) for one digit, (B, N) for several."""
    return scenes.labels[:, 0] if scenes.labels.shape[1] == 1 else scenes.labels


def train(model, setting, scenes, verbose, loss=None):
    """Train a model with Adam, whose learning rate falls along a cosine; return its history."""
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


def predict(model, pictures):
    """Return logits, and locations or None."""
    outputs = model.predict(pictures, batch_size=500, verbose=0)
    return (
        (outputs["logits"], outputs["locations"]) if isinstance(outputs, dict) else (outputs, None)
    )


def right(logits, scenes):
    """Say of each picture whether every label is right, (B,)."""
    same = np.argmax(logits, axis=-1).reshape(scenes.labels.shape) == scenes.labels
    return same.all(axis=1)


def build_dense(shape, number, parameters):
    """Build a net with one hidden layer over the whole picture, of about so many parameters."""
    inputs, outputs = int(np.prod(shape)), 10 * number
    hidden = max(1, round((parameters - outputs) / (inputs + 1 + outputs)))
    layers = [
        keras.Input((*shape, 1)),
        keras.layers.Flatten(),
        keras.layers.Dense(hidden, "relu"),
        keras.layers.Dense(outputs),
    ]
    return keras.Sequential([*layers, keras.layers.Reshape((number, 10))] if number > 1 else layers)


def picture_where(path, scenes, logits, locations, most=4):
    """Draw some pictures that were read right, and one that was not, if there is one."""
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


def run(folder, *, setting, build, bars, what, seed, quick, verbose):
    """Train the model with each policy and the dense net; return figures and pictures."""
    if quick:
        setting = setting._replace(pictures=2 * BATCH, tests=100, epochs=1)
    scenes, tests = draw(setting, seed)
    figures, curves, parameters = [], {}, None
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
        if name == "learned":
            picture_where(folder / WHERE, tests, logits, locations)
    plot_curves(curves, xlabel="epoch", ylabel="digits right in training", path=folder / CURVES)
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
        says="A network that learns where to look reads far more digits than one that stares.",
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
