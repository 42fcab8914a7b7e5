"""One training run: from a corpus to a folder with the model and all other results."""

from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_attention import corpora
from keras_attention.distribution.strategies import Distribution
from keras_attention.plotting import plot_history
from keras_attention.runs.callbacks import TranslateEachEpoch
from keras_attention.runs.settings import Settings
from keras_attention.storage import check_memory, locked, naming, remove, written_whole
from keras_attention.text import KINDS, SPECIAL_WORDS
from keras_attention.training import (
    RunCheckpoint,
    SeedEachEpoch,
    StopOnDivergence,
    compile_for_training,
    steps_at_once,
    uses_xla,
)
from keras_attention.translation.builders import BYTES, least_weights, load_model
from keras_attention.translation.builders import build as build_model
from keras_attention.translation.configuration import CONFIG_FILE, config_text, read_config
from keras_attention.translation.folders import HISTORY_FILE, Parts, write
from keras_attention.translation.translator import Translator

CHECKPOINTS, WATCHED_FOLDER, CURVES_FILE = "checkpoints", "watched", "curves.png"
LOOPS = ("bilstm",)  # attend inside their loop: on a CPU, too, XLA makes a step a quarter shorter
STEPS_A_SHAPE = 800  # training steps for which compiling a program for one more shape pays


@dataclass(frozen=True)
class CorpusFields:
    """What a run was trained on: numbers of pairs, and the SHA-256 of their sentences."""

    train_pairs: int
    validation_pairs: int
    sha256: str


@dataclass(frozen=True)
class RunFields:
    """What the configuration of a run must hold.

    Attributes:
        settings: the `Settings`.
        sources: where the pairs came from.
        corpus: the pairs.
        shapes: the largest number of shapes to which sentences are padded; None: no limit.
    """

    settings: Settings
    sources: dict[str, str | None]
    corpus: CorpusFields
    shapes: int | None


def train(
    train_pairs: Sequence[Any],
    validation_pairs: Sequence[Any],
    folder: Path | str,
    settings: Settings | None = None,
    *,
    sources: dict[str, Any] | None = None,
    resume: bool = False,
    watched: Sequence[str] = (),
    bleu_sample: int = 0,
    verbose: str | int = "auto",
    distribution: Distribution | None = None,
    jit_compile: bool | None = None,
) -> Translator:
    """Train a translator, and write it to a folder with its history and curves.

    Every epoch ends with a checkpoint. The translator has the weights of the best epoch.

    Args:
        train_pairs: pairs with `context` and `target`.
        validation_pairs: likewise; they decide which epoch is the best and when to stop.
        folder: folder for all results of the run.
        settings: `Settings`.
        sources: where the pairs came from, texts or None by name; saved with the run. With the
            `"corpus"` `"spa-eng"` or `"bundled"`, pictures name the languages.
        resume: whether to continue an interrupted run from its last finished epoch. Settings and
            pairs must be the same; the number of epochs may differ, unless the learning rate
            depends on it, by its decay or by a warm-up that was not given.
        watched: sentences to translate and draw after every epoch, in the folder `watched`.
        bleu_sample: number of validation pairs to score by BLEU after every epoch; 0: none. See
            `keras_attention.runs.callbacks.TranslateEachEpoch`.
        verbose: as in `keras.Model.fit`.
        distribution: `keras_attention.distribution.Distribution` over several devices or processes;
            None: one device. It changes the losses only by rounding, and a resumed run may use
            another one. Of several processes, only the first prints and writes to the folder.
        jit_compile: whether XLA compiles the steps, as in `keras.Model.compile`; None: as
            `keras_attention.training.uses_xla` says, and for `bilstm` wherever there is XLA.

    Returns:
        The `Translator`.

    Raises:
        BlockingIOError: another process trains in the folder.
        ConnectionError: another process was lost, see `keras_attention.distribution.Processes`.
        FileExistsError: the folder holds a run, and `resume` is not set.
        FileNotFoundError: there is nothing to resume.
        ValueError: the run in the folder has other settings or pairs, or a file that has changed;
            there are no pairs; the model or a batch does not fit into memory; a validation sentence
            is too long (a training pair that is too long is left out); a batch cannot be divided
            equally among the devices; a run on several devices has sentences to watch or a BLEU
            sample; XLA cannot compile the steps on this backend or these devices; or `bleu_sample`
            is negative.
    """
    settings, folder = settings or Settings(), Path(folder)
    distribution = distribution or Distribution()
    distribution.check_batch_size(settings)
    if (watched or bleu_sample) and distribution.engine is not None:
        raise ValueError("watched sentences and a BLEU sample need a run on one device")
    if bleu_sample < 0:
        raise ValueError(f"bleu_sample must be 0 or above, got {bleu_sample}")
    verbose = verbose if distribution.is_first else 0
    jit_compile = _compiles(jit_compile, settings, distribution)
    pairs = train_pairs, validation_pairs
    of_first = distribution.processes.of_first
    config = {
        **_describe(*pairs, settings, sources),
        "shapes": of_first(lambda: _most_shapes(folder, settings, resume, jit_compile)),
    }
    distribution.check_same({**config, "sources": None})
    with ExitStack() as held:
        of_first(lambda: held.enter_context(locked(folder)))
        with ExitStack() as begun:
            of_first(lambda: begun.enter_context(_begun(folder, config, resume)))
            run = _prepare(
                pairs, folder, settings, config["shapes"], distribution, jit_compile, verbose
            )
            if watched or bleu_sample:
                follower = TranslateEachEpoch(
                    Translator(run.model, *run.vocabularies),
                    folder / WATCHED_FOLDER,
                    sentences=watched,
                    sample=_sample(validation_pairs, bleu_sample),
                )
                run.callbacks.append(follower)
        _fit(run, settings, distribution, verbose)
        return _finish(run, folder, settings, config, distribution)


class _Run(NamedTuple):
    """What a run needs once it begins."""

    vocabularies: list
    batches: corpora.Batches
    validation_batches: corpora.Batches
    model: keras.Model
    checkpoint: RunCheckpoint
    callbacks: list


def _prepare(pairs, folder, settings, most_shapes, distribution, jit_compile, verbose):
    """Learn the vocabularies, batch the ids of all pairs, and make or restore the model."""
    train_pairs, validation_pairs = pairs
    shapes = {"shapes": settings.shapes, "most_shapes": most_shapes}
    vocabularies = [
        KINDS[settings.tokens].learn(
            (getattr(pair, side) for pair in train_pairs), settings.vocabulary
        )
        for side in ("context", "target")
    ]
    distribution.check_vocabulary(len(vocabularies[1]))
    batches = corpora.Batches.of_pairs(
        train_pairs,
        *vocabularies,
        **settings.size,
        joined=settings.joined,
        **shapes,
        leave_out_long=True,
    )
    validation_batches = corpora.Batches.of_pairs(
        validation_pairs, *vocabularies, **settings.size, **shapes
    )
    if batches.left_out and verbose:
        print(
            f"{batches.left_out:,} training pairs left out: a sentence has more than "
            f"{corpora.LONGEST} tokens"
        )
    contexts, targets = zip(*batches.shapes, *validation_batches.shapes, strict=True)
    shape = max(contexts), max(targets)
    check_size(settings, *vocabularies, shape, distribution.shards)
    keras.utils.set_random_seed(settings.seed)
    checkpoint = RunCheckpoint(
        folder / CHECKPOINTS, patience=settings.patience, writes=distribution.is_first
    )
    checkpoint.history = distribution.processes.of_first(lambda: checkpoint.history)
    model = _begin(settings, vocabularies, checkpoint, distribution, jit_compile)
    callbacks = [
        StopOnDivergence(at_once=distribution.processes.are_several),
        SeedEachEpoch(settings.seed),
    ]
    return _Run(vocabularies, batches, validation_batches, model, checkpoint, callbacks)


def _fit(run, settings, distribution, verbose):
    """Train to the last epoch, starting at the first or at the checkpoint."""
    done = run.checkpoint.epochs
    if done >= settings.epochs or run.checkpoint.should_stop:
        return
    with distribution.scope():
        run.model.fit(
            run.batches.shuffled(settings.seed, done * settings.steps, distribution.part),
            validation_data=run.validation_batches.in_order(distribution.part),
            steps_per_epoch=settings.steps,
            initial_epoch=done,
            epochs=settings.epochs,
            shuffle=False,
            callbacks=[*run.callbacks, run.checkpoint],
            verbose=verbose,
        )


def _finish(run, folder, settings, config, distribution):
    """Return the translator of the best epoch, after writing it to the folder of the run."""
    best = build(settings, *run.vocabularies)

    def read():
        best.set_weights(load_model(run.checkpoint.last() / "best.keras").get_weights())

    distribution.broadcast(best, read)
    translator = Translator(best, *run.vocabularies, config)
    if distribution.is_first:
        _leave(folder, translator, run.checkpoint)
    distribution.processes.wait("the run is whole")
    return translator


def ensure(
    train_pairs: Sequence[Any],
    validation_pairs: Sequence[Any],
    folder: Path | str,
    settings: Settings | None = None,
    *,
    sources: dict[str, Any] | None = None,
    verbose: str | int = "auto",
) -> Translator:
    """Return the translator of a run: load it if the run has finished, else train it.

    Args:
        train_pairs: as for `train`.
        validation_pairs: as for `train`.
        folder: as for `train`; it may already hold the run, interrupted or finished.
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
        _check_same_run(folder, config, may_differ=())
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


def check_no_run(folder: Path | str) -> None:
    """Check that a folder is free for a new run.

    Raises:
        FileExistsError: it holds one, or the checkpoints of one.
    """
    if (Path(folder) / CONFIG_FILE).exists():
        raise FileExistsError(
            f"{folder} holds a run already: resume it (--resume) or choose another folder"
        )
    if (Path(folder) / CHECKPOINTS).exists():  # a new run would go on from them
        raise FileExistsError(
            f"{folder} holds the {CHECKPOINTS} of a run without its {CONFIG_FILE}: remove them or "
            "choose another folder"
        )


def read_settings(folder: Path | str) -> dict[str, Any]:
    """Return the settings of the run in a folder, and its `sources`, as one dictionary.

    Raises:
        FileNotFoundError: the folder holds no run.
        ValueError: its configuration is damaged or has another format.
    """
    config = _read_run(folder)
    return {**config["settings"], "sources": config["sources"]}


def _read_run(folder):
    """Return the configuration of the run in a folder, with its settings checked."""
    path = Path(folder) / CONFIG_FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} holds no run to resume; without --resume a new one begins there"
        )
    config = read_config(folder, RunFields)
    with naming(path):
        settings = asdict(Settings(**config["settings"]))
        if config["shapes"] is not None and config["shapes"] < 1:
            raise ValueError(f"shapes must be at least 1, got {config['shapes']}")
    return {**config, "settings": settings}


def check_model(settings: Settings) -> None:
    """Build the model of some settings with tiny vocabularies, before any lengthy work.

    Raises:
        ValueError: its settings conflict, or ask for more memory than there is.
    """
    check_size(settings)
    build(settings, SPECIAL_WORDS, SPECIAL_WORDS)


def check_size(
    settings: Settings,
    context_vocabulary: Sequence = SPECIAL_WORDS,
    target_vocabulary: Sequence = SPECIAL_WORDS,
    shape: tuple[int, int] = (2, 2),
    parts: int = 1,
) -> None:
    """Check that training fits into memory, before anything is allocated.

    Counted are the weights, their gradients and one moment, and the embeddings and logits of a
    batch: what training takes at least.

    Args:
        settings: `Settings`.
        context_vocabulary: the tokens of the context, at least.
        target_vocabulary: the tokens of the target, V, at least.
        shape: the largest (S, T) of a batch, at least.
        parts: among how many devices a batch is divided.

    Raises:
        ValueError: it does not fit; the message says what takes how much.
    """
    builder = builder_of(settings, context_vocabulary, target_vocabulary)
    [(name, number)] = settings.size.items()
    rows = number if name == "batch_size" else number // max(shape)
    rows = -(-rows // parts)
    weights = 3 * least_weights(builder)
    batch = rows * (sum(shape) * settings.units + shape[1] * len(target_vocabulary))
    numbers = {"vocabulary": settings.vocabulary, "units": settings.units, **settings.choices}
    sizes = [f"{name} {value:,}" for name, value in numbers.items() if type(value) is int]
    check_memory(
        BYTES * (weights + batch),
        f"training a model {settings.model} with {', '.join(sizes)} and {rows:,} sentences in a "
        "batch",
    )


def build(
    settings: Settings, context_vocabulary: Sequence, target_vocabulary: Sequence
) -> keras.Model:
    """Build the model of some settings for two vocabularies."""
    return build_model(builder_of(settings, context_vocabulary, target_vocabulary))


def compile_model(model: keras.Model, settings: Settings, **options: Any) -> None:
    """Compile a model with the loss, the optimizer and the learning rate of some settings.

    Args:
        model: what `build` returns.
        settings: `Settings`.
        **options: other arguments of `keras_attention.training.compile_for_training`.
    """
    compile_for_training(
        model,
        settings.learning_rate,
        warm_up=settings.warm_up,
        decay_steps=settings.epochs * settings.steps if settings.decay else None,
        label_smoothing=settings.label_smoothing,
        weight_decay=settings.weight_decay,
        optimizer=settings.optimizer,
        **options,
    )


def builder_of(
    settings: Settings, context_vocabulary: Sequence, target_vocabulary: Sequence
) -> dict[str, Any]:
    """Return what builds the model of some settings, as `Translator.save` writes it.

    Returns:
        `{"name": …, "arguments": {…}}`: a name in `models.BUILDERS`, and its arguments.
    """
    arguments = {
        "context_vocabulary_size": len(context_vocabulary),
        "target_vocabulary_size": len(target_vocabulary),
        "units": settings.units,
        "dtype": settings.dtype_policy,
        **settings.choices,
    }
    return {"name": settings.model, "arguments": arguments}


def _begin(settings, vocabularies, checkpoint, distribution, jit_compile):
    """Return the compiled model: new, or restored from the last epoch."""

    def read():
        path = checkpoint.last() / "model.keras"
        saved = load_model(path, compiled=True)
        if _shapes(saved) != _shapes(model):
            raise ValueError(f"{path} is of another model than the settings of this run describe")
        return saved

    with distribution.scope():
        model = build(settings, *vocabularies)
        compile_model(
            model,
            settings,
            crossentropy=distribution.crossentropy,
            jit_compile=jit_compile,
            steps_per_execution=steps_at_once(settings.steps) if distribution.shards == 1 else 1,
        )
    if checkpoint.epochs:
        distribution.restore(model, read)
    return model


def _shapes(model):
    """Return the shapes of the weights and of the optimizer's state."""
    optimizer = getattr(model, "optimizer", None)
    variables = [*model.weights, *(optimizer.variables if optimizer else ())]
    return [tuple(variable.shape) for variable in variables]


def _describe(train_pairs, validation_pairs, settings, sources):
    """Return the configuration to save with a run; raise an error if there are no pairs."""
    for name, pairs in (("train_pairs", train_pairs), ("validation_pairs", validation_pairs)):
        if not pairs:
            raise ValueError(
                f"{name} must hold at least one pair, got none; a corpus too small to be split "
                "needs a validation file of its own: --validation dev.tsv"
            )
    return {
        **_languages(sources),
        "settings": asdict(settings),
        "sources": sources or {},
        "corpus": {
            "train_pairs": len(train_pairs),
            "validation_pairs": len(validation_pairs),
            "sha256": corpora.fingerprint([*train_pairs, *validation_pairs]),
        },
    }


def _languages(sources):
    """Return the entry for the names of the languages, if the corpus is one with a name."""
    corpus = (sources or {}).get("corpus")
    return {"languages": corpora.LANGUAGES} if corpus in corpora.KNOWN else {}


def _sample(pairs, number):
    """Return this number of pairs, evenly spaced in the list."""
    number = min(number, len(pairs))
    return [pairs[place * len(pairs) // number] for place in range(number)]


def asks_for_xla(jit_compile: bool | None, settings: Settings) -> bool:
    """Return whether XLA compiles the steps even on a CPU under TensorFlow.

    Args:
        jit_compile: as for `train`.
        settings: of the run.
    """
    return settings.model in LOOPS if jit_compile is None else jit_compile


def _compiles(jit_compile, settings, distribution):
    """Return whether XLA compiles the steps."""
    has_xla = distribution.has_xla and keras.backend.backend() != "torch"
    if jit_compile is None:
        return has_xla and (asks_for_xla(jit_compile, settings) or uses_xla())
    if jit_compile and not has_xla:
        where = "under tf.distribute" if distribution.engine else "on the PyTorch backend"
        raise ValueError(f"XLA cannot compile steps {where}: jit_compile must be False, got True")
    return jit_compile


def _most_shapes(folder, settings, resume, jit_compile):
    """Return the largest number of shapes, None if any; a resumed run keeps its own."""
    if resume and (folder / CONFIG_FILE).is_file():
        return _read_run(folder)["shapes"]
    if settings.shapes:
        return settings.shapes
    if not jit_compile:
        return None  # a shape more costs nothing
    return min(1 + settings.epochs * settings.steps // STEPS_A_SHAPE, corpora.MOST_SHAPES)


@contextmanager
def _begun(folder, config, resume):
    """Check the folder of a run before any lengthy work, and write its configuration."""
    if resume:
        if (folder / HISTORY_FILE).is_file():
            remove(folder / CHECKPOINTS)  # what is left of them, if the run was killed at its end
            raise ValueError(f"the run in {folder} has finished; there is nothing to resume")
        _check_same_run(folder, config)
    else:
        check_no_run(folder)
    with written_whole(folder / CONFIG_FILE) as path:  # a resumed run may have more epochs
        path.write_text(config_text(config, RunFields), encoding="utf-8")
        yield


def _check_same_run(folder, config, may_differ=("epochs",)):
    before = _read_run(folder)
    if before["corpus"] != config["corpus"]:
        raise ValueError(
            f"the run in {folder} was trained on other sentence pairs: expected "
            f"{before['corpus']}, got {config['corpus']}"
        )
    if before["settings"]["decay"]:  # the learning rate depends on the number of epochs
        may_differ = ()
    changed = [
        f"{name} {value!r}, got {config['settings'][name]!r}"
        for name, value in before["settings"].items()
        if name not in may_differ and config["settings"][name] != value
    ]
    if changed:
        raise ValueError(f"the run in {folder} has other settings: expected {'; '.join(changed)}")


def _leave(folder, translator, checkpoint):
    """Write the curves, the translator and the history, and remove the checkpoints."""
    plot_history(
        {name: curve for name, curve in checkpoint.history.items() if "masked" in name},
        monitor=checkpoint.monitor,
        path=folder / CURVES_FILE,
    )
    vocabularies = translator.context_vocabulary, translator.target_vocabulary
    parts = Parts(translator.model, *vocabularies, translator.config)
    write(folder, parts, history=checkpoint.history)
    remove(folder / CHECKPOINTS)
