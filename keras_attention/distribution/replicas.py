"""The mean loss over all tokens of a batch that is split among the replicas of a model."""

import keras
from keras import ops

from keras_attention.training import MaskedCrossentropy
from keras_attention.types import Array


@keras.saving.register_keras_serializable("keras_attention")
class ReplicatedCrossentropy(MaskedCrossentropy):
    """`MaskedCrossentropy` averaged over the tokens of all replicas of a `tf.distribute` run.

    `tf.distribute` sums the gradients of the replicas, and Keras divides the loss of each replica
    by their number. The result is a mean of means: a token counts for more in a part with much
    padding. Here the sum is the mean over all tokens, as on one device. Without replicas the loss
    is `MaskedCrossentropy`.
    """

    def __call__(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> Array:
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
