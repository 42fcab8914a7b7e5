"""Projections: the same matrix applied at every position."""

from keras import ops

from keras_attention.ops.precision import matmul
from keras_attention.types import Array


def project(x: Array, kernel: Array) -> Array:
    """Multiply the last axis by a matrix: (…, F) and (F, G) → (…, G).

    All positions are rows of one product. With an einsum, TensorFlow without XLA multiplies
    sentence by sentence. With `keras.ops.matmul` of a tensor and a matrix it computes permutations
    at run time, and XLA cannot compile its gradient inside a recurrent loop over sentences of any
    length.

    Args:
        x: (…, F).
        kernel: (F, G).

    Returns:
        (…, G).
    """
    if len(x.shape) == 2:
        return matmul(x, kernel)
    *positions, width = ops.shape(x)
    rows = matmul(ops.reshape(x, (-1, width)), kernel)
    return ops.reshape(rows, (*positions, kernel.shape[-1]))
