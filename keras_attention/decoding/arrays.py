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


def places_of_largest(values: Array, count: int) -> Array:
    """Return the indices (B, count) of the largest values (B, N), largest first."""
    if isinstance(values, np.ndarray):
        return np.argsort(-values, axis=1, kind="stable")[:, :count].astype("int32")
    return ops.cast(ops.top_k(values, count)[1], "int32")


def at_places(array: Array, places: Array) -> Array:
    """Return what each row has at its indices: (B, N, …) and (B, M) → (B, M, …)."""
    if isinstance(array, np.ndarray):
        return array[np.arange(len(array))[:, None], places]
    for _ in array.shape[2:]:
        places = places[..., None]
    return ops.take_along_axis(array, places, axis=1)


def _cast(x: Any, dtype: str) -> np.ndarray:
    return np.asarray(x).astype(dtype)


NUMPY = SimpleNamespace(
    **{
        name: getattr(np, name)
        for name in (
            *("any", "arange", "concatenate", "full", "logical_and", "logical_not", "logical_or"),
            *("reshape", "shape", "sum", "take", "where", "zeros"),
        )
    },
    cast=_cast,
)
