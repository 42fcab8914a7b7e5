"""Precision: scores, weights and positions are computed in float32, or in float64 on request.

half precision → float32;   float64 → float64
"""

import keras
import numpy as np
from keras import ops

from keras_attention.types import Array


def precise_dtype(*arrays: Array | str) -> str:
    """Return the dtype in which to compute with arrays: float64 if one of them has it, or float32.

    Args:
        *arrays: tensors, or names of dtypes. Lists, numbers and NumPy arrays count for nothing,
            since NumPy makes float64 of any list of numbers.

    Example:
    >>> precise_dtype("float16"), precise_dtype("float64", "float32")
    ('float32', 'float64')
    """
    from_numpy = (np.ndarray, np.generic)
    tensors = [x for x in arrays if hasattr(x, "dtype") and not isinstance(x, from_numpy)]
    dtypes = [x.dtype for x in tensors] + [x for x in arrays if isinstance(x, str)]
    return "float64" if "float64" in map(keras.backend.standardize_dtype, dtypes) else "float32"


def precise(x: Array) -> Array:
    """Return an array in at least float32."""
    return ops.cast(x, precise_dtype(x))


def matmul(left: Array, right: Array) -> Array:
    """Multiply (…, T, K) and (…, K, S): (…, T, S).

    On the PyTorch backend, `keras.ops.matmul` rounds float64 to float32.
    """
    if precise_dtype(left, right) == "float64":
        return ops.einsum("...tk,...ks->...ts", left, right)
    return ops.matmul(left, right)


def at_least(x: Array, smallest: float) -> Array:
    """Replace numbers below a bound by the bound.

    On the PyTorch backend, `keras.ops.maximum` rounds float64 to float32.
    """
    return ops.where(x > smallest, x, smallest)
