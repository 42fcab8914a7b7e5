"""One training run: from a corpus to a folder with the model and all that belongs to it."""

import inspect
import json
import math
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import keras

from keras_attention import corpora, models
from keras_attention.files import remove, written_whole
from keras_attention.plotting import plot_history
from keras_attention.text import KINDS, SPECIAL_WORDS
from keras_attention.training import RunCheckpoint, compile_for_training
from keras_attention.translator import CONFIG_FILE, FORMAT, Translator, read_config

CHECKPOINTS, HISTORY_FILE, CURVES_FILE = "checkpoints", "history.json", "curves.png"

# Settings that not every builder has; None is the builder's own default.
CHOICES = (
    *("attention", "score", "half_width", "pooling"),
    *("num_layers", "num_heads", "feed_forward", "key_dim", "dropout"),
    *("positions", "norm_first", "tied"),
)
_OF_THE_TUTORIAL = {
    "tokens": "word",
    "units": 256,
    "vocabulary": 5000,
    "batch_size": 64,
    "epochs": 100,
    "steps": 100,
    "patience": 3,
    "learning_rate": 1e-3,
    "warm_up": 0,
    "decay": False,
    "label_smoothing": 0.0,
}
DEFAULTS = {
    **dict.fromkeys(models.BUILDERS, _OF_THE_TUTORIAL),
    "transformer": {
        "tied": True,
        "tokens": "wordpiece",
        "units": 128,
        "vocabulary": 8000,
        "batch_size": 128,
        "epochs": 30,
        "steps": 400,
        "patience": 30,
        "learning_rate": 2e-3,
        "warm_up": 1000,
        "decay": True,
        "label_smoothing": 0.1,
    },
}


@dataclass(frozen=True)
class Settings:
    """What decides the outcome of a run; what is None takes the model's default, see `DEFAULTS`.

    The defaults are taken when the settings are made: `dataclasses.replace` keeps them, also for
    another model.

    Attributes:
        model: name of the builder, a key of `keras_attention.models.BUILDERS`.
        attention: name of an attention that the model can do with, see
            `keras_attention.models.attentions`.
        score: name of a score, where model and attention leave a choice.
        half_width: of the window of local attention.
        pooling: of a model without attention.
        num_layers: of a Transformer, as are those down to `tied`; see
            `keras_attention.models.build_transformer`.
        num_heads: heads of each attention.
        feed_forward: hidden width of the feed-forward networks.
        key_dim: depth of a head.
        dropout: share that is dropped in training.
        positions: `"concatenated"`, `"interleaved"` or `"learned"`.
        norm_first: whether the norm comes first in each block.
        tied: whether the target embedding makes the logits.
        tokens: `"word"` or `"wordpiece"`, a key of `keras_attention.text.KINDS`.
        units: width of the model.
        vocabulary: most tokens a language.
        batch_size: sentences a batch.
        epochs: most epochs.
        steps: batches an epoch.
        patience: epochs without improvement of the validation loss after which training stops.
        learning_rate: of Adam; with `warm_up`, its peak.
        warm_up: batches until the peak of the learning rate; 0: it stays as it is.
        decay: whether the learning rate falls to 0 at the last of all epochs, instead of with the
            root of the steps. Goes with `warm_up`.
        label_smoothing: share of the right answer that is spread over all tokens.
        seed: of the weights and the order of the batches.
    """

    model: str = "rnn"
    attention: str | None = None
    score: str | None = None
    half_width: int | None = None
    pooling: str | None = None
    num_layers: int | None = None
    num_heads: int | None = None
    feed_forward: int | None = None
    key_dim: int | None = None
    dropout: float | None = None
    positions: str | None = None
    norm_first: bool | None = None
    tied: bool | None = None
    tokens: str | None = None
    units: int | None = None
    vocabulary: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    steps: int | None = None
    patience: int | None = None
    learning_rate: float | None = None
    warm_up: int | None = None
    decay: bool | None = None
    label_smoothing: float | None = None
    seed: int = 0

    def __post_init__(self):
        if self.model not in models.BUILDERS:
            raise ValueError(
                f"model must be one of {', '.join(models.BUILDERS)}, got {self.model!r}"
            )
        is_own_choice = self.warm_up is not None
        for name, value in DEFAULTS[self.model].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if not is_own_choice:  # a short run warms up in its first tenth
            steps = max(self.epochs * self.steps // 10, 1)
            object.__setattr__(self, "warm_up", min(self.warm_up, steps))
        takes = inspect.signature(models.BUILDERS[self.model]).parameters
        for name in self.choices:
            if name not in takes:
                its_own = ", ".join(each for each in CHOICES if each in takes)
                raise ValueError(
                    f"the model {self.model} has no {name}; it has {its_own}, got "
                    f"{name} {getattr(self, name)!r}"
                )
        if self.tokens not in KINDS:
            raise ValueError(f"tokens must be one of {', '.join(KINDS)}, got {self.tokens!r}")
        for name in ("units", "vocabulary", "batch_size", "epochs", "steps", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be at least 0 and below 2**32, got {self.seed}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")
        if self.warm_up < 0:
            raise ValueError(f"warm_up must be at least 0, got {self.warm_up}")
        if self.decay and not 0 < self.warm_up < self.epochs * self.steps:
            raise ValueError(
                "decay needs a warm_up of at least 1 and fewer steps than there are in all, got "
                f"{self.warm_up} of {self.epochs * self.steps}; choose another warm_up or no decay"
            )
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing must be at least 0 and below 1, got {self.label_smoothing}"
            )

    @property
    def choices(self):
        """What was chosen of the model's own settings, by name."""
        return {name: getattr(self, name) for name in CHOICES if getattr(self, name) is not None}


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
            pairs. Only the number of epochs may differ, unless the learning rate hangs on it.
        verbose: as in `keras.Model.fit`.

    Returns:
        The `Translator`.

    Raises:
        FileExistsError: the folder holds a run, and `resume` is not set.
        FileNotFoundError: there is nothing to resume.
        ValueError: the run in the folder has other settings or pairs, there are no pairs, or a
            validation sentence is too long; a pair to learn from that is too long is left out.
    """
    settings = settings or Settings()
    folder = Path(folder)
    config = _describe(train_pairs, validation_pairs, settings, sources)
    with _begun(folder, config, resume):
        # The vocabularies, and the ids of every sentence
        vocabularies = [
            KINDS[settings.tokens].learn(
                (getattr(pair, side) for pair in train_pairs), settings.vocabulary
            )
            for side in ("context", "target")
        ]
        batches = corpora.Batches.of_pairs(
            train_pairs, *vocabularies, settings.batch_size, leave_out_long=True
        )
        validation_batches = corpora.Batches.of_pairs(
            validation_pairs, *vocabularies, settings.batch_size
        )
        if batches.left_out and verbose:
            print(
                f"{batches.left_out:,} of the pairs to learn from left out: a sentence has more "
                f"than {corpora.BUCKETS[-1]} tokens"
            )

        # The model, new or as the last epoch left it
        keras.utils.set_random_seed(settings.seed)
        checkpoint = RunCheckpoint(folder / CHECKPOINTS, patience=settings.patience)
        if checkpoint.epochs:
            model = keras.saving.load_model(checkpoint.last() / "model.keras")
        else:
            model = build(settings, *vocabularies)
            compile_for_training(
                model,
                settings.learning_rate,
                warm_up=settings.warm_up,
                decay_steps=settings.epochs * settings.steps if settings.decay else None,
                label_smoothing=settings.label_smoothing,
            )

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
    _finish(folder, translator, checkpoint)
    return translator


def ensure(train_pairs, validation_pairs, folder, settings=None, *, sources=None, verbose="auto"):
    """Return the translator of a run: loaded if it has finished, else trained to its end.

    Args:
        train_pairs: as for `train`.
        validation_pairs: as for `train`.
        folder: as for `train`; it may hold the run, begun or finished.
        settings: as for `train`.
        sources: as for `train`.
        verbose: as for `train`.

    Returns:
        The `Translator`.

    Raises:
        ValueError: the run in the folder has other settings or pairs; and as for `train`.
    """
    settings, folder = settings or Settings(), Path(folder)
    if (folder / HISTORY_FILE).is_file():
        config = _describe(train_pairs, validation_pairs, settings, sources)
        _check_same_run(folder, config, may_differ=("sources",))
        return Translator.load(folder)
    begun = (folder / CONFIG_FILE).is_file()
    return train(
        train_pairs,
        validation_pairs,
        folder,
        settings,
        sources=sources,
        resume=begun,
        verbose=verbose,
    )


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


def check_model(settings):
    """Build the model of some settings with next to no words, before anything takes time.

    Raises:
        ValueError: its choices do not go together.
    """
    build(settings, SPECIAL_WORDS, SPECIAL_WORDS)


def build(settings, context_vocabulary, target_vocabulary):
    """Build the model of some settings for two vocabularies."""
    return models.BUILDERS[settings.model](
        context_vocabulary=len(context_vocabulary),
        target_vocabulary=len(target_vocabulary),
        units=settings.units,
        **settings.choices,
    )


def _describe(train_pairs, validation_pairs, settings, sources):
    """Return the configuration that is kept with a run, or say that there is nothing to learn."""
    for name, pairs in (("train_pairs", train_pairs), ("validation_pairs", validation_pairs)):
        if not pairs:
            raise ValueError(
                f"{name} must hold at least one pair, got none; a corpus too small to be split "
                "needs a validation file of its own: --validation dev.tsv"
            )
    return {
        "format": FORMAT,
        "settings": asdict(settings),
        "sources": sources or {},
        "corpus": {
            "train_pairs": len(train_pairs),
            "validation_pairs": len(validation_pairs),
            "sha256": corpora.fingerprint([*train_pairs, *validation_pairs]),
        },
    }


@contextmanager
def _begun(folder, config, resume):
    """Check the folder of a run before anything takes time; the run is there if the block ends."""
    if resume:
        if (folder / HISTORY_FILE).is_file() and not (folder / CHECKPOINTS).is_dir():
            raise ValueError(f"the run in {folder} has finished; there is nothing to resume")
        _check_same_run(folder, config)
        yield
    else:
        check_no_run(folder)
        with written_whole(folder / CONFIG_FILE) as path:
            path.write_text(json.dumps(config, indent=2) + "\n")
            yield


def _check_same_run(folder, config, may_differ=("epochs", "sources")):
    before = read_settings(folder)
    if before["decay"]:  # the number of epochs decides the learning rate
        may_differ = ("sources",)
    corpus = read_config(folder).get("corpus")
    if corpus != config["corpus"]:
        raise ValueError(
            f"the run in {folder} was trained on other sentence pairs: expected {corpus}, "
            f"got {config['corpus']}"
        )
    changed = [
        f"{name} {value!r}, got {config['settings'][name]!r}"
        for name, value in before.items()
        if name not in may_differ and config["settings"].get(name) != value
    ]
    if changed:
        raise ValueError(f"the run in {folder} has other settings: expected {'; '.join(changed)}")


def _finish(folder, translator, checkpoint):
    """Leave the translator, the history and the curves; the checkpoints have served."""
    translator.save(folder)
    with written_whole(folder / HISTORY_FILE) as path:
        path.write_text(json.dumps(checkpoint.history, indent=2) + "\n")
    plot_history(
        {name: curve for name, curve in checkpoint.history.items() if "masked" in name},
        monitor=checkpoint.monitor,
        path=folder / CURVES_FILE,
    )
    remove(folder / CHECKPOINTS)
