"""What computes a command: NumPy or single operations, where compiled programs come too late.

For some hundred sentences it takes longer to import TensorFlow and to compile than to translate.
"""

import importlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from keras_attention.menu import TRANSLATORS

if TYPE_CHECKING:  # it loads Keras
    from keras_attention.translation.translator import Translator

FEW_SENTENCES = 500
# Keras imports them where they are installed; a translation without a picture needs none of them
_SPARED = ("tensorflow", "matplotlib.pyplot", "IPython", "pandas")


def choose(translator: str, sentences: Sequence[str]) -> None:
    """Let Keras compute with NumPy if it is sooner done; call this before Keras is imported.

    So for few sentences and the translators that come with the package: NumPy has no gradients, nor
    can Keras compute every layer with it. Keras' NumPy backend needs JAX. Without JAX, and where
    the user has chosen a backend, nothing changes.

    Args:
        translator: the name of a translator, or its folder.
        sentences: what it is to translate, without a picture.
    """
    can_be = translator in TRANSLATORS and len(sentences) <= FEW_SENTENCES
    if not can_be or "keras" in sys.modules or _is_backend_chosen() or not _has_jax():
        return
    os.environ["KERAS_BACKEND"] = "numpy"
    for name in _SPARED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # "it is not installed"
    import numpy as np

    np.seterr(all="ignore")  # the other backends do not warn of overflow either


def without_compiling(translator: "Translator", sentences: Sequence[str]) -> "Translator":
    """Let a translator do without programs if compiling them takes longer than they save.

    So for few sentences on TensorFlow; JAX would compile every single operation.
    """
    import keras

    is_sooner = keras.backend.backend() == "tensorflow" and len(sentences) <= FEW_SENTENCES
    translator.run_eagerly = is_sooner
    return translator


def _is_backend_chosen():
    """Return whether a variable or the configuration of Keras names a backend of its own."""
    if os.environ.get("KERAS_BACKEND"):
        return True
    folder = os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser()
    with suppress(OSError, ValueError, AttributeError):  # Keras says what is wrong with its file
        written = json.loads(Path(folder, "keras.json").read_text(encoding="utf-8"))
        return written.get("backend", "tensorflow") != "tensorflow"
    return False


def _has_jax():
    try:
        importlib.import_module("jax")
    except Exception:  # with a jaxlib that does not belong to it, it raises anything
        return False
    return True
