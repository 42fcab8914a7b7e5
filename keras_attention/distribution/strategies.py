"""Spread a run over devices: `keras.distribution` on JAX, `tf.distribute` on TensorFlow."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import keras
import numpy as np

from keras_attention import __version__
from keras_attention.corpora import ROWS
from keras_attention.distribution.processes import Processes
from keras_attention.distribution.replicas import ReplicatedCrossentropy
from keras_attention.training import MaskedCrossentropy

# The weights that have an axis of the target vocabulary, and the position of that axis
_OF_THE_VOCABULARY = {
    r"(.*/)?target_embedding/embeddings": ("model", None),
    r"(.*/)?logits/kernel": (None, "model"),
    r"(.*/)?logits/bias": ("model",),
}


class Distribution:
    """How a run is spread over devices and processes; by default one device of one process.

    Args:
        engine: `keras.distribution.Distribution`, `tf.distribute.Strategy` or None.
        shards: number of parts of a batch.
        processes: `Processes`, already joined.
        vocabulary_shards: number of parts of the target vocabulary.
    """

    def __init__(
        self,
        engine: Any = None,
        shards: int = 1,
        processes: Processes | None = None,
        vocabulary_shards: int = 1,
    ):
        self.engine, self.shards = engine, shards
        self.processes = processes or Processes()
        self.vocabulary_shards = vocabulary_shards

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files and prints."""
        return self.processes.is_first

    @property
    def part(self) -> tuple[int, int]:
        """The part of each batch that this process builds: its number, and the number of parts."""
        # Both are integers once the processes have joined.
        return self.processes.process_id, self.processes.number  # type: ignore[return-value]

    @property
    def crossentropy(self) -> type[MaskedCrossentropy]:
        """The class of the loss."""
        is_replicated = self.engine and keras.backend.backend() == "tensorflow"
        return ReplicatedCrossentropy if is_replicated else MaskedCrossentropy

    @property
    def has_xla(self) -> bool:
        """Whether Keras can ask XLA to compile the steps.

        Under `tf.distribute` it would compile all replicas as one program for one device, and XLA
        rejects the variables of other devices. A TPU always compiles.
        """
        return self.crossentropy is not ReplicatedCrossentropy

    def scope(self) -> AbstractContextManager[Any]:
        """Return the context in which to build, compile and train a model."""
        return self.engine.scope() if self.engine else nullcontext()

    def check_batch_size(self, settings: Any) -> None:
        """Check that the batches of a run divide into equal parts.

        Args:
            settings: `keras_attention.runs.settings.Settings`.

        Raises:
            ValueError: they do not.
        """
        if settings.batch_size is None and ROWS % self.shards:
            raise ValueError(
                f"with batch_tokens a batch holds a multiple of {ROWS} sentences, which does not "
                f"divide into {self.shards} equal parts, one for each device; use batch_size"
            )
        if settings.batch_size is not None and settings.batch_size % self.shards:
            raise ValueError(
                f"batch_size must be a multiple of the {self.shards} parts of a batch, one for "
                f"each device, got {settings.batch_size}"
            )

    def check_vocabulary(self, size: int) -> None:
        """Check that the target vocabulary divides into equal parts.

        Raises:
            ValueError: it does not.
        """
        if size % self.vocabulary_shards:
            raise ValueError(
                f"the target vocabulary must be a multiple of the {self.vocabulary_shards} devices "
                f"that share it (--shard-vocabulary), got {size} tokens; of words --vocabulary "
                f"{size - size % self.vocabulary_shards} fits; of pieces of words fewer than asked "
                "for may be learned, so try other numbers"
            )

    def check_same(self, config: dict[str, Any]) -> None:
        """Check that every process has the same versions and the same configuration.

        Raises:
            ValueError: in every process, if they have not.
        """
        backend = import_module(keras.backend.backend())
        versions = (
            f"keras_attention {__version__}, keras {keras.__version__}, "
            f"{backend.__name__} {backend.__version__}"
        )
        if not self.processes.agree_on(versions):
            raise ValueError(
                f"the processes have different versions, process {self.processes.process_id} has "
                f"{versions}: install the same everywhere"
            )
        if not self.processes.agree_on(config):
            raise ValueError(
                "the processes have different settings or sentence pairs: start all of them with "
                "the same options and corpus"
            )

    def restore(self, model: keras.Model, read: Callable[[], keras.Model]) -> None:
        """Copy the weights and the optimizer's state of another model into a model in scope.

        Args:
            model: built and compiled.
            read: returns the other model; only the first process calls it.
        """
        with self.scope():
            model.optimizer.build(model.trainable_variables)
        variables = _variables(model)
        values = self._values_of_first(variables, lambda: _variables(read()))
        with self.scope():
            _assign(variables, values)

    def broadcast(self, model: keras.Model, read: Callable[[], Any]) -> None:
        """Call `read` in the first process to load the model's weights; send them to the others."""
        if self.is_first:
            read()
        if self.processes.are_several:
            values = self._values_of_first(model.weights, lambda: model.weights)
            _assign(model.weights, values)

    def _values_of_first(self, variables, read):
        values = [np.zeros(v.shape, keras.backend.standardize_dtype(v.dtype)) for v in variables]
        if self.is_first:
            values = [keras.ops.convert_to_numpy(value) for value in read()]
        return self.processes.broadcast(values)


def spread(
    devices: int | str | None = None,
    processes: Processes | None = None,
    vocabulary_shards: int = 1,
) -> Distribution:
    """Spread a run over devices: each gets a part of every batch.

    Args:
        devices: number of devices of each process, `"auto"` for all of them, None for one.
        processes: `Processes`, already joined; None: this process alone.
        vocabulary_shards: number of devices that share the target embedding and the weights of the
            logits, split along the vocabulary (JAX). With n devices in all, the batch is split into
            n / vocabulary_shards parts.

    Returns:
        A `Distribution`.

    Raises:
        ValueError: the backend does not support this, or there are too few devices; the message
            lists the devices.
    """
    processes = processes or Processes()
    backend = keras.backend.backend()
    if vocabulary_shards < 1:
        raise ValueError(f"shard_vocabulary must be at least 1, got {vocabulary_shards}")
    if vocabulary_shards > 1 and backend != "jax":
        raise ValueError(f"shard_vocabulary needs KERAS_BACKEND=jax, got {backend}")
    if vocabulary_shards > 1 and processes.are_several:
        raise ValueError("shard_vocabulary needs a single process, got several")
    if devices in (None, 1, "1") and vocabulary_shards == 1 and not processes.are_several:
        return Distribution()
    if backend == "jax":
        return _over_jax(devices, processes, vocabulary_shards)
    if backend == "tensorflow":
        return _over_tensorflow(devices)
    raise ValueError(
        f"several devices need KERAS_BACKEND=jax or KERAS_BACKEND=tensorflow, got {backend}"
    )


def _over_jax(devices, processes, vocabulary_shards):
    import jax

    local = [f"{device.platform}:{device.id}" for device in jax.local_devices()]
    chosen = set(_choose(devices, local))
    if processes.are_several:  # the same number of devices from every process
        names = {}
        for device in jax.devices():
            names.setdefault(device.process_index, []).append(f"{device.platform}:{device.id}")
        if len({len(each) for each in names.values()}) > 1:
            raise ValueError(
                f"every process needs the same number of devices, got {sorted(names.values())}"
            )
        chosen = [name for each in names.values() for name in each[: len(chosen)]]
    else:
        chosen = [name for name in local if name in chosen]
    if len(chosen) % vocabulary_shards:
        raise ValueError(
            f"shard_vocabulary must divide the number of devices, {len(chosen)}, got "
            f"{vocabulary_shards}"
        )
    if vocabulary_shards == 1:
        engine = keras.distribution.DataParallel(devices=chosen, auto_shard_dataset=False)
        return Distribution(engine, len(chosen), processes)
    shards = len(chosen) // vocabulary_shards
    mesh = keras.distribution.DeviceMesh((shards, vocabulary_shards), ("batch", "model"), chosen)
    layout = keras.distribution.LayoutMap(mesh)
    for path, axes in _OF_THE_VOCABULARY.items():
        layout[path] = axes
    engine = keras.distribution.ModelParallel(layout_map=layout, auto_shard_dataset=False)
    return Distribution(engine, shards, processes, vocabulary_shards)


def _over_tensorflow(devices):
    import tensorflow as tf

    if "TPU_NAME" in os.environ or tf.config.list_physical_devices("TPU"):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(os.environ.get("TPU_NAME", ""))
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        engine = tf.distribute.TPUStrategy(resolver)
        cores = engine.num_replicas_in_sync
        _choose(devices, [f"tpu:{i}" for i in range(cores)], all_or_none=True)
        return Distribution(engine, cores)
    known = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    chosen = _choose(devices, [device.name for device in known])
    if len(chosen) == 1:
        return Distribution()
    return Distribution(tf.distribute.MirroredStrategy(chosen), len(chosen))


def _choose(devices, known, all_or_none=False):
    """Return as many of the known devices as requested, or list them in an error."""
    if devices == "auto":
        return known
    devices = 1 if devices is None else devices
    count = int(devices) if str(devices).isdecimal() else 0
    if not 1 <= count <= len(known) or (all_or_none and count != len(known)):
        raise ValueError(
            f"devices must be auto or a number from {len(known) if all_or_none else 1} to "
            f"{len(known)}, got {devices!r}; there are {', '.join(known)}"
        )
    return known[:count]


def _assign(variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _variables(model):
    return [*model.weights, *model.optimizer.variables]
