"""REINFORCE for functional models: learning where to look although a choice has no gradient.

∇ E[ℓ_z] = E[∇ℓ_z + (ℓ_z − b) ∇ log α_z]
"""

import keras
from keras import ops

from keras_attention.ops import entropy, log_probability, reinforce

BASELINES = ("moving", "learned")


@keras.saving.register_keras_serializable("keras_attention")
class Reinforced(keras.Model):
    """A functional model that learns where to look although its choices have no gradient.

    For models with `HardAttention`, section 4.1 of Xu et al. (2015). An example whose picks z cost
    ℓ = −log p(y | z) adds to the gradient

        ∇ℓ + (ℓ − b) ∇ log α_z − λ ∇H[α],

    the last two only while training: REINFORCE (Williams, 1992) with a baseline b, and the entropy
    of the distribution, which keeps it from settling too early. What `fit` shows as the loss is
    the mean of ℓ alone. Where an example has several picks or several labels, ℓ, log α_z and H are
    sums over them: whatever was picked may have helped with any label.

    Our names / the paper's: picks z / s̃, weights α / α, `entropy_weight` / λ_e, baseline / b. The
    paper also weights the REINFORCE term, by λ_r; here that is 1.

    Args:
        *args: inputs and outputs, as for `keras.Model`. The outputs are a dict: "logits" (B, V) or
            (B, T, V); "weights" and "distribution", (B, T, S), as `HardAttention` returns them with
            `with_distribution=True`; and "baseline", (B,) or (B, 1), where it is learned.
        baseline: `"moving"`: b ← 0.9 b + 0.1 mean ℓ after every batch, as in the paper.
            `"learned"`: the output "baseline", which is fitted to ℓ by squared error; put
            `keras.ops.stop_gradient` before its layers, so that the error trains nothing else.
        entropy_weight: λ, from 0 on.
        **kwargs: as for `keras.Model`.

    Call arguments of `fit` and `evaluate`:
        y: labels (B,) or (B, T), integers.
        sample_weight: of the labels, of the same shape; 0 for padding. Where there is a pick for
            each label, the picks of padding count for nothing.

    `compile` takes no loss; metrics see the labels and the logits.

    Raises:
        ValueError: there is no such baseline, an output is missing, or `entropy_weight` is
            negative.

    References:
        Xu et al. (2015), Show, attend and tell, arXiv:1502.03044; Williams (1992), Simple
        statistical gradient-following algorithms for connectionist reinforcement learning.
    """

    def __init__(self, *args, baseline="moving", entropy_weight=0.0, **kwargs):
        super().__init__(*args, **kwargs)
        if baseline not in BASELINES:
            raise ValueError(f"baseline must be one of {', '.join(BASELINES)}, got {baseline!r}")
        if entropy_weight < 0:
            raise ValueError(f"entropy_weight must not be negative, got {entropy_weight}")
        expected = {"logits", "weights", "distribution"}
        expected |= {"baseline"} if baseline == "learned" else set()
        outputs = self.output
        found = set(outputs) if isinstance(outputs, dict) else set()
        if not expected <= found:
            raise ValueError(
                f"outputs must be a dict with {', '.join(sorted(expected))}, "
                f"got {', '.join(sorted(found)) or type(outputs).__name__}"
            )
        self.baseline, self.entropy_weight = baseline, entropy_weight
        if baseline == "moving":
            self.moving_loss = self.add_weight(
                shape=(), initializer="zeros", trainable=False, name="moving_loss"
            )

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        losses = _sums(_crossentropies(y, y_pred["logits"]), sample_weight)
        constant = ops.stop_gradient(losses)
        counted = _counted(sample_weight, y_pred["weights"])
        surrogate = -self.entropy_weight * _sums(entropy(y_pred["distribution"]), counted)
        if self.baseline == "learned":
            baseline = ops.reshape(ops.cast(y_pred["baseline"], "float32"), (-1,))
            surrogate = surrogate + ops.square(baseline - constant)
        else:
            baseline = ops.convert_to_tensor(self.moving_loss)
        chosen = _sums(log_probability(y_pred["weights"], y_pred["distribution"]), counted)
        surrogate = surrogate + reinforce(losses, chosen, ops.stop_gradient(baseline))
        if training and self.baseline == "moving":
            self.moving_loss.assign(0.9 * self.moving_loss + 0.1 * ops.mean(constant))
        # The surrogate is there for its gradient; its value, which means nothing, is taken off.
        total = ops.mean(losses + surrogate - ops.stop_gradient(surrogate))
        return total + sum(self.losses)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, y_pred["logits"], sample_weight)

    def get_config(self):
        return {
            **super().get_config(),
            "baseline": self.baseline,
            "entropy_weight": self.entropy_weight,
        }


def _counted(sample_weight, picks):
    """Say which picks (B, T, S) count, (B, T): those of padding do not; None: all do."""
    if sample_weight is None or len(sample_weight.shape) != 2:
        return None
    labels, looks = sample_weight.shape[1], picks.shape[1]
    if isinstance(labels, int) and isinstance(looks, int) and labels != looks:
        return None
    return ops.not_equal(sample_weight, 0)


def _crossentropies(labels, logits):
    """Return −ln p of each label, of the shape of the labels, float32."""
    return ops.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"), ops.cast(logits, "float32"), from_logits=True
    )


def _sums(numbers, weights=None):
    """Sum numbers (B, …) over all axes but the first, weighted where there are weights: (B,)."""
    if weights is not None:
        numbers = numbers * ops.cast(weights, numbers.dtype)
    return ops.sum(ops.reshape(numbers, (ops.shape(numbers)[0], -1)), axis=1)
