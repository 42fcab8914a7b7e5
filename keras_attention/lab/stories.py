"""Questions about stories: why a memory network needs several hops, and the order of sentences.

Where is the football?  →  Mary got the football.  →  Mary went to the garden.  →  garden
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attention import training
from keras_attention.lab.experiment import Experiment
from keras_attention.lab.report import Figure
from keras_attention.lab.tasks import (
    generate_stories,
    learn_words,
    load_babi,
    story_arrays,
)
from keras_attention.lab.tasks.stories import TASKS, Question, StoryArrays, longest
from keras_attention.models import build_memory_network, memory_hops, set_linear
from keras_attention.plotting import plot_curves, plot_hops

CURVES, PICTURE, BASELINE_PICTURE = "curves.png", "hops.png", "hops-baseline.png"
HOPS = {1: 1, 2: 3}  # the default for each task
QUESTIONS, TESTED = 10_000, 1000
UNITS, SENTENCES, BATCH, LEARNING_RATE = 20, 50, 128, 0.01
DRAWN = 12  # most sentences of a drawn story


class Data(NamedTuple):
    """Arrays for training, validation and test; the words by id; the test questions as text."""

    train: StoryArrays
    validation: StoryArrays
    test: StoryArrays
    words: list[str]
    questions: list[Question]


def run(
    folder: Path,
    *,
    seed: int,
    quick: bool,
    verbose: int | str,
    task: int = 1,
    data: Path | str | None = None,
    hops: int | None = None,
) -> tuple[list[Figure], list[str]]:
    """Train a memory network on a bAbI task, and a baseline without what the task needs.

    Task 1 depends on the order of the sentences, so its baseline has no times. Task 2 needs two
    facts for an answer, so its baseline has a single hop.
    """
    hops = HOPS[task] if hops is None else hops
    examples = _prepare(task, data, seed, quick)
    contenders: dict[str, dict[str, Any]] = {_count(hops): {"hops": hops}}
    if task == 1:
        contenders["without times"] = {"hops": hops, "times": False}
    else:
        contenders["1 hop"] = {"hops": 1}
    curves, views = {}, {}
    for name, options in contenders.items():
        if verbose:
            print(f"{name}: {len(examples.train.answer):,} questions of task {task}", flush=True)
        keras.utils.set_random_seed(seed)
        model = build_memory_network(len(examples.words), UNITS, memory_size=SENTENCES, **options)
        accuracies = train(model, examples, quick, verbose)
        curves[name] = range(1, len(accuracies) + 1), accuracies
        views[name] = look(model, examples.test)
    plot_curves(
        curves,
        xlabel="epoch; the first ones train without the softmax",
        ylabel="validation accuracy",
        path=folder / CURVES,
    )
    pictures = [PICTURE, BASELINE_PICTURE]
    for (answers, weights), picture in zip(views.values(), pictures, strict=True):
        _draw(examples, answers, weights, folder / picture)
    return _figures(task, examples.test, views), [CURVES, *pictures]


def check(
    *,
    quick: bool = False,
    task: int = 1,
    data: Path | str | None = None,
    hops: int | None = None,
) -> None:
    """Check the options of the experiment, and external data.

    Raises:
        ValueError: there is no such task, there are too few hops or questions, or a bAbI file is
            malformed; the message says where.
        FileNotFoundError: a bAbI file is missing.
    """
    if task not in TASKS:
        raise ValueError(f"task must be 1 or 2, got {task}")
    if hops is not None and hops < task:
        raise ValueError(
            "hops must be at least 1, and at least 2 for task 2, whose baseline has one hop; "
            f"got {hops}"
        )
    if data is not None:
        _prepare(task, data, 0, quick)


def _prepare(task, data, seed, quick):
    """Read or generate the questions, and hold out some of the training ones for validation."""
    if data is None:
        questions, test = (
            generate_stories(number, task, np.random.default_rng([seed, stream]))
            for stream, number in enumerate((QUESTIONS, TESTED))
        )
    else:
        questions, test = load_babi(data, task)
    words, length = learn_words(questions), max(longest(questions), longest(test))
    if quick:
        questions, test = questions[: 5 * BATCH], test[:BATCH]
    validated = max(len(questions) // 10, 1)
    # Whole batches only: XLA would compile again for a smaller last one.
    trained = (len(questions) - validated) // BATCH * BATCH
    if trained < BATCH:
        raise ValueError(f"{len(questions)} questions are too few to train with")
    parts = (questions[validated : validated + trained], questions[:validated], test)
    arrays = (story_arrays(part, words, SENTENCES, length) for part in parts)
    return Data(*arrays, words, test)


def _inputs(arrays):
    return {"question": arrays.words, "story": arrays.story}


def train(
    model: keras.Model, examples: Data, quick: bool = False, verbose: int | str = 0
) -> list[float]:
    """Train without the softmax until validation stops improving, then with it.

    This is the linear start of Sukhbaatar et al. (2015), section 4.2. The learning rate of Adam is
    constant in the first part, and falls along a cosine in the second.

    Args:
        model: a model from `build_memory_network`.
        examples: `Data`.
        quick: whether to train for one epoch in each part.
        verbose: as in `keras.Model.fit`.

    Returns:
        The validation accuracy after each epoch.
    """
    model.compile(
        keras.optimizers.Adam(LEARNING_RATE, global_clipnorm=40.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=keras.backend.backend() != "torch",
    )
    epochs = 1 if quick else 30
    stop = keras.callbacks.EarlyStopping("val_loss", patience=3)
    fall = keras.callbacks.LearningRateScheduler(
        lambda epoch: LEARNING_RATE * (1 + math.cos(math.pi * epoch / epochs)) / 2
    )
    accuracies = []
    for linear, most, callback in ((True, 1 if quick else 15, stop), (False, epochs, fall)):
        set_linear(model, linear)
        history = model.fit(
            _inputs(examples.train),
            examples.train.answer,
            batch_size=BATCH,
            epochs=most,
            verbose=verbose,
            validation_data=(_inputs(examples.validation), examples.validation.answer),
            validation_batch_size=len(examples.validation.answer),
            callbacks=[training.StopOnDivergence(), callback],
        )
        accuracies += history.history["val_accuracy"]
    return accuracies


def look(model: keras.Model, arrays: StoryArrays) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of the answers (N,), and the weights of each hop (N, hops, S)."""
    inputs = {name: keras.ops.convert_to_tensor(ids) for name, ids in _inputs(arrays).items()}
    outputs = memory_hops(model)(inputs)
    logits, weights = (keras.ops.convert_to_numpy(outputs[name]) for name in ("logits", "weights"))
    return logits.argmax(-1), weights


def shares_on_facts(weights: np.ndarray, facts: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how often the largest weight lies on a supporting fact.

    Args:
        weights: (N, hops, S).
        facts: booleans (N, S).

    Returns:
        The fraction of the N questions whose largest weight over all hops lies on a fact, and the
        fraction for each hop, (hops,).
    """
    looked = weights.argmax(-1)
    on_a_fact = np.take_along_axis(facts, looked, axis=1)
    surest = weights.max(-1).argmax(-1)
    return float(on_a_fact[np.arange(len(facts)), surest].mean()), on_a_fact.mean(0)


def _figures(task, test, views):
    """Return how often each network was right and attended to a fact, with bars."""
    figures = []
    right, wrong = (0.98, 0.8) if task == 1 else (0.85, 0.6)
    for number, (name, (answers, _)) in enumerate(views.items()):
        bar = {"at_most": wrong} if number else {"at_least": right}
        figures.append(Figure(f"accuracy, {name}", float((answers == test.answer).mean()), **bar))
    for number, (name, (_, weights)) in enumerate(views.items()):
        largest, each = shares_on_facts(weights, test.facts)
        bar = {"at_least": 0.95} if number == 0 and task == 1 else {}
        figures.append(Figure(f"largest weight on a fact, {name}", largest, **bar))
        if len(each) > 1:
            figures += [
                Figure(f"largest weight on a fact, {name}, hop {hop}", float(share))
                for hop, share in enumerate(each, start=1)
            ]
    return figures


def _draw(examples, answers, weights, path):
    """Draw the story in which the person of the last fact has the most sentences."""

    def distractors(question):
        who = question.story[question.facts[-1]][0]
        return sum(sentence[0] == who for sentence in question.story)

    rows = [row for row, q in enumerate(examples.questions) if len(q.story) <= DRAWN]
    if not rows:
        rows = [min(range(len(answers)), key=lambda row: len(examples.questions[row].story))]
    row = max(rows, key=lambda row: distractors(examples.questions[row]))
    question = examples.questions[row]
    drawn = question.story[-SENTENCES:]
    forgotten = len(question.story) - len(drawn)
    plot_hops(
        [" ".join(sentence) for sentence in drawn],
        weights[row, :, : len(drawn)][:, ::-1],  # the oldest sentence first
        question=" ".join(question.words) + "?",
        answer=examples.words[answers[row]],
        expected=question.answer,
        facts=[fact - forgotten for fact in question.facts if fact >= forgotten],
        path=path,
    )


def _count(hops):
    return "1 hop" if hops == 1 else f"{hops} hops"


EXPERIMENTS = {
    "babi": Experiment(
        run=run,
        says="With enough hops a memory network finds the facts behind an answer; without times it "
        "loses the order of the story.",
        source="Sukhbaatar et al. (2015), table 1 and figure 2; Weston et al. (2015), bAbI",
        variants=({"task": 1}, {"task": 2}),
        seeds=(0, 1, 2),
        check=check,
    )
}
