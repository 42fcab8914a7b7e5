"""The loss of sentences of unequal length: one number per token, and none for padding, id 0."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attention.kernels import kernel_with_gradient
from keras_attention.types import Array


def crossentropies(y_true: Array, y_pred: Array, label_smoothing: float = 0.0) -> Array:
    """Return −Σ_v q_v ln p_v of each target token, (B, T) float32, in nats; 0 for padding.

    Args:
        y_true: target ids (B, T), y.
        y_pred: logits (B, T, V).
        label_smoothing: ε, with q_y = 1 − ε + ε/V and q_v = ε/V elsewhere.
    """
    compute = kernel_with_gradient("crossentropy") or _crossentropy
    answers, logits = ops.cast(y_true, "int32"), ops.cast(y_pred, "float32")
    found = compute(answers, logits, label_smoothing)
    return ops.where(ops.not_equal(answers, 0), found, 0.0)  # a logit of padding may be −∞


def _crossentropy(answers, logits, label_smoothing):
    """Return the crossentropy of each answer (B, T).

    Computed as ln Σ_v exp z_v − (1 − ε) z_y − ε/V Σ_v z_v, where z is the logits minus the largest
    of them. Since both sums are over z, XLA computes them in one pass on a GPU. The gradient,
    p − q, is written out: without XLA a tape would store several more arrays as large as the
    logits.
    """
    words = logits.shape[-1]

    @ops.custom_gradient
    def losses(logits):
        centred = logits - ops.max(logits, axis=-1, keepdims=True)
        shares = ops.exp(centred)
        totals = ops.sum(shares, axis=-1, keepdims=True)
        right = ops.take_along_axis(centred, ops.expand_dims(answers, -1), axis=-1)
        expected = (1 - label_smoothing) * right
        if label_smoothing > 0:
            expected += label_smoothing * ops.mean(centred, axis=-1, keepdims=True)

        def gradient(*args, upstream=None):
            if upstream is None:  # PyTorch names it, and passes the logits as `args`
                (upstream,) = args
            found = shares * (upstream / totals)
            if label_smoothing > 0:
                found -= label_smoothing / words * upstream
            return found - ops.one_hot(answers, words, dtype="float32") * (
                (1 - label_smoothing) * upstream
            )

        return ops.log(totals) - expected, gradient

    return ops.squeeze(losses(logits), -1)


def token_weights(y_true: Array, sample_weight: Array | None = None) -> Array:
    """Return the weight of each target token, (B, T) float32, 0 for padding.

    Args:
        y_true: target ids (B, T); 0 is padding.
        sample_weight: weights of the sentences, (B,) or (B, 1), or of the tokens, (B, T); None: 1.

    Raises:
        ValueError: the weights have another shape.
    """
    weights = ops.cast(ops.not_equal(y_true, 0), "float32")
    if sample_weight is None:
        return weights
    sample_weight = ops.cast(sample_weight, "float32")
    if len(sample_weight.shape) == 1:
        sample_weight = ops.expand_dims(sample_weight, -1)
    sizes, tokens = sample_weight.shape[1:], y_true.shape[1]
    if len(sizes) != 1 or (tokens is not None and sizes[0] not in (1, None, tokens)):
        raise ValueError(
            f"sample_weight must have shape (B,) or (B, T), here {tuple(y_true.shape)}, got "
            f"{tuple(sample_weight.shape)}"
        )
    return weights * sample_weight


@keras.saving.register_keras_serializable("keras_attention")
class MaskedCrossentropy(keras.losses.Loss):
    """The crossentropy −ln p of each real target token, in nats; Keras takes their mean.

    The tutorial's `masked_loss`. An untrained model over V words starts near ln V. The weights of
    sentences or tokens, `sample_weight`, and of words, `class_weight`, make it a weighted mean,
    Σ w l / Σ w, as in PyTorch. The `class_weight` of `fit` would weight whole rows: Keras knows
    classes of examples, not of tokens.

    Args:
        label_smoothing: ε, the fraction of the right answer that is spread over all V words,
            section 7 of Szegedy et al. (2016) and section 5.4 of Vaswani et al. (2017). It keeps a
            model from becoming overconfident.
        class_weight: weights of words, `{id: weight}`; other words have weight 1. None: all 1.
        reduction: as for every Keras loss; None: one loss per token, (B, T), 0 for padding.
        name: name of the loss.
        **kwargs: as for every Keras loss.

    Call arguments:
        y_true: target ids (B, T); 0 is padding.
        y_pred: logits (B, T, V).
        sample_weight: weights of the sentences, (B,), or of the tokens, (B, T).

    Raises:
        ValueError: ε is not in [0, 1), `class_weight` has an unknown id, or the weights have
            another shape.

    References:
        Szegedy et al. (2016), Rethinking the Inception architecture for computer vision,
        arXiv:1512.00567.
    """

    def __init__(
        self,
        label_smoothing: float = 0.0,
        class_weight: Mapping[int, float] | None = None,
        reduction: str | None = "mean_with_sample_weight",
        name: str = "masked_crossentropy",
        **kwargs: Any,
    ):
        # Keras casts the ids to the dtype of a loss, and half precision has only a few hundred
        policy = keras.dtype_policies.get(kwargs.get("dtype") or keras.config.floatx())
        kwargs["dtype"] = "float64" if policy.compute_dtype == "float64" else "float32"
        super().__init__(name=name, reduction=reduction, **kwargs)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                f"label_smoothing must be at least 0 and below 1, got {label_smoothing}"
            )
        self.label_smoothing = label_smoothing
        # As a saved model can hold them
        self.class_weight = class_weight and {
            int(word): float(weight) for word, weight in class_weight.items()
        }

    def __call__(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> Array:
        return super().__call__(y_true, y_pred, self.weights(y_true, y_pred, sample_weight))

    def weights(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> Array:
        """Return the weight of each token, (B, T)."""
        weights = token_weights(y_true, sample_weight)
        if self.class_weight is None:
            return weights
        of_words = np.ones(y_pred.shape[-1], "float32")
        for word, weight in self.class_weight.items():
            if not 0 <= word < len(of_words):
                raise ValueError(
                    f"class_weight must have ids from 0 to {len(of_words) - 1}, got {word}"
                )
            of_words[word] = weight
        return weights * ops.take(of_words, ops.cast(y_true, "int32"))

    def call(self, y_true: Array, y_pred: Array) -> Array:
        return crossentropies(y_true, y_pred, self.label_smoothing)

    def get_config(self) -> dict[str, Any]:
        own = {"label_smoothing": self.label_smoothing, "class_weight": self.class_weight}
        return {**super().get_config(), **own}
