"""A Neural Turing Machine learns small programs that generalize where an LSTM memorizes."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers, ops

from keras_attention.lab import tasks
from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.models import build_neural_turing_machine, tapes
from keras_attention.plotting import plot_curves, plot_tapes
from keras_attention.training import StopOnDivergence
from keras_attention.types import Array

CURVES, TAPES = "learning.png", "tapes.png"
MACHINE, BASELINE = "Neural Turing Machine", "LSTM"
QUICK_SIZES = {"rows": 16, "width": 8, "units": 16}
QUICK_SEQUENCES = 60
LEARNING_RATE = 3e-4
LESSONS = {2: 1_000, 3: 4_000, 4: 5_000, 6: 20_000}  # most items of a list: number of lists
STAGES, TRIAL = 20, 5  # of a training, and of each start before the best one goes on


class Recipe(NamedTuple):
    """How to build and train a machine: `settings` go to `build_neural_turing_machine`.

    The learning rate is constant for the fraction `steady` of the sequences, then falls to a tenth.
    Of several starts, the one that costs least after a quarter of the sequences goes on.
    """

    settings: dict[str, Any]
    epsilon: float = 1e-4
    steady: float = 0.8
    starts: int = 1


PLAIN = Recipe({})
# The heads start together and sharply focused, and stay in place until they learn to move.
STEADY = Recipe(
    {
        "start": "first_row",
        "focus": 6.0,
        "gate_bias": -2.0,
        "stay_bias": 2.0,
        "sharp_bias": 1.0,
    }
)
# 30 rows hold the longest list; the paper has 128. ε is smaller because few steps are asked for.
# Half of all starts stay where the heads do not search by content.
NARROW = Recipe(
    {"rows": 32, "start": "first_row", "focus": 6.0, "stay_bias": 1.0},
    epsilon=1e-5,
    starts=3,
)


def copy(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Copy sequences of bits, and test also on sequences two and three times as long.

    Validation, on sequences up to 1.5 times as long as in training, selects the weights to keep.
    """
    longest = 5 if quick else 20
    data = _examples(tasks.copy, 10_000, seed, quick, longest=longest)
    rng = np.random.default_rng([seed, 9])
    data.append(tasks.copy(rng, 100, longest + 1, 3 * longest // 2))
    models, figures = _contest(folder, data, quick, verbose, 0.1, 10, STEADY)
    for factor in (2, 3):
        length = factor * longest
        longer = tasks.copy(np.random.default_rng([seed, factor]), 50, length, length)
        for name, model in models.items():
            bar = {"at_most": 1} if name == MACHINE else {"at_least": 10}
            figures += cost_and_errors(f"{name}, length {length}", model, longer, wrong=bar)
    title = f"copying {length} vectors, trained on at most {longest}"
    _draw_tapes(folder, models[MACHINE], longer, title)
    return figures, [CURVES, TAPES]


def repeat_copy(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Copy a sequence a given number of times, then write an end marker."""
    most = 2 if quick else 5
    sizes = {"longest": most, "most_repeats": most}
    data = _examples(tasks.repeat_copy, 20_000, seed, quick, **sizes)
    models, figures = _contest(folder, data, quick, verbose, 1, 3)
    rng = np.random.default_rng([seed, 2])
    longest = tasks.repeat_copy(rng, 1, shortest=most, fewest_repeats=most, **sizes)
    _draw_tapes(folder, models[MACHINE], longest, f"copying {most} vectors {most} times")
    return figures, [CURVES, TAPES]


def associative_recall(
    folder: Path, *, seed: int, quick: bool, verbose: int | str
) -> tuple[list[Figure], list[str]]:
    """Recall the item that came after the one shown again."""
    lessons = {2: QUICK_SEQUENCES // 2, 3: QUICK_SEQUENCES // 2} if quick else LESSONS
    most = max(lessons)
    test = tasks.associative_recall(
        np.random.default_rng([seed, 1]), 20 if quick else 500, most=most
    )
    data = _draw_lessons(np.random.default_rng([seed, 0]), lessons), test
    models, figures = _contest(folder, data, quick, verbose, 1, 3, NARROW)
    longest = tasks.associative_recall(np.random.default_rng([seed, 2]), 1, most, most)
    _draw_tapes(folder, models[MACHINE], longest, f"recalling what came after one of {most} items")
    return figures, [CURVES, TAPES]


def _examples(draw, number, seed, quick, **sizes):
    """Draw sequences for training, each used once, and fresh ones for the test."""
    numbers = (QUICK_SEQUENCES, 20) if quick else (number, 500)
    return [
        draw(np.random.default_rng([seed, part]), number, **sizes)
        for part, number in enumerate(numbers)
    ]


def _draw_lessons(rng, lessons):
    """Draw lists, those of few items first, and pad them with silence to one length."""
    drawn = [tasks.associative_recall(rng, number, most=most) for most, number in lessons.items()]
    steps = max(lesson.asked.shape[1] for lesson in drawn)
    padded = [
        [
            np.pad(part, [(0, 0), (0, steps - part.shape[1])] + [(0, 0)] * (part.ndim - 2))
            for part in lesson
        ]
        for lesson in drawn
    ]
    return type(drawn[0])(*(np.concatenate(parts) for parts in zip(*padded, strict=True)))


def _contest(folder, data, quick, verbose, at_most, at_least, recipe=PLAIN):
    """Train a machine and an LSTM on the same sequences, plot their learning, and test both.

    `at_most` is the bar on the machine's cost and `at_least` that on the LSTM's, in bits per
    sequence. If `data` has validation sequences, each model keeps its best weights on these.
    """
    train, test, *validation = data
    settings = {**recipe.settings, **(QUICK_SIZES if quick else {})}
    channels, bits = train.inputs.shape[-1], train.targets.shape[-1]
    machines = [
        build_neural_turing_machine(channels, bits, **settings) for _ in range(recipe.starts)
    ]
    starts = {MACHINE: machines, BASELINE: [build_lstm(channels, bits, machines[0].count_params())]}
    models, curves, figures = {}, {}, []
    for name in starts:
        if verbose:
            print(f"{name}: {len(train.inputs):,} sequences")
        model, curves[name] = _train(starts[name], train, recipe, verbose, *validation)
        models[name] = model
        bar = {"at_most": at_most} if name == MACHINE else {"at_least": at_least}
        figures += cost_and_errors(name, model, test, cost=bar)
    plot_curves(
        curves,
        xlabel="sequences seen",
        ylabel="cost of a new sequence, in bits",
        logarithmic="y",
        path=folder / CURVES,
    )
    return models, figures


def build_lstm(channels: int, bits: int, parameters: int) -> keras.Model:
    """Build an LSTM network with at least `parameters` weights: (B, T, F) → (B, T, bits)."""
    units = 1
    while 4 * units * (units + channels + 1) + bits * (units + 1) < parameters:
        units += 1
    inputs = keras.Input((None, channels), name="inputs")
    hidden = layers.LSTM(units, return_sequences=True, name="lstm")(inputs)
    return keras.Model(inputs, layers.Dense(bits, name="logits")(hidden), name="lstm")


def bits_of_steps(targets: Array, logits: Array) -> Array:
    """Return the cost of each step, (B, T): −log₂ of the probability of its bits."""
    targets, logits = ops.expand_dims(targets, -1), ops.expand_dims(logits, -1)
    nats = keras.losses.binary_crossentropy(targets, logits, from_logits=True)
    return ops.sum(nats, axis=-1) / math.log(2)


def _train(starts, examples, recipe, verbose, validation=None):
    """Train on each sequence once.

    Returns:
        The start that went on; and numbers of sequences seen, with the cost of the latest.
    """
    number, steps = examples.asked.shape
    each = max(number // STAGES, 1)
    for model in starts:
        _compile(model, recipe, each)
    model, cost, stages = starts[0], [], range(number // each)
    if len(starts) > 1:
        costs = [_fit(start, examples, each, stages[:TRIAL], recipe, verbose) for start in starts]
        best = min(range(len(starts)), key=lambda place: costs[place][-1])
        model, cost, stages = starts[best], costs[best], stages[TRIAL:]
    cost = cost + _fit(model, examples, each, stages, recipe, verbose, validation)
    # A loss is a mean over the steps
    return model, (each * np.arange(1, len(cost) + 1), steps * np.array(cost))


def _compile(model, recipe, each):
    compiled = keras.backend.backend() != "torch"
    model.compile(
        # As in Graves (2013, eq. 38–45); with Keras' ε and ρ, training loses a solution again.
        keras.optimizers.RMSprop(
            LEARNING_RATE,
            rho=0.95,
            momentum=0.9,
            epsilon=recipe.epsilon,
            centered=True,
            global_clipnorm=10.0,
        ),
        loss=bits_of_steps,
        jit_compile=compiled,
        steps_per_execution=min(each, 50) if compiled else 1,
    )


def _fit(model, examples, each, stages, recipe, verbose, validation=None):
    """Train in some stages, each on so many sequences, and return the loss of each stage."""

    def rate(stage):
        return LEARNING_RATE * 0.1 ** max(
            0.0, (stage / STAGES - recipe.steady) / (1 - recipe.steady)
        )

    callbacks = [StopOnDivergence(), keras.callbacks.LearningRateScheduler(rate)]
    if validation:
        callbacks.append(
            keras.callbacks.EarlyStopping("val_loss", patience=STAGES, restore_best_weights=True)
        )
    those = slice(each * stages.start, each * stages.stop)
    return model.fit(
        examples.inputs[those],
        examples.targets[those],
        sample_weight=examples.asked[those],
        batch_size=1,
        steps_per_epoch=each,
        initial_epoch=stages.start,
        epochs=stages.stop,
        shuffle=False,
        verbose=verbose,
        validation_data=validation and (validation.inputs, validation.targets, validation.asked),
        validation_batch_size=100,
        callbacks=callbacks,
    ).history["loss"]


def cost_and_errors(
    name: str,
    model: keras.Model,
    examples: tasks.Sequences,
    cost: dict[str, Any] | None = None,
    wrong: dict[str, Any] | None = None,
) -> list[Figure]:
    """Return the cost of a model's answers in bits per sequence, and their wrong bits in %.

    `cost` and `wrong` are the bars of the two. The model runs uncompiled, because compiling does
    not pay for so few sequences.
    """
    logits = ops.convert_to_numpy(model(examples.inputs)).astype("float64")
    nats = (np.logaddexp(0, logits) - examples.targets * logits).sum(-1)
    bits = (nats * examples.asked).sum() / len(nats) / math.log(2)
    errors = ((logits > 0) != (examples.targets > 0.5))[examples.asked > 0]
    return [
        Figure(f"{name}: cost", float(bits), "bits a sequence", **(cost or {})),
        Figure(f"{name}: wrong bits", 100 * float(errors.mean()), "%", **(wrong or {})),
    ]


def _draw_tapes(folder, machine, examples, title):
    """Draw what the machine does with the first sequence."""
    seen = {
        name: ops.convert_to_numpy(value)[0]
        for name, value in tapes(machine)(examples.inputs[:1]).items()
    }
    plot_tapes(
        examples.inputs[0],
        examples.asked[0, :, None] / (1 + np.exp(-seen["logits"])),
        seen["write_weights"],
        seen["read_weights"],
        title=title,
        path=folder / TAPES,
    )


EXPERIMENTS = {
    "copy": Experiment(
        run=copy,
        says="A Neural Turing Machine learns to copy, even sequences longer than all it has seen.",
        source="Graves et al. (2014), figures 3, 4 and 6",
        seeds=(0, 1, 2),
    ),
    "repeat-copy": Experiment(
        run=repeat_copy,
        says="A Neural Turing Machine learns a loop: to copy a given number of times.",
        source="Graves et al. (2014), figure 7",
    ),
    "associative-recall": Experiment(
        run=associative_recall,
        says="A Neural Turing Machine finds an item by its content, and reads the next one.",
        source="Graves et al. (2014), figures 10 and 12",
        seeds=(0, 1, 2),
    ),
}
