"""What `fit` reports: means over the real target tokens of all batches."""

import keras
from keras import ops

from keras_attention.training.losses import crossentropies, token_weights


class _MeanOverTokens(keras.metrics.Mean):
    """The mean of a value a target token over the real tokens of all batches."""

    def take(self, values, y_true, sample_weight):
        """Take values (B, T) of the tokens `y_true` (B, T) into the mean."""
        # Flat: Keras takes the mean of each row first, and a token of a batch with few places
        # would count for more.
        weights = token_weights(y_true, sample_weight)
        super().update_state(ops.reshape(values, (-1,)), ops.reshape(weights, (-1,)))


@keras.saving.register_keras_serializable("keras_attention")
class MaskedLoss(_MeanOverTokens):
    """The mean of −ln p over the real tokens of all batches, in nats.

    Keras averages the loss over batches, so that a token of a short batch counts for more than one
    of a long batch; here every token counts the same, or as much as its `sample_weight`. Takes what
    `MaskedCrossentropy` takes.
    """

    def __init__(self, name="masked_loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.take(crossentropies(y_true, y_pred), y_true, sample_weight)


@keras.saving.register_keras_serializable("keras_attention")
class MaskedAccuracy(_MeanOverTokens):
    """The fraction of the real tokens, over all batches, whose own logit is the largest.

    The tutorial's `masked_acc`. Takes what `MaskedCrossentropy` takes. Compares the largest logit
    with that of the right answer, since an argmax over V is several times slower on a CPU. Where
    several logits are the largest, as may be in bfloat16, the right answer among them is a hit.
    """

    def __init__(self, name="masked_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        answer = ops.expand_dims(ops.cast(y_true, "int32"), -1)
        right = ops.take_along_axis(y_pred, answer, axis=-1)[..., 0] >= ops.max(y_pred, axis=-1)
        self.take(ops.cast(right, "float32"), y_true, sample_weight)
