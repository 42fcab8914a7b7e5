"""Where a kernel is faster than what `keras.ops` become."""

from collections.abc import Callable
from typing import Any

import keras

from keras_attention.types import Array

LONGEST = 128  # tokens whose scores fit into the registers of a program
AMPERE = 8  # the first generation of NVIDIA's GPUs that multiplies in bfloat16
HALVES = ("bfloat16", "float16")


def kernel_for_lookup(queries: Any, keys: Any, dtype: str) -> Callable[..., Array] | None:
    """Return `fused_lookup` where it is faster than scores in memory, else None.

    That is with JAX on one NVIDIA GPU, Ampere or later, in half precision, for several queries and
    a short memory.

    Args:
        queries: T, the number of queries; None or a symbol where it is not known.
        keys: S, the number of keys; likewise.
        dtype: of both.
    """
    is_short = all(isinstance(each, int) and each <= LONGEST for each in (queries, keys))
    if not is_short or queries == 1 or keras.backend.standardize_dtype(dtype) not in HALVES:
        return None
    if keras.backend.backend() != "jax" or keras.distribution.distribution() is not None:
        return None
    import jax

    generation = str(getattr(jax.devices()[0], "compute_capability", "")).split(".")[0]
    if not generation.isdigit() or int(generation) < AMPERE:
        return None
    try:
        from keras_attention.kernels.fused_lookup import fused_lookup
    except ImportError:  # JAX may move Pallas, which it calls experimental
        return None
    return fused_lookup


def kernel_for_adam() -> Callable[..., None] | None:
    """Return `adam_step` on TensorFlow, else None: other backends make one kernel of a step."""
    if keras.backend.backend() != "tensorflow":
        return None
    from keras_attention.kernels.adam_step import adam_step

    return adam_step
