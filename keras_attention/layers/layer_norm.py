"""The layer norm of the Transformers: Keras', with the gradient that its device computes fastest.

y = γ ⊙ (x − mean x) / √(var x + ε) + β
"""

import keras
from keras import ops

from keras_attention.kernels import kernel_for_layer_norm
from keras_attention.types import Array


@keras.saving.register_keras_serializable("keras_attention")
class LayerNormalization(keras.layers.LayerNormalization):
    """Normalize each vector, and then scale and shift it: `keras.layers.LayerNormalization`.

    It has the same weights and computes the same numbers, over the last axis.

    Args:
        epsilon: ε, what is added to the variance.
        **kwargs: initializers, regularizers and constraints of γ and β; the rest as for every Keras
            layer.

    Call arguments:
        x: (…, D).

    Returns:
        (…, D).

    Example:
    >>> import numpy as np
    >>> LayerNormalization(epsilon=1e-12)(np.array([[1.0, 3.0]])).numpy().tolist()
    [[-1.0, 1.0]]

    References:
        Ba, Kiros, Hinton (2016), Layer normalization, arXiv:1607.06450, equation 4.
    """

    def call(self, x: Array) -> Array:
        kernel = kernel_for_layer_norm()
        if kernel is None:
            return super().call(x)
        return ops.cast(kernel(x, self.gamma, self.beta, self.epsilon), self.compute_dtype)
