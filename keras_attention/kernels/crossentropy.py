"""The crossentropy of many logits in few passes over them, its gradient written out.

ℓ = ln Σ_v exp z_v − Σ_v q_v z_v,   ∂z = p − q,   p = softmax z

TensorFlow computes a softmax in one operation. The logarithm of its denominator comes from its
largest probability: ln Σ_v exp z_v = max z − ln max p.
"""

import tensorflow as tf

from keras_attention.types import Array


def crossentropy(answers: Array, logits: Array, label_smoothing: float) -> Array:
    """Return −Σ_v q_v ln p_v of each answer (B, T), in nats.

    Args:
        answers: ids (B, T), y.
        logits: z, (B, T, V), float32.
        label_smoothing: ε, with q_y = 1 − ε + ε/V and q_v = ε/V elsewhere.
    """
    words = logits.shape[-1]
    share = label_smoothing / words  # of each word, the right one included

    @tf.custom_gradient
    def losses(logits):
        shares = tf.nn.softmax(logits)
        peaks = tf.reduce_max(logits, axis=-1, keepdims=True)  # as `MaskedAccuracy` needs them
        largest = tf.reduce_max(shares, axis=-1, keepdims=True)
        found = tf.squeeze(peaks - tf.math.log(largest), -1)
        found -= (1 - label_smoothing) * tf.gather(logits, answers, batch_dims=2)
        if label_smoothing > 0:
            found -= label_smoothing * tf.reduce_mean(logits, axis=-1)

        def gradient(upstream):
            wanted = tf.one_hot(answers, words, 1 - label_smoothing + share, share)
            return (shares - wanted) * tf.expand_dims(upstream, -1)

        return found, gradient

    return losses(logits)
