"""Where a kernel is faster than what `keras.ops` become."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any

import keras

from keras_attention.cores import count_of_cores
from keras_attention.types import Array

if TYPE_CHECKING:
    from keras_attention.kernels.parts import StepsInParts

LONGEST = 128  # tokens whose scores fit into the registers of a program
AMPERE = 8  # the first generation of NVIDIA's GPUs that multiplies in bfloat16
HALVES = ("bfloat16", "float16")
MOST_PARTS = 4  # of a batch: smaller ones multiply more slowly
_WRITTEN_OUT = ContextVar("gradients written out", default=False)


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


@contextmanager
def gradients_written_out(wanted: bool = True) -> Iterator[None]:
    """Let layers and losses use kernels with gradients that are written out, where there are any.

    They are for steps that XLA does not compile: XLA takes longer over them, and has no
    `ScatterNdNonAliasingAdd`, which the crossentropy needs.

    Args:
        wanted: whether to let them.
    """
    token = _WRITTEN_OUT.set(wanted)
    try:
        yield
    finally:
        _WRITTEN_OUT.reset(token)


def kernel_with_gradient(name: str) -> Callable[..., Array] | None:
    """Return a kernel where gradients are to be written out, with TensorFlow on a CPU, else None.

    Args:
        name: "crossentropy", "embedding", "gru", "layer_norm" or "masked_softmax", of the module
            and its function.
    """
    if not _writes_out():
        return None
    return getattr(import_module(f"keras_attention.kernels.{name}"), name)


def kernel_for_steps(model: keras.Model) -> "StepsInParts | None":
    """Return the `StepsInParts` of a compiled model where they are faster, else None.

    That is with TensorFlow on the CPU of one process, without XLA, after somebody has said that an
    operation has one thread. The loss must be a mean over labels, with a method `weights`, so that
    the parts of a batch add up to the batch.
    """
    has_weights = callable(getattr(model.loss, "weights", None))
    is_mean = getattr(model.loss, "reduction", None) == "mean_with_sample_weight"
    if keras.backend.backend() != "tensorflow" or not (has_weights and is_mean):
        return None
    if model.jit_compile or model.run_eagerly or model.losses:  # what layers add is no mean
        return None
    import tensorflow as tf

    if tf.config.threading.get_intra_op_parallelism_threads() != 1:
        return None
    if not _is_on_one_cpu():
        return None
    operations = tf.config.threading.get_inter_op_parallelism_threads() or MOST_PARTS
    count = min(count_of_cores(), operations, MOST_PARTS)
    if count == 1:
        return None
    from keras_attention.kernels.parts import StepsInParts

    return StepsInParts(model, count)


def _writes_out():
    """Return whether gradients are to be written out, and are: with TensorFlow on one CPU."""
    is_there = _WRITTEN_OUT.get() and keras.backend.backend() == "tensorflow"
    return is_there and _is_on_one_cpu()


def _is_on_one_cpu():
    """Return whether TensorFlow has no other device."""
    import tensorflow as tf

    return not (tf.distribute.has_strategy() or tf.config.list_physical_devices("GPU"))
