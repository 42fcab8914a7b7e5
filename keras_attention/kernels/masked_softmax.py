"""A masked softmax whose gradient is written out: it needs no mask of its own.

w = softmax s over the unmasked positions, 0 elsewhere,   ∂s = w ⊙ (∂w − Σ w ⊙ ∂w)

Where w is 0, so is ∂s. TensorFlow's tape would go back through both masks. A row that has something
to attend to needs no second mask: there exp(−3 · 10³⁸ − max s) is 0.
"""

import tensorflow as tf

from keras_attention.ops.masks import LOWEST
from keras_attention.ops.precision import precise
from keras_attention.types import Array


def masked_softmax(scores: Array, mask: Array | None = None) -> Array:
    """Return weights that sum to 1 over the unmasked positions, as `ops.masked_softmax` does.

    Args:
        scores: (…, S); half precision becomes float32.
        mask: booleans that broadcast to the scores. None: attend everywhere.

    Returns:
        Weights (…, S), at least float32. A row with nothing to attend to gets weights 0.
    """
    scores = precise(scores)
    if mask is None:
        return tf.nn.softmax(scores)

    attends = tf.cast(tf.reduce_any(mask, axis=-1, keepdims=True), scores.dtype)  # 1 or 0 a row

    @tf.custom_gradient
    def weights(scores):
        found = attends * tf.nn.softmax(tf.where(mask, scores, LOWEST))

        def gradient(upstream):
            return found * (upstream - tf.reduce_sum(found * upstream, axis=-1, keepdims=True))

        return found, gradient

    return weights(scores)
