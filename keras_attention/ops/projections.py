"""Projections: the same matrix applied at every position."""

from keras import ops


def project(x, kernel):
    """Multiply the last axis by a matrix: (…, F) and (F, G) → (…, G).

    `keras.ops.matmul` of a tensor and a matrix transposes by computed permutations on the
    TensorFlow backend: inside a recurrent loop over sentences of any length its gradient cannot be
    compiled by XLA. An einsum with an axis for each letter can.

    Args:
        x: (…, F), with at most four axes.
        kernel: (F, G).

    Returns:
        (…, G).
    """
    axes = "abc"[: len(x.shape) - 1]
    return ops.einsum(f"{axes}f,fg->{axes}g", x, kernel)
