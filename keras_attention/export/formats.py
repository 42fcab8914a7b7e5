"""The formats by name: what each needs, and how a folder of it is written whole."""

import importlib
import os
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from keras_attention.installing import pip_install
from keras_attention.storage import remove, written_whole


class Format(NamedTuple):
    """A format that a translator can be written in.

    Attributes:
        writer: module of this room and its function, `writer(translator, folder, **options)`.
        needs: packages that the function imports, beyond those that this package requires.
        extra: the extra of this package that installs them.
        mark: a file by which a folder of this format is known.
        options: names of the options of the function.
    """

    writer: str
    needs: tuple
    extra: str | None
    mark: str
    options: tuple


FORMATS = {
    "saved-model": Format(
        "saved_model.write_saved_model",
        (),
        None,
        "saved_model.pb",
        ("max_length", "beam", "length_penalty"),
    ),
    "onnx": Format(
        "onnx_graphs.write_onnx", ("onnx", "tf2onnx"), "onnx", "step.onnx", ("max_length",)
    ),
    "ctranslate2": Format(
        "ctranslate2_model.write_ctranslate2", ("ctranslate2",), "ctranslate2", "model.bin", ()
    ),
}


def check_export(kind, path, *, force=False, **options):
    """Check what can be checked before a model is there.

    Args:
        kind: name of a format.
        path: the folder to write.
        force: whether a folder that was exported before may be replaced.
        **options: of the format.

    Raises:
        ValueError: there is no such format, or it has no such option.
        OSError: something is at the path, or above it, that must stay.
        ImportError: a library is missing; the message says what to install.
    """
    path = Path(path)
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    chosen = FORMATS[kind]
    foreign = [name for name in options if name not in chosen.options]
    if foreign:
        raise ValueError(
            f"{kind} has no {foreign[0]}: the program that runs it decides that, got "
            f"{options[foreign[0]]}"
        )
    missing = [name for name in chosen.needs if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"{kind} needs {', '.join(missing)}, not installed here: {pip_install(chosen.extra)}"
        )
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file, expected a folder to write")
    if path.exists() and not force:
        raise FileExistsError(f"{path} is there already: name another, or replace it with --force")
    marks = [each.mark for each in FORMATS.values()]
    if path.exists() and any(path.iterdir()) and not any((path / mark).is_file() for mark in marks):
        raise FileExistsError(f"{path} holds something else than an export, and stays")


def export(translator, kind, path, *, force=False, **options):
    """Write a translator in a format, as a folder that is there whole or not at all.

    Args:
        translator: a `Translator`.
        kind: `"saved-model"`, `"onnx"` or `"ctranslate2"`.
        path: the folder to write; what holds it is made if needed.
        force: whether a folder that was exported before is replaced.
        **options: of the format: `max_length` for the first two, and `beam` and `length_penalty`
            for the first.

    Raises:
        ValueError: an option is out of range, the format cannot hold such a model, or Keras has
            another backend than the format needs.
        OSError: something is at the path that must stay, or it cannot be written.
        ImportError: a library is missing; the message says what to install.
    """
    check_export(kind, path, force=force, **options)
    module, function = FORMATS[kind].writer.split(".")
    write = getattr(importlib.import_module(f"keras_attention.export.{module}"), function)
    with _whole(Path(path)) as folder:
        write(translator, folder, **options)


def check_backend(kind):
    """Check that Keras computes with TensorFlow.

    Raises:
        ValueError: it does not.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"{kind} is made of TensorFlow's graphs: set KERAS_BACKEND=tensorflow before Keras is "
            f"imported, got the backend {keras.backend.backend()}"
        )


@contextmanager
def _whole(path):
    """Give a folder beside `path` to write, and put it there at the end; an old one goes then."""
    if not path.exists():
        with written_whole(path) as beside:
            yield beside
        return
    fresh, old = (path.with_name(f".{state}-{path.name}") for state in ("fresh", "old"))
    for left in (fresh, old):  # by a process that was killed
        remove(left)
    with written_whole(fresh) as beside:
        yield beside
    os.replace(path, old)
    os.replace(fresh, path)
    remove(old)
