"""What watches over a `fit`: divergence, random numbers, and checkpoints that survive a kill."""

import json
import math
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import keras
import numpy as np

from keras_attention.storage import written_whole


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
