"""What computes a command: ONNX Runtime, NumPy or single operations, in place of programs.

Importing TensorFlow and compiling take longer than translating hundreds of sentences, and longer
than translating thousands where ONNX Runtime does it.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_attention.installing import missing
from keras_attention.menu import KERAS, NEEDS_OF_ONNX_RUNTIME, ONNX_RUNTIME, TRANSLATORS
from keras_attention.storage import bundled, read_json
from keras_attention.translation.configuration import CONFIG_FILE

if TYPE_CHECKING:  # it loads Keras
    from keras_attention.translation.translator import Translator

SEVERAL_SENTENCES = 8  # for fewer, ONNX Runtime is imported and prepared in vain
FEW_SENTENCES = 500
_COMPUTED = ("rnn", "transformer")  # Keras has no loop for NumPy that also returns weights
# Keras imports them where they are installed; a translation without a picture needs none of them
_SPARED = ("tensorflow", "matplotlib.pyplot", "IPython", "pandas")
# Where the system shows its devices, and which of them are GPUs and TPUs
_DEVICES = Path("/dev")
_ACCELERATORS = ("nvidia[0-9]*", "kfd", "accel*", "vfio/[0-9]*")


def choose(translator: str, sentences: Sequence[str], runtime: str | None = None) -> None:
    """Let Keras compute with NumPy if it is sooner done; call this before Keras is imported.

    So for few sentences and an RNN or a Transformer in float32; and on a machine without an
    accelerator also for many, if ONNX Runtime is to translate them with a Transformer. Keras' NumPy
    backend needs JAX. Without JAX, and where the user has chosen a backend, nothing changes.

    Args:
        translator: the name of a translator, or its folder.
        sentences: what it is to translate, without a picture, which may ask for gradients.
        runtime: what the user has chosen, as for `without_compiling`.
    """
    model = _model_in_float32(translator)
    is_sooner = len(sentences) <= FEW_SENTENCES and model in _COMPUTED
    if runtime != KERAS and model == "transformer" and _has_onnx_runtime():
        is_sooner = is_sooner or not _has_accelerator()
    if not is_sooner or "keras" in sys.modules or _is_backend_chosen() or not _has_jax():
        return
    os.environ["KERAS_BACKEND"] = "numpy"
    for name in _SPARED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # "it is not installed"
    import numpy as np

    np.seterr(all="ignore")  # the other backends do not warn of overflow either


def without_compiling(
    translator: "Translator", sentences: Sequence[Any], runtime: str | None = None
) -> "Translator":
    """Let a translator do without programs if compiling them takes longer than they save.

    On a CPU, ONNX Runtime translates several sentences, if it can. Otherwise TensorFlow computes
    few sentences one operation after the other; JAX would compile every operation.

    Args:
        translator: a `Translator`.
        sentences: what it is to translate.
        runtime: what the user has chosen, one of `menu.RUNTIMES`; None: what is sooner done.

    Raises:
        ImportError: the runtime is not installed.
        ValueError: there is no such runtime, or it does not compute such a model.
    """
    import keras

    from keras_attention import graphs

    is_sooner = len(sentences) > SEVERAL_SENTENCES and not _has_accelerator()
    if runtime is None and is_sooner and graphs.can_compute(translator.model):
        runtime = ONNX_RUNTIME
    translator.runtime = runtime or KERAS
    few = len(sentences) <= FEW_SENTENCES
    translator.run_eagerly = few and keras.backend.backend() == "tensorflow"
    return translator


def _model_in_float32(translator):
    """Return what kind of model a translator has, by the settings of its run; None if unknown."""
    folder = bundled("translators", translator) if translator in TRANSLATORS else Path(translator)
    if not (folder / CONFIG_FILE).is_file():  # a pipe would not end
        return None
    try:
        settings = read_json(folder / CONFIG_FILE)["settings"]
        return settings["model"] if settings["dtype_policy"] == "float32" else None
    except (OSError, ValueError, LookupError, TypeError):  # loading it says what is wrong
        return None


def _has_onnx_runtime():
    return not missing(NEEDS_OF_ONNX_RUNTIME)


def _has_accelerator():
    """Return whether the machine has a GPU or a TPU, without a library that would look for it."""
    return any(any(_DEVICES.glob(pattern)) for pattern in _ACCELERATORS)


def _is_backend_chosen():
    """Return whether a variable or the configuration of Keras names a backend of its own."""
    if os.environ.get("KERAS_BACKEND"):
        return True
    folder = os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras")
    with suppress(OSError, ValueError, AttributeError):  # Keras says what is wrong with its file
        return read_json(Path(folder, "keras.json")).get("backend", "tensorflow") != "tensorflow"
    return False


def _has_jax():
    try:
        importlib.import_module("jax")
    except Exception:  # with a jaxlib that does not belong to it, it raises anything
        return False
    return True
