"""Look up the vectors of ids; an id beyond the vocabulary does the same on every backend."""

from typing import Any

import keras
from keras import ops

from keras_attention.kernels import kernel_with_gradient
from keras_attention.types import Array


@keras.saving.register_keras_serializable("keras_attention")
class TokenEmbedding(keras.layers.Embedding):
    """`keras.layers.Embedding` that takes an id beyond the vocabulary as the nearest one in it.

    A negative id becomes 0, one that is too large the last.

    In Keras such an id is an error on TensorFlow and PyTorch, NaN on JAX, and the last id in a
    program of XLA.

    Args:
        input_dim: number of ids, V.
        output_dim: width of the vectors, D.
        **kwargs: as for `keras.layers.Embedding`.

    Call arguments:
        inputs: integers of any shape (…).

    Returns:
        (…, D).

    Example:
    >>> import numpy as np
    >>> embed = TokenEmbedding(input_dim=11, output_dim=4)
    >>> vectors = embed(np.array([10, 11, 12]))
    >>> bool(np.all(vectors[1:] == vectors[0]))
    True
    """

    def call(self, inputs: Array) -> Array:
        ids, kernel = within(inputs, self.input_dim), kernel_with_gradient("embedding")
        if kernel is None:
            return super().call(ids)
        return kernel(self.embeddings, ids, self.compute_dtype)

    def quantized_call(self, *inputs: Any) -> Array:
        return super().quantized_call(*(within(each, self.input_dim) for each in inputs))

    def quantize(self, mode: str | None = None, type_check: bool = True, **options: Any) -> None:
        del type_check  # Keras would refuse a subclass, since it may compute something else
        super().quantize(mode, type_check=False, **options)


def within(ids: Array, vocabulary_size: int) -> Array:
    """Return ids as int32, each as the nearest one that is in the vocabulary."""
    return ops.clip(ops.cast(ids, "int32"), 0, vocabulary_size - 1)
