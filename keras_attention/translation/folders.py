"""The folder of a translator: its files, written whole and read with care.

A folder that `train` wrote holds `model.keras`. A folder of a finished translator, such as those
that come with the package, holds `weights.npz` instead: float16 numbers, a quarter of the size,
which load without unpickling. The name of the builder and its arguments are in `config.json`, so
that any version of Keras can make the model.
"""

import hashlib
import json
import textwrap
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attention import __version__, models
from keras_attention.menu import TRANSLATORS
from keras_attention.storage import bundled, written_whole
from keras_attention.text import KINDS, Vocabulary, WordPieces

FORMAT = 2
MODEL_FILE, WEIGHTS_FILE, CONFIG_FILE = "model.keras", "weights.npz", "config.json"
CONTEXT_FILE, TARGET_FILE = "context_vocabulary.txt", "target_vocabulary.txt"
KNOWN_FILE = "known_words.txt"  # of the context, if its vocabulary has pieces


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


def write(folder: Path | str, parts: Parts, builder: Mapping[str, Any] | None = None) -> None:
    """Write the folder of a translator, whole or not at all.

    Args:
        folder: created if needed; files of the same names are replaced.
        parts: the translator.
        builder: `{"name": …, "arguments": {…}}`, a name in `models.BUILDERS` and what it was called
            with, to write float16 weights in place of `model.keras`.

    Raises:
        ValueError: a weight is too large for float16.
    """
    config = {
        "format": FORMAT,
        "keras_attention": __version__,
        **parts.config,
        "tokens": parts.context_vocabulary.kind,
        "vocabularies": _fingerprints(parts),
    }
    with ExitStack() as stack:

        def whole(name):
            return stack.enter_context(written_whole(Path(folder) / name))

        if builder is None:
            parts.model.save(whole(MODEL_FILE))
        else:
            path = whole(WEIGHTS_FILE)
            _write_weights(parts.model, path)
            config |= {"builder": dict(builder), "sha256": _sha256(path)}
        parts.context_vocabulary.save(whole(CONTEXT_FILE))
        parts.target_vocabulary.save(whole(TARGET_FILE))
        if parts.context_vocabulary.known:
            known = "".join(f"{word}\n" for word in sorted(parts.context_vocabulary.known))
            whole(KNOWN_FILE).write_text(known, encoding="utf-8")
        text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
        whole(CONFIG_FILE).write_text(text, encoding="utf-8")


def read(folder: Path | str) -> Parts:
    """Read the folder of a translator.

    Args:
        folder: a folder that `write` wrote, or the name of a translator that comes with the
            package.

    Raises:
        FileNotFoundError: the folder or one of its files is missing; the message says which.
        ValueError: a newer version wrote it, or a file is damaged.
    """
    folder = folder_of(folder)
    weights = WEIGHTS_FILE if (folder / WEIGHTS_FILE).is_file() else MODEL_FILE
    names = (CONFIG_FILE, weights, CONTEXT_FILE, TARGET_FILE)
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"the model folder {folder} is incomplete: {', '.join(missing)} missing"
        )
    config = read_config(folder)
    tokens = KINDS.get(config.get("tokens", "word"))
    if tokens is None:
        raise ValueError(
            f"{folder / CONFIG_FILE}: tokens must be one of {', '.join(KINDS)}, got "
            f"{config['tokens']!r}"
        )
    read_model = _build if weights == WEIGHTS_FILE else _load_model
    model = read_model(folder, config)
    parts = Parts(
        model, tokens.load(folder / CONTEXT_FILE), tokens.load(folder / TARGET_FILE), config
    )
    if (folder / KNOWN_FILE).is_file():
        known = (folder / KNOWN_FILE).read_text(encoding="utf-8").splitlines()
        parts.context_vocabulary.known = frozenset(known)
    got = _fingerprints(parts)
    for name, fingerprint in dict(config.get("vocabularies", {})).items():
        if got.get(name) != fingerprint:
            raise ValueError(
                f"{folder / name} is not the vocabulary that this model was saved with: "
                f"expected one with sha256 {fingerprint[:12]}…, got {got.get(name, '')[:12]}…"
            )
    return parts


def read_config(folder: Path | str) -> dict[str, Any]:
    """Read the configuration of a model folder.

    Raises:
        ValueError: it is not valid JSON, or has another version of the format.
    """
    path = Path(folder) / CONFIG_FILE
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        version = config["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the configuration of a model: {error!r}") from error
    if version != FORMAT:
        raise ValueError(
            f"{path} has format {version}, this version of keras_attention reads {FORMAT}; "
            f"it was written by keras_attention {config.get('keras_attention', '?')}"
        )
    return config


def _load_model(folder, config):
    """Load a model that Keras saved."""
    del config
    try:
        return keras.saving.load_model(folder / MODEL_FILE, compile=False)
    except (
        ValueError,
        TypeError,
        KeyError,
        OSError,
        RuntimeError,
        zipfile.BadZipFile,
    ) as error:
        reason = textwrap.shorten(str(error), 300, placeholder=" …")
        raise ValueError(f"{folder / MODEL_FILE} cannot be loaded: {reason}") from error


def _build(folder, config):
    """Build a model and give it the weights of its file."""
    path = folder / WEIGHTS_FILE
    expected, got = config.get("sha256"), _sha256(path)
    if got != expected:
        raise ValueError(
            f"{path} is not the file that was written: expected one with sha256 "
            f"{str(expected)[:12]}…, got {got[:12]}…"
        )
    try:
        builder = config["builder"]
        model = models.BUILDERS[builder["name"]](**builder["arguments"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder / CONFIG_FILE} does not say how to build the model: {error!r}"
        ) from error
    with np.load(path, allow_pickle=False) as weights:
        arrays = [weights[name].astype("float32") for name in sorted(weights)]
    shapes = [tuple(array.shape) for array in arrays]
    if shapes != [tuple(weight.shape) for weight in model.weights]:
        raise ValueError(f"{path} has weights of another model than {CONFIG_FILE} describes")
    model.set_weights(arrays)
    return model


def _write_weights(model, path):
    """Write the weights as float16, numbered in the order of the model."""
    weights = model.get_weights()
    for number, array in enumerate(weights):
        if not np.abs(array).max() <= np.finfo("float16").max:
            raise ValueError(f"weight {number} has numbers beyond float16, in {array.shape}")
    with path.open("wb") as file:  # given a path, NumPy would add an ending of its own
        arrays = {f"{n:04d}": array.astype("float16") for n, array in enumerate(weights)}
        np.savez_compressed(file, **arrays)


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fingerprints(parts):
    """Return a hash of each vocabulary by the name of its file."""
    vocabularies = {CONTEXT_FILE: parts.context_vocabulary, TARGET_FILE: parts.target_vocabulary}
    return {
        name: hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()
        for name, vocabulary in vocabularies.items()
    }
