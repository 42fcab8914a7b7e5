"""What `fit` reports: means over the real target tokens of all batches."""

from typing import Any

import keras
from keras import ops

from keras_attention.training.losses import crossentropies, token_weights
from keras_attention.types import Array


class _MeanOverTokens(keras.metrics.Mean):
    """The mean of one value per target token over the real tokens of all batches."""

    def take(self, values: Array, y_true: Array, sample_weight: Array | None) -> None:
        """Add the values (B, T) of the tokens `y_true` (B, T) to the mean."""
        # Flat: Keras averages each row first, which would give more weight to the tokens of a
        # batch with few positions.
        weights = token_weights(y_true, sample_weight)
        super().update_state(ops.reshape(values, (-1,)), ops.reshape(weights, (-1,)))


@keras.saving.register_keras_serializable("keras_attention")
class MaskedLoss(_MeanOverTokens):
    """The mean of −ln p over the real tokens of all batches, in nats.

    Keras averages the loss over batches, so that a token of a short batch counts for more than one
    of a long batch. Here every token counts the same, or as much as its `sample_weight`. The call
    arguments are those of `MaskedCrossentropy`.
    """

    def __init__(self, name: str = "masked_loss", **kwargs: Any):
        super().__init__(name=name, **kwargs)

    def update_state(
        self, y_true: Array, y_pred: Array, sample_weight: Array | None = None
    ) -> None:
        self.take(crossentropies(y_true, y_pred), y_true, sample_weight)


@keras.saving.register_keras_serializable("keras_attention")
class MaskedAccuracy(_MeanOverTokens):
    """The fraction of the real tokens, over all batches, whose own logit is the largest.

    The tutorial's `masked_acc`. The call arguments are those of `MaskedCrossentropy`. The metric
    compares the largest logit with that of the right answer, since an argmax over V is several
    times slower on a CPU. If several logits tie, as they may in bfloat16, the right answer
    among them is a hit.
    """

    def __init__(self, name: str = "masked_accuracy", **kwargs: Any):
        super().__init__(name=name, **kwargs)

    def update_state(
        self, y_true: Array, y_pred: Array, sample_weight: Array | None = None
    ) -> None:
        logits = ops.cast(y_pred, "float32")  # of which the loss, too, takes the maximum
        answers = ops.expand_dims(ops.cast(y_true, "int32"), -1)
        is_right = ops.take_along_axis(logits, answers, axis=-1) >= ops.max(
            logits, axis=-1, keepdims=True
        )
        self.take(ops.cast(is_right, "float32"), y_true, sample_weight)
