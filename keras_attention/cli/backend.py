"""What computes a command: NumPy or single operations, where compiled programs come too late.

For a few hundred sentences, importing TensorFlow and compiling take longer than translating.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_attention.menu import TRANSLATORS
from keras_attention.storage import bundled, read_json
from keras_attention.translation.configuration import CONFIG_FILE

if TYPE_CHECKING:  # it loads Keras
    from keras_attention.translation.translator import Translator

FEW_SENTENCES = 500
_COMPUTED = ("rnn", "transformer")  # Keras has no loop for NumPy that also returns weights
# Keras imports them where they are installed; a translation without a picture needs none of them
_SPARED = ("tensorflow", "matplotlib.pyplot", "IPython", "pandas")


def choose(translator: str, sentences: Sequence[str]) -> None:
    """Let Keras compute with NumPy if it is sooner done; call this before Keras is imported.

    So for few sentences and an RNN or a Transformer in float32. Keras' NumPy backend needs JAX.
    Without JAX, and where the user has chosen a backend, nothing changes.

    Args:
        translator: the name of a translator, or its folder.
        sentences: what it is to translate, without a picture, which may ask for gradients.
    """
    is_sooner = len(sentences) <= FEW_SENTENCES and _can_compute(translator)
    if not is_sooner or "keras" in sys.modules or _is_backend_chosen() or not _has_jax():
        return
    os.environ["KERAS_BACKEND"] = "numpy"
    for name in _SPARED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # "it is not installed"
    import numpy as np

    np.seterr(all="ignore")  # the other backends do not warn of overflow either


def without_compiling(translator: "Translator", sentences: Sequence[Any]) -> "Translator":
    """Let a translator do without programs if compiling them takes longer than they save.

    So for few sentences on TensorFlow; JAX would compile every single operation.
    """
    import keras

    is_sooner = keras.backend.backend() == "tensorflow" and len(sentences) <= FEW_SENTENCES
    translator.run_eagerly = is_sooner
    return translator


def _can_compute(translator):
    """Return whether Keras can compute a translator with NumPy, by the settings of its run."""
    folder = bundled("translators", translator) if translator in TRANSLATORS else Path(translator)
    if not (folder / CONFIG_FILE).is_file():  # a pipe would not end
        return False
    try:
        settings = read_json(folder / CONFIG_FILE)["settings"]
        return settings["model"] in _COMPUTED and settings["dtype_policy"] == "float32"
    except (OSError, ValueError, LookupError, TypeError):  # loading it says what is wrong
        return False


def _is_backend_chosen():
    """Return whether a variable or the configuration of Keras names a backend of its own."""
    if os.environ.get("KERAS_BACKEND"):
        return True
    folder = os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser()
    with suppress(OSError, ValueError, AttributeError):  # Keras says what is wrong with its file
        return read_json(Path(folder, "keras.json")).get("backend", "tensorflow") != "tensorflow"
    return False


def _has_jax():
    try:
        importlib.import_module("jax")
    except Exception:  # with a jaxlib that does not belong to it, it raises anything
        return False
    return True
