"""REINFORCE for functional models: learn where to attend although a choice has no gradient.

∇ E[ℓ_z] = E[∇ℓ_z + (ℓ_z − b) ∇ log α_z]
"""

from typing import Any

import keras
from keras import ops

from keras_attention.ops import entropy, log_probability, reinforce
from keras_attention.types import Array

BASELINES = ("moving", "learned")
COSTS = ("likelihood", "errors")


@keras.saving.register_keras_serializable("keras_attention")
class Reinforced(keras.Model):
    """A functional model that learns where to attend although its choices have no gradient.

    For models with `HardAttention`, section 4.1 of Xu et al. (2015), and with `GlimpseRNN`, section
    3.2 of Mnih et al. (2014). An example with picks z, loss ℓ = −log p(y | z) and cost c adds to
    the gradient

        ∇ℓ + (c − b) ∇ log α_z − λ ∇H[α].

    This is REINFORCE (Williams, 1992) with a baseline b. The entropy H keeps the distribution from
    settling too early. The loss that `fit` shows is the mean of ℓ alone. If an example has several
    picks or labels, ℓ, c, log α_z and H are sums over them: any pick may have helped with any
    label.

    Our names / the paper's: picks z / s̃, weights α / α, `entropy_weight` / λ_e, baseline / b. The
    paper also weights the REINFORCE term, by λ_r; here that is 1.

    Args:
        *args: inputs and outputs, as for `keras.Model`. The outputs are a dict: "logits" (B, V) or
            (B, T, V); "weights" and "distribution", (B, T, S), as `HardAttention` returns them with
            `return_distribution=True`, or in their place "log_probabilities" (B, T), as
            `GlimpseRNN` returns them; and, if it is learned, "baseline", (B,) or (B, 1), or (B, T)
            for one baseline per log-probability.
        baseline: `"moving"`: b ← 0.9 b + 0.1 mean c after every batch, as in the paper.
            `"learned"`: the output "baseline", fitted to c by squared error; put
            `keras.ops.stop_gradient` before its layers, so that the error trains nothing else.
        entropy_weight: λ, at least 0.
        cost: c: `"likelihood"`: ℓ; `"errors"`: the number of labels that are not the likeliest; for
            a single label, one minus the reward of Mnih et al.
        **kwargs: as for `keras.Model`.

    Call arguments of `fit` and `evaluate`:
        y: labels (B,), (B, 1) or (B, T), integers.
        sample_weight: weights of the labels, of the same shape, or (B,) or (B, 1), of the examples;
            0 for padding. If there is one pick per label, picks at padding do not count; with
            "log_probabilities" all picks of an example count that has a label.

    `compile` takes no loss; metrics receive the labels and the logits.

    Raises:
        ValueError: the baseline or cost is unknown, an output is missing, or `entropy_weight` is
            negative, or not 0 although there is no distribution; in `fit`, the model was compiled
            with a loss, or `sample_weight` has another shape.

    References:
        Xu et al. (2015), Show, attend and tell, arXiv:1502.03044; Mnih, Heess, Graves, Kavukcuoglu
        (2014), Recurrent models of visual attention, arXiv:1406.6247; Williams (1992), Simple
        statistical gradient-following algorithms for connectionist reinforcement learning.
    """

    def __init__(
        self,
        *args: Any,
        baseline: str = "moving",
        entropy_weight: float = 0.0,
        cost: str = "likelihood",
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        for name, value, values in (("baseline", baseline, BASELINES), ("cost", cost, COSTS)):
            if value not in values:
                raise ValueError(f"{name} must be one of {', '.join(values)}, got {value!r}")
        if entropy_weight < 0:
            raise ValueError(f"entropy_weight must not be negative, got {entropy_weight}")
        found = set(self.output) if isinstance(self.output, dict) else set()
        expected = {"logits"} | ({"baseline"} if baseline == "learned" else set())
        if "log_probabilities" not in found:
            expected |= {"weights", "distribution"}
        elif entropy_weight:
            raise ValueError(
                f"entropy_weight must be 0 where there is no distribution, got {entropy_weight}"
            )
        if not expected <= found:
            raise ValueError(
                f"outputs must be a dict with {', '.join(sorted(expected))}, "
                f"got {', '.join(sorted(found)) or type(self.output).__name__}"
            )
        self.baseline, self.entropy_weight, self.cost = baseline, entropy_weight, cost
        if baseline == "moving":
            self.moving_loss = self.add_weight(
                shape=(), initializer="zeros", trainable=False, name="moving_loss"
            )

    def compute_loss(
        self,
        x: Any = None,
        y: Array | None = None,
        y_pred: Any = None,
        sample_weight: Array | None = None,
        training: bool = True,
    ) -> Array:
        if self.loss is not None:
            message = "Reinforced has a loss of its own; compile it without one"
            raise ValueError(f"{message}, got {self.loss!r}")
        y = _without_column(y, y_pred["logits"])
        sample_weight = _of_labels(sample_weight, y)
        losses = _sums(_crossentropies(y, y_pred["logits"]), sample_weight)
        costs = (
            losses
            if self.cost == "likelihood"
            else _sums(_errors(y, y_pred["logits"]), sample_weight)
        )
        costs = ops.stop_gradient(costs)[:, None]
        chosen, surrogate = self._choices(y_pred, sample_weight)
        if self.baseline == "learned":
            baseline = ops.cast(y_pred["baseline"], "float32")
            baseline = baseline[:, None] if len(baseline.shape) == 1 else baseline
            surrogate = surrogate + _sums(ops.square(baseline - costs))
        else:
            baseline = ops.convert_to_tensor(self.moving_loss)
        surrogate = surrogate + _sums(reinforce(costs, chosen, ops.stop_gradient(baseline)))
        if training and self.baseline == "moving":
            self.moving_loss.assign(0.9 * self.moving_loss + 0.1 * ops.mean(costs))
        if sample_weight is not None:
            surrogate = surrogate * _has_labels(sample_weight)
        # The surrogate only gives a gradient; its value means nothing and is subtracted.
        total = ops.mean(losses + surrogate - ops.stop_gradient(surrogate))
        return total + sum(self.losses)

    def _choices(self, y_pred, sample_weight):
        """Return log α_z of the picks, (B, 1) or (B, T), and −λ H of each example."""
        if "log_probabilities" in y_pred:
            return ops.cast(y_pred["log_probabilities"], "float32"), 0.0
        counted = _counted(sample_weight, y_pred["weights"])
        uncertain = _sums(entropy(y_pred["distribution"]), counted)
        chosen = _sums(log_probability(y_pred["weights"], y_pred["distribution"]), counted)
        return chosen[:, None], -self.entropy_weight * uncertain

    def compute_metrics(
        self, x: Any, y: Array, y_pred: Any, sample_weight: Array | None = None
    ) -> dict[str, Any]:
        return super().compute_metrics(
            x, {"logits": y}, {"logits": y_pred["logits"]}, sample_weight
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "baseline": self.baseline,
            "entropy_weight": self.entropy_weight,
            "cost": self.cost,
        }


def _without_column(labels, logits):
    """Return labels (B,) or (B, T) without the last axis of 1 that Keras' data sets give them."""
    return ops.squeeze(labels, axis=-1) if len(labels.shape) == len(logits.shape) else labels


def _of_labels(sample_weight, labels):
    """Return weights in the shape of the labels, (B,) or (B, T)."""
    if sample_weight is None:
        return None
    if len(labels.shape) == 2 and len(sample_weight.shape) == 1:
        sample_weight = ops.expand_dims(sample_weight, -1)
    sizes, got = labels.shape[1:], sample_weight.shape[1:]
    fits = len(sizes) == len(got) and all(
        one in (other, 1, None) or other is None for one, other in zip(got, sizes, strict=True)
    )
    if not fits:
        raise ValueError(
            f"sample_weight must have the shape of the labels {tuple(labels.shape)}, or (B,), got "
            f"{tuple(sample_weight.shape)}"
        )
    return ops.broadcast_to(sample_weight, ops.shape(labels))


def _has_labels(sample_weight):
    """Return 1 for each example with a label that counts, else 0, (B,)."""
    counts = ops.not_equal(sample_weight, 0)
    return ops.cast(ops.any(counts, axis=1) if len(counts.shape) == 2 else counts, "float32")


def _counted(sample_weight, picks):
    """Return which picks (B, T, S) count, (B, T): not those at padding. None: all count."""
    if sample_weight is None or len(sample_weight.shape) != 2:
        return None
    labels, steps = sample_weight.shape[1], picks.shape[1]
    if isinstance(labels, int) and isinstance(steps, int) and labels != steps:
        return None
    return ops.not_equal(sample_weight, 0)


def _crossentropies(labels, logits):
    """Return −ln p of each label, float32 in the shape of the labels."""
    return ops.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"), ops.cast(logits, "float32"), from_logits=True
    )


def _errors(labels, logits):
    """Return 1 for each label that is not the likeliest, otherwise 0."""
    likeliest = ops.argmax(logits, axis=-1)
    return ops.cast(ops.not_equal(likeliest, ops.cast(labels, likeliest.dtype)), "float32")


def _sums(numbers, weights=None):
    """Sum numbers (B, …), weighted if there are weights, over all axes but the first: (B,)."""
    if weights is not None:
        numbers = numbers * ops.cast(weights, numbers.dtype)
    return ops.sum(ops.reshape(numbers, (ops.shape(numbers)[0], -1)), axis=1)
