"""A layer norm whose gradient is written out.

y = γ ⊙ n + β,   n = (x − mean x) / √(var x + ε)
∂x = (δ − mean δ − n ⊙ mean(n ⊙ δ)) / √(var x + ε),   δ = γ ⊙ ∂y

Where TensorFlow computes without XLA, its tape goes back through each operation of the first line,
and through those that find out how their shapes were broadcast: twice as many operations.
"""

import tensorflow as tf

from keras_attention.types import Array


def layer_norm(x: Array, gamma: Array, beta: Array, epsilon: float) -> Array:
    """Return γ ⊙ n + β, as `keras.ops.layer_normalization` does over the last axis.

    Args:
        x: (…, D); half precision is normalized in float32.
        gamma: γ, (D,).
        beta: β, (D,).
        epsilon: ε, what is added to the variance.

    Returns:
        (…, D), in the dtype of x.
    """
    dtype = tf.float64 if x.dtype == tf.float64 else tf.float32
    rows = tf.cast(tf.reshape(x, (-1, gamma.shape[0])), dtype)
    normed = _normed(rows, tf.cast(gamma, dtype), tf.cast(beta, dtype), epsilon)
    return tf.cast(tf.reshape(normed, tf.shape(x)), x.dtype)


def _normed(rows, gamma, beta, epsilon):
    @tf.custom_gradient
    def normed(rows, gamma, beta):
        centred = rows - _mean(rows)
        scale = tf.math.rsqrt(_mean(tf.square(centred)) + epsilon)
        n = centred * scale

        def gradient(upstream):
            delta = gamma * upstream
            delta -= n * _mean(n * delta)  # and n has mean 0
            of_gamma = tf.raw_ops.BiasAddGrad(out_backprop=n * upstream)  # a sum over rows
            of_beta = tf.raw_ops.BiasAddGrad(out_backprop=upstream)
            return scale * (delta - _mean(delta)), of_gamma, of_beta

        return tf.nn.bias_add(gamma * n, beta), gradient

    return normed(rows, gamma, beta)


def _mean(rows):
    return tf.reduce_mean(rows, axis=-1, keepdims=True)
