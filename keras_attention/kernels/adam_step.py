"""A step of Adam as one operation, which reads and writes every number once.

m ← m + (1 − β₁)(g − m),  v ← v + (1 − β₂)(g² − v)
w ← w − lr √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε)

Where TensorFlow computes without XLA, what Keras writes for this is a dozen operations, each of
which passes over arrays as large as the model.

References:
    Kingma and Ba (2015), Adam: a method for stochastic optimization, arXiv:1412.6980, algorithm 1,
    computed in the order given at the end of section 2.
"""

from typing import Any

import keras
import tensorflow as tf

from keras_attention.types import Array


def adam_step(
    weights: Any,
    momentum: Any,
    velocity: Any,
    gradient: Array,
    learning_rate: Array,
    step: Array,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """Update weights, momentum and velocity in place, as `keras.optimizers.Adam` does.

    Args:
        weights: w, a variable of TensorFlow or of Keras, of any shape.
        momentum: m, likewise.
        velocity: v, likewise.
        gradient: g, dense.
        learning_rate: lr, a scalar.
        step: t, a scalar; 1 at the first step.
        betas: β₁ and β₂.
        epsilon: ε.
    """

    def cast(scalar):
        return tf.cast(scalar, weights.dtype)

    beta_1, beta_2 = map(cast, betas)
    tf.raw_ops.ResourceApplyAdam(
        var=_handle(weights),
        m=_handle(momentum),
        v=_handle(velocity),
        beta1_power=beta_1 ** cast(step),
        beta2_power=beta_2 ** cast(step),
        lr=cast(learning_rate),
        beta1=beta_1,
        beta2=beta_2,
        epsilon=cast(epsilon),
        grad=tf.cast(gradient, weights.dtype),
    )


def _handle(variable):
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle
