"""The layer norm of the Transformers: Keras', whose gradient TensorFlow finds written out.

y = γ ⊙ (x − mean x) / √(var x + ε) + β
"""

import keras
from keras import ops

from keras_attention.kernels import kernel_with_gradient
from keras_attention.types import Array


@keras.saving.register_keras_serializable("keras_attention")
class LayerNormalization(keras.layers.LayerNormalization):
    """Normalize each vector, then scale and shift it, as `keras.layers.LayerNormalization` does.

    It has the same arguments and weights, and computes the same numbers, over the last axis with a
    kernel of `keras_attention.kernels`, where there is one.

    Call arguments:
        inputs: (…, D).

    Returns:
        (…, D).

    Example:
    >>> import numpy as np
    >>> normed = LayerNormalization(epsilon=1e-12)(np.array([[1.0, 3.0]]))
    >>> [round(float(number), 3) for number in normed[0]]
    [-1.0, 1.0]

    References:
        Ba, Kiros, Hinton (2016), Layer normalization, arXiv:1607.06450, equation 4.
    """

    def call(self, inputs: Array) -> Array:
        kernel = kernel_with_gradient("layer_norm")
        if kernel is None or self.axis != [-1] or self.gamma is None or self.beta is None:
            return super().call(inputs)
        return ops.cast(kernel(inputs, self.gamma, self.beta, self.epsilon), self.compute_dtype)
