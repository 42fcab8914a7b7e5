"""The mean over the tokens of a whole batch where each replica of a model sees a part of it."""

import keras

from keras_attention.training import MaskedCrossentropy


@keras.saving.register_keras_serializable("keras_attention")
class ReplicatedCrossentropy(MaskedCrossentropy):
    """`MaskedCrossentropy` whose mean is over the tokens of all replicas of a `tf.distribute` run.

    Under `tf.distribute` the gradients of the replicas are added up, and Keras leaves a loss that
    is a single number as it is. If each were the mean over its own tokens, the sum would be too
    large, and a token in a part with much padding would count for more. Here every replica divides
    by the number of tokens of all, so that the sum is the mean over all tokens, as with one device.
    Without replicas it is `MaskedCrossentropy`.
    """

    def count(self, mask):
        """Return the number of real tokens of all replicas."""
        tokens = super().count(mask)
        if keras.backend.backend() != "tensorflow":
            return tokens
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            return tokens
        return replica.all_reduce(tf.distribute.ReduceOp.SUM, tokens)
