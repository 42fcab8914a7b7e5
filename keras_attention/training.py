"""Loss and metrics for sentences of unequal length, and checkpoints that survive a kill.

Padding, id 0, counts for nothing: every mean is over the real target tokens.
"""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attention.files import written_whole


def _crossentropies(y_true, y_pred):
    """Return −ln p of each target token, (B, T) float32, in nats."""
    return ops.sparse_categorical_crossentropy(
        ops.cast(y_true, "int32"), ops.cast(y_pred, "float32"), from_logits=True
    )


def _is_token(y_true):
    return ops.cast(ops.not_equal(y_true, 0), "float32")


@keras.saving.register_keras_serializable("keras_attention")
class MaskedCrossentropy(keras.losses.Loss):
    """The mean of −ln p over the real tokens of a batch, in nats.

    The tutorial's `masked_loss`. An untrained model over V words starts near ln V.

    Call arguments:
        y_true: target ids (B, T); 0 is padding.
        y_pred: logits (B, T, V).
    """

    def __init__(self, name="masked_crossentropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def call(self, y_true, y_pred):
        mask = _is_token(y_true)
        return ops.sum(_crossentropies(y_true, y_pred) * mask) / ops.maximum(ops.sum(mask), 1.0)


@keras.saving.register_keras_serializable("keras_attention")
class MaskedLoss(keras.metrics.Mean):
    """The mean of −ln p over the real tokens of all batches, in nats.

    Keras averages the loss over batches, so that a token of a short batch counts for more than one
    of a long batch; here every token counts the same. Takes what `MaskedCrossentropy` takes.
    """

    def __init__(self, name="masked_loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(_crossentropies(y_true, y_pred), _is_token(y_true))


@keras.saving.register_keras_serializable("keras_attention")
class MaskedAccuracy(keras.metrics.Mean):
    """The share of the real tokens, over all batches, whose own logit is the largest.

    The tutorial's `masked_acc`. Takes what `MaskedCrossentropy` takes. Compares the largest logit
    with that of the right answer, since an argmax over V is several times slower on a CPU.
    """

    def __init__(self, name="masked_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        answer = ops.expand_dims(ops.cast(y_true, "int32"), -1)
        right = ops.take_along_axis(y_pred, answer, axis=-1)[..., 0] >= ops.max(y_pred, axis=-1)
        super().update_state(ops.cast(right, "float32"), _is_token(y_true))


def compile_for_training(model, learning_rate=1e-3):
    """Compile with Adam, the masked loss and the masked metrics; with XLA where there is one."""
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss=MaskedCrossentropy(),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=keras.backend.backend() != "torch",
    )


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
    """

    def __init__(self, folder, monitor="val_masked_loss", patience=3):
        super().__init__()
        self.folder, self.monitor, self.patience = Path(folder), monitor, patience
        last = self.last()
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
        before = self.last()
        for name, value in logs.items():
            self.history.setdefault(name, []).append(float(value))
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
        if self.should_stop:
            self.model.stop_training = True
