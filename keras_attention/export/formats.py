"""The formats by name, with their requirements; folders appear whole or not at all."""

import importlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_attention.installing import missing, pip_install
from keras_attention.storage import remove, written_whole

if TYPE_CHECKING:  # it loads Keras, before the command line has chosen a backend
    from keras_attention.translation.translator import Translator


class Format(NamedTuple):
    """An export format.

    Attributes:
        writer: module and function in this subpackage, `writer(translator, folder, **options)`.
        needs: packages that the function imports, beyond the requirements of this package.
        extra: the extra of this package that installs them; None if none are needed.
        mark: a file that identifies a folder of this format.
        options: names of the options of the function.
    """

    writer: str
    needs: tuple[str, ...]
    extra: str | None
    mark: str
    options: tuple[str, ...]


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


def check_export(kind: str, path: Path | str, *, force: bool = False, **options: Any) -> None:
    """Check the arguments of an export before the model is loaded.

    Args:
        kind: name of a format.
        path: the folder to write.
        force: whether an earlier export may be replaced.
        **options: options of the format.

    Raises:
        ValueError: there is no such format, or it has no such option.
        OSError: the path, or a folder above it, is something that must not be replaced.
        ImportError: a library is missing; the message says what to install.
    """
    path = Path(path)
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    chosen = FORMATS[kind]
    foreign = [name for name in options if name not in chosen.options]
    if foreign:
        raise ValueError(
            f"{kind} has no {foreign[0]}: the program that runs the model chooses it, got "
            f"{options[foreign[0]]}"
        )
    lacking = missing(chosen.needs)
    if lacking and chosen.extra:
        raise ImportError(f"{kind} needs {', '.join(lacking)}: {pip_install(chosen.extra)}")
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file, expected a folder to write")
    if path.exists() and not force:
        raise FileExistsError(
            f"{path} exists already: choose another folder, or replace it with --force"
        )
    marks = [each.mark for each in FORMATS.values()]
    if path.exists() and any(path.iterdir()) and not any((path / mark).is_file() for mark in marks):
        raise FileExistsError(
            f"{path} must be empty or an earlier export, got a folder with other files"
        )


def export(
    translator: "Translator",
    kind: str,
    path: Path | str,
    *,
    force: bool = False,
    **options: Any,
) -> None:
    """Write a translator in a format, as a folder that appears whole or not at all.

    Args:
        translator: a `Translator`.
        kind: `"saved-model"`, `"onnx"` or `"ctranslate2"`.
        path: the folder to write; its parents are created if needed.
        force: whether to replace an earlier export.
        **options: options of the format: `max_length` for the first two, `beam` and
            `length_penalty` for the first.

    Raises:
        ValueError: an option is out of range, the format does not support the model, or it needs
            another backend of Keras.
        OSError: the path is something that must not be replaced, or cannot be written.
        ImportError: a library is missing; the message says what to install.
    """
    check_export(kind, path, force=force, **options)
    module, function = FORMATS[kind].writer.split(".")
    write = getattr(importlib.import_module(f"keras_attention.export.{module}"), function)
    with _whole(Path(path)) as folder:
        write(translator, folder, **options)


def check_backend(kind: str) -> None:
    """Check that Keras runs on TensorFlow.

    Raises:
        ValueError: it does not.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"{kind} needs TensorFlow's graphs: set KERAS_BACKEND=tensorflow before Keras is "
            f"imported, got the backend {keras.backend.backend()}"
        )


@contextmanager
def _whole(path):
    """Yield a new folder beside `path`; at the end move it to `path`, in place of an old one."""
    if not path.exists():
        with written_whole(path) as beside:
            yield beside
        return
    fresh, old = (path.with_name(f".{state}-{path.name}") for state in ("fresh", "old"))
    for left in (fresh, old):  # left by a process that was killed
        remove(left)
    with written_whole(fresh) as beside:
        yield beside
    os.replace(path, old)
    os.replace(fresh, path)
    remove(old)
