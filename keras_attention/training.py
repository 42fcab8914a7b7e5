"""Loss and metrics for sentences of unequal length, and checkpoints that survive a kill.

Padding, id 0, counts for nothing: every mean is over the real target tokens.
"""

import json
import math
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attention.storage import written_whole


def _crossentropies(y_true, y_pred):
    """Return −ln p of each target token, (B, T) float32, in nats.

    ln Σ_v exp logit_v − logit_y: with the logits (B, T, V) only their exponentials need to be kept
    for the gradient, and no logarithm of the softmax, which would be as large again.
    """
    logits = ops.cast(y_pred, "float32")
    return ops.logsumexp(logits, axis=-1) - _of_the_answer(y_true, logits)


def _of_the_answer(y_true, logits):
    """Return the logits (B, T) of the right answers."""
    # Not gathered: the gradient of a gather is a scatter into zeros (B, T, V).
    is_right = ops.arange(logits.shape[-1]) == ops.expand_dims(ops.cast(y_true, "int32"), -1)
    return ops.sum(ops.where(is_right, logits, 0.0), axis=-1)


def _above_the_mean(y_true, y_pred):
    """Return how far the logit of the right answer is above the mean of all logits, (B, T)."""
    logits = ops.cast(y_pred, "float32")
    return _of_the_answer(y_true, logits) - ops.mean(logits, axis=-1)


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
        losses = _crossentropies(y_true, y_pred)
        if self.label_smoothing > 0:
            # −Σ_v q_v ln p_v with q_y = 1 − ε + ε/V and q_v = ε/V elsewhere
            losses = losses + self.label_smoothing * _above_the_mean(y_true, y_pred)
        return losses

    def get_config(self):
        own = {"label_smoothing": self.label_smoothing, "class_weight": self.class_weight}
        return {**super().get_config(), **own}


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
        self.take(_crossentropies(y_true, y_pred), y_true, sample_weight)


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


class StopOnDivergence(keras.callbacks.Callback):
    """Stop a training whose loss is no longer a number, and say at which step and what to try.

    Given to several calls of `fit`, it counts their steps together. Where Keras executes several
    steps at once, the step is the last of them.

    Args:
        at_once: whether each step is looked at before the next one begins, so that of several
            processes all stop at the same step. Otherwise another thread looks at it, while the
            device goes on, and some steps may follow the one that is named.

    Raises:
        ValueError: the loss of a batch is NaN or infinite.
    """

    def __init__(self, at_once=False):
        super().__init__()
        self.async_safe = not at_once  # Keras' name for what may run beside the training
        self.before = self.steps = 0
        self._counts = threading.Lock()

    def on_epoch_begin(self, epoch, logs=None):
        self.before = self.steps

    def on_train_batch_end(self, batch, logs=None):
        step = self.before + batch + 1
        with self._counts:  # threads may come at once, and in another order
            self.steps = max(self.steps, step)
        loss = (logs or {}).get("loss", 0.0)
        if not math.isfinite(loss):
            raise ValueError(
                f"training diverged: the loss is {loss} at step {step}. Try a smaller "
                "learning rate, gradients clipped by their global norm, or another seed"
            )


class SeedEachEpoch(keras.callbacks.Callback):
    """Let dropout draw by a seed and the number of the epoch, whatever was drawn before.

    A saved model does not hold where its random numbers are. With this, a run that goes on from its
    last epoch drops what it would have dropped, had it not been interrupted.

    Args:
        seed: of the numbers.
    """

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def on_epoch_begin(self, epoch, logs=None):
        kept = {id(variable) for variable in self.model.weights}
        states = [v for v in self.model.non_trainable_variables if id(v) not in kept]
        # The first numbers are for PyTorch, whose dropout draws from the generator of the process
        process, *numbers = np.random.SeedSequence((self.seed, epoch)).spawn(1 + len(states))
        keras.utils.set_random_seed(int(process.generate_state(1)[0]))
        for state, drawn in zip(states, numbers, strict=True):
            state.assign(drawn.generate_state(*state.shape) >> 1)


@keras.saving.register_keras_serializable("keras_attention")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises evenly to its peak, and then falls.

    With `decay_steps` None, the schedule of eq. 3 of Vaswani et al. (2017),
    lr = peak · min(step / warm_up, √(warm_up / step)), where the paper's peak for a model of width
    D is 1 / √(D · warm_up), see `vaswani_peak`. Otherwise it falls along a cosine to 0 at
    `decay_steps`, for a training whose length is known.

    Args:
        peak: the largest learning rate.
        warm_up: steps until the peak.
        decay_steps: steps until the end, or None.

    Raises:
        ValueError: the peak is not positive, or a number of steps is out of order.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762; Loshchilov, Hutter
        (2017), SGDR, arXiv:1608.03983, eq. 5, for the cosine.
    """

    def __init__(self, peak, warm_up, decay_steps=None):
        if not peak > 0:
            raise ValueError(f"peak must be positive, got {peak}")
        if warm_up < 1 or (decay_steps is not None and decay_steps <= warm_up):
            raise ValueError(
                "warm_up must be at least 1 and decay_steps above it, got "
                f"{warm_up} and {decay_steps}"
            )
        self.peak, self.warm_up, self.decay_steps = peak, warm_up, decay_steps

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1  # the first step is number 0
        rising = step / self.warm_up
        if self.decay_steps is None:
            falling = ops.sqrt(self.warm_up / step)
        else:
            passed = (step - self.warm_up) / (self.decay_steps - self.warm_up)
            falling = (1 + ops.cos(math.pi * ops.clip(passed, 0.0, 1.0))) / 2
        return self.peak * ops.minimum(rising, falling)

    def get_config(self):
        return {"peak": self.peak, "warm_up": self.warm_up, "decay_steps": self.decay_steps}


def vaswani_peak(width, warm_up=4000):
    """Return the peak of the learning rate in eq. 3 of Vaswani et al. (2017).

    Example:
    >>> round(vaswani_peak(512), 6)
    0.000699
    """
    return 1 / math.sqrt(width * warm_up)


def compile_for_training(
    model,
    learning_rate=1e-3,
    *,
    warm_up=0,
    decay_steps=None,
    label_smoothing=0.0,
    crossentropy=MaskedCrossentropy,
    jit_compile=None,
):
    """Compile with Adam, the masked loss and the masked metrics; with XLA where there is one.

    Args:
        model: of this package, compiled in place.
        learning_rate: of Adam; with `warm_up`, its peak.
        warm_up: steps of the schedule `WarmUp`, with the β₂ = 0.98 and ε = 1e-9 that Vaswani et al.
            (2017) use with it; 0: the learning rate stays as it is, with Keras' β₂ and ε.
        decay_steps: of `WarmUp`.
        label_smoothing: of `MaskedCrossentropy`.
        crossentropy: its class, or one that extends it.
        jit_compile: whether XLA compiles the steps; None: where the backend has it.
    """
    if jit_compile is None:
        jit_compile = keras.backend.backend() != "torch"
    if warm_up:
        schedule = WarmUp(learning_rate, warm_up, decay_steps)
        optimizer = keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9)
    else:
        optimizer = keras.optimizers.Adam(learning_rate)
    model.compile(
        optimizer,
        loss=crossentropy(label_smoothing=label_smoothing),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=jit_compile,
    )
    _make_variables(model)


def _make_variables(model):
    """Make the variables of the optimizer and the metrics of a model.

    TensorFlow traces a step a second time if the first time made any of them.
    """
    model.optimizer.build(model.trainable_variables)
    model.compute_metrics(None, np.ones((1, 1), "int32"), np.ones((1, 1, 2), "float32"))
    model.reset_metrics()


@contextmanager
def _undistributed():
    """Make what is made in a block for this process alone: saving makes variables of its own."""
    distribution = keras.distribution.distribution()
    keras.distribution.set_distribution(None)
    try:
        yield
    finally:
        keras.distribution.set_distribution(distribution)


class RunCheckpoint(keras.callbacks.Callback):
    """Leave after every epoch all that is needed to go on, and stop when nothing improves.

    The history alone says how many epochs have passed and which was the best; so a run that is
    killed and goes on from its last epoch ends as if it had never been interrupted.

    Args:
        folder: where the checkpoints go, one folder an epoch, of which the last is kept:
            `model.keras` with the state of the optimizer, `best.keras`, which is that of the best
            epoch, and `history.json`.
        monitor: the logged value that is to become small.
        patience: epochs without improvement after which training stops.
        writes: whether this process leaves checkpoints; of several that train together one does,
            and all of them stop when it does.
    """

    def __init__(self, folder, monitor="val_masked_loss", patience=3, writes=True):
        super().__init__()
        self.writes = writes
        self.folder, self.monitor, self.patience = Path(folder), monitor, patience
        last = self.last() if writes else None
        self.history = json.loads((last / "history.json").read_text()) if last else {}

    @property
    def epochs(self):
        """Number of epochs that have finished."""
        return len(self.history.get(self.monitor, []))

    @property
    def best_epoch(self):
        """Number of the epoch with the smallest monitored value, counted from 0; NaN is largest."""
        return int(np.argmin(np.nan_to_num(self.history[self.monitor], nan=np.inf)))

    @property
    def should_stop(self):
        """Whether the last `patience` epochs brought nothing new."""
        return self.epochs > 0 and self.epochs - 1 - self.best_epoch >= self.patience

    def last(self):
        """Return the folder of the last whole checkpoint, or None."""
        return max(self.folder.glob("epoch-*"), default=None)

    def on_epoch_end(self, epoch, logs=None):
        for name, value in logs.items():
            self.history.setdefault(name, []).append(float(value))
        if self.writes:
            with _undistributed():
                self._write()
        if self.should_stop:
            self.model.stop_training = True

    def _write(self):
        before = self.last()
        with written_whole(self.folder / f"epoch-{self.epochs:05d}") as folder:
            folder.mkdir()
            self.model.save(folder / "model.keras")
            is_best = self.best_epoch == self.epochs - 1
            shutil.copy(
                folder / "model.keras" if is_best else before / "best.keras", folder / "best.keras"
            )
            (folder / "history.json").write_text(json.dumps(self.history))
        if before:
            shutil.rmtree(before)
