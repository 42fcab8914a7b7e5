"""One training run: from a corpus to a folder with the model and all that belongs to it."""

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import keras

from keras_attention import corpora, evaluation, models
from keras_attention.files import remove, written_whole
from keras_attention.plotting import plot_history
from keras_attention.text import Vocabulary, join_words, normalize, split_words
from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss, RunCheckpoint
from keras_attention.translator import (
    CONFIG_FILE,
    FORMAT,
    Translator,
    mean_attention,
    read_config,
    shortened,
)

CHECKPOINTS, HISTORY_FILE, CURVES_FILE = "checkpoints", "history.json", "curves.png"


@dataclass(frozen=True)
class Settings:
    """What decides the outcome of a run, with the defaults of the TensorFlow tutorial.

    Attributes:
        model: name of the builder, a key of `keras_attention.models.BUILDERS`.
        attention: `"multi_head"` or `"additive"`.
        units: width of the model.
        vocabulary: most words a language.
        batch_size: sentences a batch.
        epochs: most epochs.
        steps: batches an epoch.
        patience: epochs without improvement of the validation loss after which training stops.
        learning_rate: of Adam.
        seed: of the weights and the order of the batches.
    """

    model: str = "rnn"
    attention: str = "multi_head"
    units: int = 256
    vocabulary: int = 5000
    batch_size: int = 64
    epochs: int = 100
    steps: int = 100
    patience: int = 3
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self):
        if self.model not in models.BUILDERS:
            raise ValueError(
                f"model must be one of {', '.join(models.BUILDERS)}, got {self.model!r}"
            )
        for name in ("units", "vocabulary", "batch_size", "epochs", "steps", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be at least 0 and below 2**32, got {self.seed}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")


class Report(NamedTuple):
    """How a translator does on sentence pairs it is given.

    `loss` in nats a token and `accuracy` are those of the next token after the right ones;
    `bleu_words` is BLEU on normalised lower-cased words, `bleu` and `chrf` on sentences as written;
    `hypotheses` are the translations.
    """

    loss: float
    accuracy: float
    bleu_words: evaluation.Score
    bleu: evaluation.Score
    chrf: evaluation.Score
    hypotheses: list


def train(
    train_pairs,
    validation_pairs,
    folder,
    settings=None,
    *,
    sources=None,
    resume=False,
    verbose="auto",
):
    """Train a translator, and leave it in a folder with its history and curves.

    Every epoch ends with a checkpoint; the weights that are kept in the end are those of the best
    epoch.

    Args:
        train_pairs: pairs with `context` and `target`.
        validation_pairs: likewise; they decide which epoch was the best and when to stop.
        folder: where everything goes.
        settings: `Settings`.
        sources: where the pairs came from, kept with the run.
        resume: go on from the last finished epoch of an interrupted run with the same settings and
            pairs. Only the number of epochs may differ.
        verbose: as in `keras.Model.fit`.

    Returns:
        The `Translator`.

    Raises:
        FileExistsError: the folder holds a run, and `resume` is not set.
        FileNotFoundError: there is nothing to resume.
        ValueError: the run in the folder has other settings or pairs, there are no pairs, or a
            sentence is too long.
    """
    for name, pairs in (("train_pairs", train_pairs), ("validation_pairs", validation_pairs)):
        if not pairs:
            raise ValueError(
                f"{name} must hold at least one pair, got none; a corpus too small to be split "
                "needs a validation file of its own: --validation dev.tsv"
            )
    settings = settings or Settings()
    folder = Path(folder)
    config = {
        "format": FORMAT,
        "settings": asdict(settings),
        "sources": sources or {},
        "corpus": {
            "train_pairs": len(train_pairs),
            "validation_pairs": len(validation_pairs),
            "sha256": corpora.fingerprint([*train_pairs, *validation_pairs]),
        },
    }
    with _begun(folder, config, resume):
        # The vocabularies, and the ids of every sentence
        vocabularies = [
            Vocabulary.learn((getattr(pair, side) for pair in train_pairs), settings.vocabulary)
            for side in ("context", "target")
        ]
        batches, validation_batches = (
            _batches(pairs, *vocabularies, settings.batch_size)
            for pairs in (train_pairs, validation_pairs)
        )

        # The model, new or as the last epoch left it
        keras.utils.set_random_seed(settings.seed)
        checkpoint = RunCheckpoint(folder / CHECKPOINTS, patience=settings.patience)
        if checkpoint.epochs:
            model = keras.saving.load_model(checkpoint.last() / "model.keras")
        else:
            model = build(settings, *vocabularies)
            compile_for_training(model, settings.learning_rate)

    if checkpoint.epochs < settings.epochs and not checkpoint.should_stop:
        model.fit(
            batches.shuffled(settings.seed, start=checkpoint.epochs * settings.steps),
            validation_data=validation_batches.in_order(),
            steps_per_epoch=settings.steps,
            initial_epoch=checkpoint.epochs,
            epochs=settings.epochs,
            shuffle=False,
            callbacks=[checkpoint],
            verbose=verbose,
        )

    # The best epoch is what stays
    best = build(settings, *vocabularies)
    best.load_weights(checkpoint.last() / "best.keras")
    translator = Translator(best, *vocabularies, config)
    translator.save(folder)
    with written_whole(folder / HISTORY_FILE) as path:
        path.write_text(json.dumps(checkpoint.history, indent=2) + "\n")
    plot_history(
        {name: curve for name, curve in checkpoint.history.items() if "masked" in name},
        monitor=checkpoint.monitor,
        path=folder / CURVES_FILE,
    )
    remove(folder / CHECKPOINTS)
    return translator


def check_no_run(folder):
    """Check that a folder is free for a new run.

    Raises:
        FileExistsError: it holds one.
    """
    if (Path(folder) / CONFIG_FILE).exists():
        raise FileExistsError(
            f"{folder} holds a run already: resume it (--resume) or choose another folder"
        )


def read_settings(folder):
    """Return the settings of the run in a folder, and its `sources`, as one dictionary.

    Raises:
        FileNotFoundError: the folder holds no run.
        ValueError: its configuration is damaged or of another version.
    """
    if not (Path(folder) / CONFIG_FILE).is_file():
        raise FileNotFoundError(f"{folder} holds no run to resume")
    config = read_config(folder)
    try:
        return {**asdict(Settings(**config["settings"])), "sources": dict(config["sources"])}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{Path(folder) / CONFIG_FILE} is not the configuration of a run: {error!r}"
        ) from error


def build(settings, context_vocabulary, target_vocabulary):
    """Build the model of some settings for two vocabularies."""
    return models.BUILDERS[settings.model](
        context_vocabulary=len(context_vocabulary),
        target_vocabulary=len(target_vocabulary),
        units=settings.units,
        attention=settings.attention,
    )


def compile_for_training(model, learning_rate=1e-3):
    """Compile with Adam, the masked loss and the masked metrics; with XLA where there is one."""
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss=MaskedCrossentropy(),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=keras.backend.backend() != "torch",
    )


def evaluate(translator, pairs, *, batch_size=64, progress=iter):
    """Score a translator on sentence pairs, with greedy translations.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context` and `target`.
        batch_size: sentences a batch.
        progress: as for `Translator.generate`.

    Returns:
        A `Report`.

    Raises:
        ValueError: there are no pairs, or a sentence is too long.
    """
    if not pairs:
        raise ValueError("a translator is scored on at least one sentence pair, got none")
    batches = _batches(
        pairs, translator.context_vocabulary, translator.target_vocabulary, batch_size
    )
    # A view over the same layers, so that the model keeps what its user compiled it with.
    scored = keras.Model(translator.model.input, translator.model.output)
    compile_for_training(scored)
    measured = scored.evaluate(batches.in_order(), return_dict=True, verbose=0)
    generated = translator.generate(batches.context_ids, batch_size=batch_size, progress=progress)
    words = [translator.target_vocabulary.words_of(tokens) for tokens, _, _ in generated]
    hypotheses = [join_words(each) for each in words]
    references = [pair.target for pair in pairs]
    return Report(
        measured["masked_loss"],
        measured["masked_accuracy"],
        evaluation.bleu(
            [" ".join(each) for each in words],
            [normalize(reference) for reference in references],
            normalized=True,
        ),
        evaluation.bleu(hypotheses, references),
        evaluation.chrf(hypotheses, references),
        hypotheses,
    )


class AlignmentErrorRates(NamedTuple):
    """How far the attention, and a plain diagonal, are from the gold alignment: 0 is perfect."""

    attention: float
    diagonal: float


def alignment_error_rates(translator, pairs, *, batch_size=64):
    """Compare where a translator looks with the gold alignment of aligned pairs.

    The attention is that of the right translation, fed word by word (teacher forcing). Each target
    word is linked to the context word with the largest weight; `[START]` and `[END]` are no words.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context`, `target` and `links`, as of `keras_attention.grammar`.
        batch_size: sentences a batch.

    Returns:
        `AlignmentErrorRates`.
    """
    batches = _batches(
        pairs, translator.context_vocabulary, translator.target_vocabulary, batch_size
    )
    look = models.attention(translator.model)
    predicted, diagonal, gold = [], [], []
    for rows, inputs in batches.numbered():
        weights = look.predict_on_batch(inputs)
        del weights["logits"]
        for place, row in enumerate(rows):
            context_length = int((batches.context_ids[row] != 0).sum()) - 2
            target_length = int((batches.target_ids[row] != 0).sum()) - 2
            matrix = mean_attention({name: each[place] for name, each in weights.items()})
            words = matrix[:target_length, 1 : context_length + 1]
            predicted.append(evaluation.alignment_from_weights(words))
            diagonal.append(evaluation.diagonal_alignment(context_length, target_length))
            gold.append(set(pairs[row].links))
    return AlignmentErrorRates(
        evaluation.alignment_error_rate(predicted, gold),
        evaluation.alignment_error_rate(diagonal, gold),
    )


def _batches(pairs, context_vocabulary, target_vocabulary, batch_size):
    try:
        return corpora.Batches.of_pairs(pairs, context_vocabulary, target_vocabulary, batch_size)
    except ValueError as error:
        sentences = (sentence for pair in pairs for sentence in (pair.context, pair.target))
        longest = max(sentences, key=lambda sentence: len(split_words(sentence)))
        raise ValueError(f"{error}; the longest is {shortened(longest)}") from error


@contextmanager
def _begun(folder, config, resume):
    """Check the folder of a run before anything takes time; the run is there if the block ends."""
    if resume:
        _check_same_run(folder, config)
        yield
    else:
        check_no_run(folder)
        with written_whole(folder / CONFIG_FILE) as path:
            path.write_text(json.dumps(config, indent=2) + "\n")
            yield


def _check_same_run(folder, config):
    before = read_settings(folder)
    if (folder / HISTORY_FILE).is_file() and not (folder / CHECKPOINTS).is_dir():
        raise ValueError(f"the run in {folder} has finished; there is nothing to resume")
    corpus = read_config(folder).get("corpus")
    if corpus != config["corpus"]:
        raise ValueError(
            f"the run in {folder} was trained on other sentence pairs: expected {corpus}, "
            f"got {config['corpus']}"
        )
    changed = [
        f"{name} {value!r}, got {config['settings'][name]!r}"
        for name, value in before.items()
        if name not in ("epochs", "sources") and config["settings"].get(name) != value
    ]
    if changed:
        raise ValueError(f"the run in {folder} has other settings: expected {'; '.join(changed)}")
