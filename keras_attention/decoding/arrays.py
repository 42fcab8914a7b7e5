"""What a search computes with: NumPy for arrays of NumPy, `keras.ops` for tensors.

A step that is not traced returns arrays of NumPy. Handing each of these small arrays to the backend
of Keras and back would take longer than the step.
"""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from keras import ops

from keras_attention.types import Array


def namespace(array: Array) -> ModuleType | SimpleNamespace:
    """Return the functions for an array: `keras.ops`, or those of NumPy by the same names."""
    return NUMPY if isinstance(array, np.ndarray) else ops


def as_given(array: Array, results: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return results of `keras.ops` as arrays of NumPy if they come from one, else as they are."""
    is_numpy = isinstance(array, np.ndarray)
    return tuple(map(ops.convert_to_numpy, results)) if is_numpy else results


def _cast(x: Any, dtype: str) -> np.ndarray:
    return np.asarray(x).astype(dtype)


def _top_k(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest numbers of each row, largest first, and their places."""
    places = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, axis=-1), places


NUMPY = SimpleNamespace(
    **{
        name: getattr(np, name)
        for name in (
            *("any", "arange", "concatenate", "full", "logical_and", "logical_not", "logical_or"),
            *("reshape", "shape", "sum", "take", "take_along_axis", "where", "zeros"),
        )
    },
    cast=_cast,
    top_k=_top_k,
)
