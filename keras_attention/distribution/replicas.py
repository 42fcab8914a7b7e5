"""The mean over the tokens of a whole batch where each replica of a model sees a part of it."""

import keras
from keras import ops

from keras_attention.training import MaskedCrossentropy


@keras.saving.register_keras_serializable("keras_attention")
class ReplicatedCrossentropy(MaskedCrossentropy):
    """`MaskedCrossentropy` whose mean is over the tokens of all replicas of a `tf.distribute` run.

    Under `tf.distribute` the gradients of the replicas are added up, and Keras divides the loss of
    each by their number: the sum is a mean of means, in which a token in a part with much padding
    counts for more. Here the sum is the mean over all tokens, as with one device. Without replicas
    it is `MaskedCrossentropy`.
    """

    def __call__(self, y_true, y_pred, sample_weight=None):
        mean = super().__call__(y_true, y_pred, sample_weight)
        if keras.backend.backend() != "tensorflow":
            return mean
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            return mean
        own = ops.sum(self.weights(y_true, y_pred, sample_weight))
        of_all = replica.all_reduce(tf.distribute.ReduceOp.SUM, own)
        return mean * ops.divide_no_nan(replica.num_replicas_in_sync * own, of_all)
