"""The folder of a translator: its files, written whole and read with care.

A folder that `train` wrote holds `model.keras`. A folder of a finished translator, such as those
that come with the package, holds `weights.npz` instead: float16 numbers, a quarter of the size,
which load without unpickling. The name of the builder and its arguments are in `config.json`, so
that any version of Keras can make the model.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attention import __version__
from keras_attention.menu import TRANSLATORS
from keras_attention.storage import (
    bundled,
    check_archive,
    check_files,
    check_present,
    sha256_of,
    written_whole,
)
from keras_attention.text import KINDS, Vocabulary, WordPieces
from keras_attention.translation.builders import build, load_model
from keras_attention.translation.configuration import (
    CONFIG_FILE,
    TranslatorFields,
    config_text,
    read_config,
)

MODEL_FILE, WEIGHTS_FILE = "model.keras", "weights.npz"
CONTEXT_FILE, TARGET_FILE = "context_vocabulary.txt", "target_vocabulary.txt"
KNOWN_FILE = "known_words.txt"  # of the context, if its vocabulary has pieces
HISTORY_FILE = "history.json"  # of the training, if a run wrote the folder


class Parts(NamedTuple):
    """What a folder holds: the model, both vocabularies, and the configuration."""

    model: keras.Model
    context_vocabulary: Vocabulary | WordPieces
    target_vocabulary: Vocabulary | WordPieces
    config: dict[str, Any]


def folder_of(name: Path | str) -> Path:
    """Return the folder of a translator that comes with the package, or the folder itself.

    Raises:
        FileNotFoundError: there is no such translator or folder.
    """
    if str(name) in TRANSLATORS:
        return bundled("translators", str(name))
    if not Path(name).is_dir():
        raise FileNotFoundError(
            f"there is no model folder {name}; the package comes with {', '.join(TRANSLATORS)}"
        )
    return Path(name)


def write(
    folder: Path | str,
    parts: Parts,
    builder: Mapping[str, Any] | None = None,
    history: Mapping[str, Any] | None = None,
) -> None:
    """Write the folder of a translator, whole or not at all.

    The configuration holds the hash of every other file. It appears after them, and the history
    last, so that a folder with a history is whole.

    Args:
        folder: created if needed; files of the same names are replaced.
        parts: the translator.
        builder: `{"name": …, "arguments": {…}}`, a name in `models.BUILDERS` and what it was called
            with, to write float16 weights in place of `model.keras`.
        history: the curves of the training by their names, to write as `history.json`.

    Raises:
        ValueError: a weight is too large for float16, or a field of the configuration has another
            type than its own.
    """
    written = {}
    with ExitStack() as stack:

        def whole(name):
            written[name] = stack.enter_context(written_whole(Path(folder) / name))
            return written[name]

        # What is opened first appears last
        if history is not None:
            _write_text(whole(HISTORY_FILE), json.dumps(history, indent=2) + "\n")
        config_path = stack.enter_context(written_whole(Path(folder) / CONFIG_FILE))
        parts.context_vocabulary.save(whole(CONTEXT_FILE))
        parts.target_vocabulary.save(whole(TARGET_FILE))
        if parts.context_vocabulary.known:
            known = "".join(f"{word}\n" for word in sorted(parts.context_vocabulary.known))
            _write_text(whole(KNOWN_FILE), known)
        if builder is None:
            parts.model.save(whole(MODEL_FILE))
        else:
            _write_weights(parts.model, whole(WEIGHTS_FILE))
        config = {
            **parts.config,
            "keras_attention": __version__,
            "tokens": parts.context_vocabulary.kind,
            "files": {name: sha256_of(path) for name, path in sorted(written.items())},
            "builder": builder and dict(builder),
        }
        _write_text(config_path, config_text(config, TranslatorFields))


def read(folder: Path | str) -> Parts:
    """Read the folder of a translator.

    Args:
        folder: a folder that `write` wrote, or the name of a translator that comes with the
            package.

    Raises:
        FileNotFoundError: the folder or one of its files is missing; the message says which.
        ValueError: another version of the format wrote it, or a file has changed since; the
            message names it.
    """
    folder = folder_of(folder)
    weights = WEIGHTS_FILE if (folder / WEIGHTS_FILE).is_file() else MODEL_FILE
    check_present(folder, (CONFIG_FILE, weights, CONTEXT_FILE, TARGET_FILE))
    config = read_config(folder, TranslatorFields)
    _check_names(config, folder / CONFIG_FILE)
    check_files(folder, config["files"])
    tokens = KINDS[config["tokens"]]
    model = _build(folder, config["builder"]) if config.get("builder") else _load(folder)
    parts = Parts(
        model, tokens.load(folder / CONTEXT_FILE), tokens.load(folder / TARGET_FILE), config
    )
    if KNOWN_FILE in config["files"]:
        known = (folder / KNOWN_FILE).read_text(encoding="utf-8").splitlines()
        parts.context_vocabulary.known = frozenset(known)
    return parts


def _check_names(config, path):
    """Check the kind of tokens, and that the hashes are those of the files that are read."""
    if config["tokens"] not in KINDS:
        raise ValueError(
            f"{path}: tokens must be one of {', '.join(KINDS)}, got {config['tokens']!r}"
        )
    needed = {CONTEXT_FILE, TARGET_FILE, WEIGHTS_FILE if config.get("builder") else MODEL_FILE}
    allowed = needed | {KNOWN_FILE, HISTORY_FILE}
    if not needed <= set(config["files"]) <= allowed:
        raise ValueError(
            f"{path}: files must hold the hashes of {', '.join(sorted(needed))}, got those of "
            f"{', '.join(sorted(config['files'])) or 'none'}"
        )


def _load(folder):
    """Load a model that Keras saved."""
    path = folder / MODEL_FILE
    model = load_model(path)
    _check_finite(model.get_weights(), path)
    return model


def _build(folder, builder):
    """Build a model and give it the weights of its file."""
    path = folder / WEIGHTS_FILE
    arrays = _read_weights(path)
    _check_finite(arrays, path)
    try:
        model = build(builder)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{folder / CONFIG_FILE} does not say how to build the model: {error}"
        ) from error
    shapes = [tuple(array.shape) for array in arrays]
    if shapes != [tuple(weight.shape) for weight in model.weights]:
        raise ValueError(f"{path} has weights of another model than {CONFIG_FILE} describes")
    model.set_weights(arrays)
    return model


def _read_weights(path):
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as weights:
            return [weights[name].astype("float32") for name in sorted(weights)]
    except Exception as error:  # a damaged file may raise anything, from any of its readers
        raise ValueError(f"{path} cannot be loaded: {error!r}") from error


def _check_finite(arrays, path):
    for number, array in enumerate(arrays):
        if not np.isfinite(array).all():
            raise ValueError(
                f"{path} must have finite weights, got NaN or infinity in weight {number} of shape "
                f"{array.shape}"
            )


def _write_text(path, text):
    path.write_text(text, encoding="utf-8")


def _write_weights(model, path):
    """Write the weights as float16, numbered in the order of the model."""
    weights = model.get_weights()
    for number, array in enumerate(weights):
        if not np.abs(array).max() <= np.finfo("float16").max:
            raise ValueError(f"weight {number} has numbers beyond float16, in {array.shape}")
    with path.open("wb") as file:  # given a path, NumPy would add an ending of its own
        arrays = {f"{n:04d}": array.astype("float16") for n, array in enumerate(weights)}
        np.savez_compressed(file, **arrays)
