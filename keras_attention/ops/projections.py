"""Projections: the same matrix applied at every position."""

from keras import ops

from keras_attention.types import Array


def project(x: Array, kernel: Array) -> Array:
    """Multiply the last axis by a matrix: (…, F) and (F, G) → (…, G).

    On the TensorFlow backend, `keras.ops.matmul` of a tensor and a matrix computes permutations at
    run time. XLA cannot compile its gradient inside a recurrent loop over sentences of any length,
    but it can compile an einsum with a letter for each axis.

    Args:
        x: (…, F), with at most four axes.
        kernel: (F, G).

    Returns:
        (…, G).
    """
    axes = "abc"[: len(x.shape) - 1]
    return ops.einsum(f"{axes}f,fg->{axes}g", x, kernel)
