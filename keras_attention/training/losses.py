"""The loss of sentences of unequal length: one number a token, and none for padding, id 0."""

import keras
import numpy as np
from keras import ops


def crossentropies(y_true, y_pred):
    """Return −ln p of each target token, (B, T) float32, in nats.

    ln Σ_v exp logit_v − logit_y: with the logits (B, T, V) only their exponentials need to be kept
    for the gradient, and no logarithm of the softmax, which would be as large again.
    """
    logits = ops.cast(y_pred, "float32")
    return ops.logsumexp(logits, axis=-1) - _answer_logits(y_true, logits)


def _answer_logits(y_true, logits):
    """Return the logits (B, T) of the right answers."""
    # Not gathered: the gradient of a gather is a scatter into zeros (B, T, V).
    is_right = ops.arange(logits.shape[-1]) == ops.expand_dims(ops.cast(y_true, "int32"), -1)
    return ops.sum(ops.where(is_right, logits, 0.0), axis=-1)


def _above_the_mean(y_true, y_pred):
    """Return how far the logit of the right answer is above the mean of all logits, (B, T)."""
    logits = ops.cast(y_pred, "float32")
    return _answer_logits(y_true, logits) - ops.mean(logits, axis=-1)


def token_weights(y_true, sample_weight=None):
    """Return how much each target token counts, (B, T) float32: padding counts for nothing.

    Args:
        y_true: target ids (B, T); 0 is padding.
        sample_weight: of the sentences, (B,) or (B, 1), or of the tokens, (B, T); None: 1.

    Raises:
        ValueError: the weights have another shape.
    """
    weights = ops.cast(ops.not_equal(y_true, 0), "float32")
    if sample_weight is None:
        return weights
    sample_weight = ops.cast(sample_weight, "float32")
    if len(sample_weight.shape) == 1:
        sample_weight = ops.expand_dims(sample_weight, -1)
    places, of_tokens = sample_weight.shape[1:], y_true.shape[1]
    if len(places) != 1 or (of_tokens is not None and places[0] not in (1, None, of_tokens)):
        raise ValueError(
            f"sample_weight must have shape (B,) or (B, T), here {tuple(y_true.shape)}, got "
            f"{tuple(sample_weight.shape)}"
        )
    return weights * sample_weight


@keras.saving.register_keras_serializable("keras_attention")
class MaskedCrossentropy(keras.losses.Loss):
    """The crossentropy −ln p of each real target token, in nats; Keras takes their mean.

    The tutorial's `masked_loss`. An untrained model over V words starts near ln V. Weights of
    sentences or tokens, `sample_weight`, and of words, `class_weight`, make it a weighted mean,
    Σ w l / Σ w, as in PyTorch. The `class_weight` of `fit` would weigh whole rows: Keras knows
    classes of examples, not of tokens.

    Args:
        label_smoothing: ε, the fraction of the right answer that is spread over all V words,
            section 7 of Szegedy et al. (2016) and section 5.4 of Vaswani et al. (2017): a model is
            not made to be surer than it can be.
        class_weight: weights of words, `{id: weight}`; of the others 1. None: all 1.
        reduction: as for every Keras loss; None: one loss per token, (B, T), 0 for padding.
        name: of the loss.
        **kwargs: as for every Keras loss.

    Call arguments:
        y_true: target ids (B, T); 0 is padding.
        y_pred: logits (B, T, V).
        sample_weight: of the sentences, (B,), or of the tokens, (B, T).

    Raises:
        ValueError: ε is not at least 0 and below 1, there is no such word, or the weights have
            another shape.

    References:
        Szegedy et al. (2016), Rethinking the Inception architecture for computer vision,
        arXiv:1512.00567.
    """

    def __init__(
        self,
        label_smoothing=0.0,
        class_weight=None,
        reduction="mean_with_sample_weight",
        name="masked_crossentropy",
        **kwargs,
    ):
        super().__init__(name=name, reduction=reduction, **kwargs)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                f"label_smoothing must be at least 0 and below 1, got {label_smoothing}"
            )
        self.label_smoothing, self.class_weight = label_smoothing, class_weight

    def __call__(self, y_true, y_pred, sample_weight=None):
        return super().__call__(y_true, y_pred, self.weights(y_true, y_pred, sample_weight))

    def weights(self, y_true, y_pred, sample_weight=None):
        """Return how much each token counts, (B, T)."""
        weights = token_weights(y_true, sample_weight)
        if self.class_weight is None:
            return weights
        of_words = np.ones(y_pred.shape[-1], "float32")
        for word, weight in self.class_weight.items():
            if not 0 <= int(word) < len(of_words):
                raise ValueError(
                    f"class_weight must have ids from 0 to {len(of_words) - 1}, got {word}"
                )
            of_words[int(word)] = weight
        return weights * ops.take(of_words, ops.cast(y_true, "int32"))

    def call(self, y_true, y_pred):
        losses = crossentropies(y_true, y_pred)
        if self.label_smoothing > 0:
            # −Σ_v q_v ln p_v with q_y = 1 − ε + ε/V and q_v = ε/V elsewhere
            losses = losses + self.label_smoothing * _above_the_mean(y_true, y_pred)
        return losses

    def get_config(self):
        own = {"label_smoothing": self.label_smoothing, "class_weight": self.class_weight}
        return {**super().get_config(), **own}
