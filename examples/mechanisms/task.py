"""What a task is, and how it is measured: the same model, data and budget, with and without.

Every example is drawn afresh, in training as in the test, so that nothing can be learned by heart.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

HELD_OUT = 1000  # examples that a trained model is tested on


def predictions(model, inputs):
    """Return the likeliest labels, (B,) or (B, T), as NumPy."""
    outputs = model({name: ops.convert_to_tensor(x) for name, x in inputs.items()}, training=False)
    logits = outputs["logits"] if isinstance(outputs, dict) else outputs
    return ops.convert_to_numpy(ops.argmax(logits, axis=-1))


def share_of_labels(model, inputs, labels):
    """Score the share of the labels that are right."""
    return float(np.mean(predictions(model, inputs) == labels))


def share_of_sequences(model, inputs, labels):
    """Score the share of the examples all of whose labels (B, T) are right."""
    return float(np.mean(np.all(predictions(model, inputs) == labels, axis=1)))


def crossentropy(with_mechanism):
    """Return the usual loss, with and without the mechanism: cross-entropy from logits."""
    del with_mechanism
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@dataclass(frozen=True)
class Task:
    """A task that needs a mechanism.

    Attributes:
        mechanism: what the task needs.
        instead: what stands in its place in the model without it.
        why: one sentence: why the task cannot be done without.
        data: `(rng, count) → (inputs by name, labels)`, NumPy arrays with `count` rows.
        build: `with_mechanism → keras.Model`, from the inputs to logits; or to a dict of them.
        chance: the score of a guess.
        at_least: the score that the model with the mechanism reaches, whatever the seed.
        at_most: the score that the model without it does not exceed.
        steps: number of training batches; 0 where there is nothing to learn.
        batch: examples a batch.
        optimizer: the class of the optimizer.
        learning_rate: what it is made with.
        loss: `with_mechanism →` a Keras loss, or None where the model has its own.
        score: `(model, inputs, labels) →` a number from 0 to 1.
        answers: `inputs →` booleans (B, T, S), the places where the answer to a query stands; None
            where no place has it.
    """

    mechanism: str
    instead: str
    why: str
    data: Callable
    build: Callable
    chance: float
    at_least: float
    at_most: float
    steps: int = 300
    batch: int = 128
    optimizer: Callable = keras.optimizers.Adam
    learning_rate: float = 1e-2
    loss: Callable = crossentropy
    score: Callable = share_of_labels
    answers: Callable | None = None


class Result(NamedTuple):
    """The score on held-out examples, from 0 to 1, and the seconds of building and training."""

    accuracy: float
    seconds: float


def measure(task, with_mechanism, seed):
    """Train a model of the task, and test it on examples that it has not seen."""
    keras.utils.set_random_seed(seed)
    start = time.perf_counter()
    model = trained(task, with_mechanism, seed)
    seconds = time.perf_counter() - start
    held_out = task.data(np.random.default_rng([seed, 1]), HELD_OUT)
    return Result(task.score(model, *held_out), seconds)


def trained(task, with_mechanism, seed):
    """Build a model of the task, and train it on examples that the seed draws."""
    model = task.build(with_mechanism)
    if task.steps:
        inputs, labels = task.data(np.random.default_rng([seed, 0]), task.steps * task.batch)
        model.compile(
            task.optimizer(task.learning_rate),
            loss=task.loss(with_mechanism),
            jit_compile=keras.backend.backend() != "torch",
        )
        with warnings.catch_warnings():
            # A model without its mechanism may have weights that no gradient reaches.
            warnings.filterwarnings("ignore", message="Gradients do not exist")
            model.fit(inputs, labels, batch_size=task.batch, verbose=0)
    return model
