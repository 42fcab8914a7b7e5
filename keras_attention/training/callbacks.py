"""Callbacks for `fit`: divergence, random numbers, and checkpoints that survive a kill."""

import json
import math
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_attention.storage import (
    check_files,
    check_hints,
    check_type,
    naming,
    read_json,
    remove,
    sha256_of,
    written_whole,
)

MODEL_FILE, BEST_FILE, HISTORY_FILE = FILES = "model.keras", "best.keras", "history.json"
HASHES_FILE = "sha256.json"  # of the other files of a checkpoint


class StopOnDivergence(keras.callbacks.Callback):
    """Stop training when the loss is not finite, and say at which step and what to try.

    If several calls of `fit` share this callback, it counts their steps together. If Keras executes
    several steps at once, the error names the last of them.

    Args:
        at_once: whether to check each step before the next one begins, so that several processes
            all stop at the same step. Otherwise another thread checks the loss while the device
            continues, and some steps may follow the one named.

    Raises:
        ValueError: the loss of a batch is NaN or infinite.
    """

    def __init__(self, at_once: bool = False):
        super().__init__()
        self.async_safe = not at_once  # Keras' name for what may run in another thread
        self.before = self.steps = 0
        self._counts = threading.Lock()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.before = self.steps

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        step = self.before + batch + 1
        with self._counts:  # threads may run concurrently and out of order
            self.steps = max(self.steps, step)
        loss = (logs or {}).get("loss", 0.0)
        if not math.isfinite(loss):
            raise ValueError(
                f"training diverged: the loss is {loss} at step {step}. Try a smaller "
                "learning rate, clipping gradients by their global norm, or another random seed"
            )


class SeedEachEpoch(keras.callbacks.Callback):
    """Seed dropout from a random seed and the epoch number, whatever was drawn before.

    A saved model does not store the state of its random generators. With this callback, a run that
    resumes from its last epoch has the same dropout as an uninterrupted run, if its steps divide
    their batches into as many parts (`models.DividedModel`).

    Args:
        seed: the random seed.
    """

    def __init__(self, seed: int):
        super().__init__()
        self.seed = seed

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        kept = {id(variable) for variable in self.model.weights}
        states = [v for v in self.model.non_trainable_variables if id(v) not in kept]
        process, *numbers = np.random.SeedSequence((self.seed, epoch)).spawn(1 + len(states))
        # PyTorch's dropout uses the generator of the process. TensorFlow's does not, and would
        # optimize the graph of a step anew, which takes seconds, once it is seeded.
        if keras.backend.backend() == "torch":
            keras.utils.set_random_seed(int(process.generate_state(1)[0]))
        for state, drawn in zip(states, numbers, strict=True):
            state.assign(drawn.generate_state(*state.shape) >> 1)


@contextmanager
def _undistributed():
    """Create the variables of a block in this process alone; saving a model needs this."""
    distribution = keras.distribution.distribution()
    keras.distribution.set_distribution(None)
    try:
        yield
    finally:
        keras.distribution.set_distribution(distribution)


class RunCheckpoint(keras.callbacks.Callback):
    """Save after every epoch all that a run needs to resume, and stop when nothing improves.

    The history alone gives the number of epochs and the best one, so a run that is killed and
    resumes from its last epoch ends as if it had never been interrupted.

    Args:
        folder: folder of the checkpoints. Each epoch writes a folder, such as `epoch-00003`, and
            only the last is kept. It contains `model.keras` with the optimizer state, `best.keras`,
            the model of the best epoch, `history.json`, and `sha256.json` with the hashes of these.
        monitor: the logged value to minimize.
        patience: number of epochs without improvement after which training stops.
        writes: whether this process writes checkpoints. Of several processes that train together,
            one writes, and all stop when it stops.

    Raises:
        FileNotFoundError: a file of the last checkpoint is missing.
        ValueError: a file of the last checkpoint has changed or is damaged; the message names it.
            Or an epoch ends without the value to monitor.
    """

    def __init__(
        self,
        folder: Path | str,
        monitor: str = "val_masked_loss",
        patience: int = 3,
        writes: bool = True,
    ):
        super().__init__()
        self.writes = writes
        self.folder, self.monitor, self.patience = Path(folder), monitor, patience
        last = self.last() if writes else None
        self.history = self._read(last) if last else {}

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.history.get(self.monitor, []))

    @property
    def best_epoch(self) -> int:
        """Number of the epoch with the smallest monitored value, counted from 0; NaN is largest."""
        return int(np.argmin(np.nan_to_num(self.history[self.monitor], nan=np.inf)))

    @property
    def should_stop(self) -> bool:
        """Whether the last `patience` epochs brought no improvement."""
        return self.epochs > 0 and self.epochs - 1 - self.best_epoch >= self.patience

    def last(self) -> Path | None:
        """Return the folder of the last complete checkpoint, or None."""
        return max(self.folder.glob("epoch-*"), default=None)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self.monitor not in logs:
            raise ValueError(
                f"the checkpoint of a run needs {self.monitor} after each epoch, got "
                f"{', '.join(logs) or 'nothing'}: give fit validation_data, or monitor another"
            )
        for name, value in logs.items():
            self.history.setdefault(name, []).append(float(value))
        if self.writes:
            with _undistributed():
                self._write()
        if self.should_stop:
            self.model.stop_training = True

    def _read(self, last):
        """Return the history of a checkpoint, after checking all its files."""
        hashes = read_json(last / HASHES_FILE)
        with naming(last / HASHES_FILE):
            check_hints(hashes, dict.fromkeys(FILES, str), required=FILES)
        check_files(last, hashes)
        history = read_json(last / HISTORY_FILE)
        with naming(last / HISTORY_FILE):
            check_type(history, dict[str, list[float]])
            epochs = {name: len(curve) for name, curve in history.items()}
            if not 0 < max(epochs.values(), default=0) == epochs.get(self.monitor):
                raise ValueError(
                    f"expected a curve {self.monitor} of all epochs, got epochs {epochs}"
                )
        return history

    def _write(self):
        before, last = self.last(), self.folder / f"epoch-{self.epochs:05d}"
        with written_whole(last) as folder:
            folder.mkdir()
            self.model.save(folder / MODEL_FILE)
            is_best = self.best_epoch == self.epochs - 1
            shutil.copy(folder / MODEL_FILE if is_best else before / BEST_FILE, folder / BEST_FILE)
            (folder / HISTORY_FILE).write_text(json.dumps(self.history))
            hashes = {name: sha256_of(folder / name) for name in FILES}
            (folder / HASHES_FILE).write_text(json.dumps(hashes))
        # The epoch before, and what a kill has left
        for path in [*self.folder.glob("epoch-*"), *self.folder.glob(".partial-epoch-*")]:
            if path != last:
                remove(path)
