"""The crossentropy of many logits in few passes over them, its gradient written out.

ℓ = Σ_v q_v (max z − z_v) − ln max p,   ∂z = p − q,   p = softmax z

TensorFlow computes a softmax in one operation. Its largest probability gives the logarithm of its
denominator, ln Σ_v exp z_v = max z − ln max p, without another pass over the logits.
"""

import tensorflow as tf
from keras import ops

from keras_attention.types import Array


def crossentropy(answers: Array, logits: Array, label_smoothing: float) -> Array:
    """Return −Σ_v q_v ln p_v of each answer (B, T), in nats.

    Args:
        answers: ids (B, T), y.
        logits: z, (B, T, V), float32.
        label_smoothing: ε, with q_y = 1 − ε + ε/V and q_v = ε/V elsewhere.
    """
    words = ops.shape(logits)[-1]

    @tf.custom_gradient
    def losses(logits):
        shares = tf.nn.softmax(logits)
        # Just as in `MaskedAccuracy`, so that TensorFlow computes it once for both
        peaks = tf.squeeze(tf.reduce_max(logits, axis=-1, keepdims=True), -1)
        right = tf.gather(logits, answers, batch_dims=2)
        found = (1 - label_smoothing) * (peaks - right) - tf.math.log(
            tf.reduce_max(shares, axis=-1)
        )
        if label_smoothing > 0:
            found += label_smoothing * (peaks - tf.reduce_mean(logits, axis=-1))

        def gradient(upstream):
            excess = shares if label_smoothing == 0 else shares - label_smoothing / words
            rows = tf.reshape(excess * tf.expand_dims(upstream, -1), (-1, words))
            # In place, since the rows have no other reader; `tf.tensor_scatter_nd_add` copies them
            rows = tf.raw_ops.ScatterNdNonAliasingAdd(
                input=rows,
                indices=_places(answers),
                updates=(label_smoothing - 1) * tf.reshape(upstream, (-1,)),
            )
            return tf.reshape(rows, tf.shape(logits))

        return found, gradient

    return losses(logits)


def _places(answers):
    """Return the indices of the answers in rows of logits (B · T, V), (B · T, 2)."""
    answers = tf.reshape(answers, (-1,))
    return tf.stack([tf.range(tf.size(answers)), answers], axis=-1)
