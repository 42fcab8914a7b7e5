"""Over which devices a run is spread: by `keras.distribution` on JAX, else by `tf.distribute`."""

import hashlib
import json
import os
from contextlib import nullcontext

import keras
import numpy as np

from keras_attention.corpora import ROWS
from keras_attention.distribution.processes import Processes
from keras_attention.distribution.replicas import ReplicatedCrossentropy
from keras_attention.training import MaskedCrossentropy

# The weights with an axis of the target vocabulary, and where in their shapes it is
_OF_THE_VOCABULARY = {
    r"(.*/)?target_embedding/embeddings": ("model", None),
    r"(.*/)?logits/kernel": (None, "model"),
    r"(.*/)?logits/bias": ("model",),
}


class Distribution:
    """How a run is spread over devices and processes; over one device of one, if nothing is given.

    Args:
        engine: `keras.distribution.Distribution`, `tf.distribute.Strategy` or None.
        shards: number of parts that a batch is cut into.
        processes: `Processes` that have been joined.
        vocabulary_shards: number of parts that the target vocabulary is cut into.
    """

    def __init__(self, engine=None, shards=1, processes=None, vocabulary_shards=1):
        self.engine, self.shards = engine, shards
        self.processes = processes or Processes()
        self.vocabulary_shards = vocabulary_shards

    @property
    def is_first(self):
        """Whether this process writes the files and speaks."""
        return self.processes.is_first

    @property
    def part(self):
        """Which part of each batch this process builds: its number, and how many there are."""
        return self.processes.process_id, self.processes.number

    @property
    def crossentropy(self):
        """The class of the loss."""
        is_replicated = self.engine and keras.backend.backend() == "tensorflow"
        return ReplicatedCrossentropy if is_replicated else MaskedCrossentropy

    @property
    def jit_compile(self):
        """Whether Keras asks XLA to compile the steps; None: as with one device.

        Under `tf.distribute` it would compile all replicas as one program for one device, and XLA
        refuses variables of another; a TPU compiles anyway.
        """
        return False if self.crossentropy is ReplicatedCrossentropy else None

    def scope(self):
        """Return the context in which a model is built, compiled and trained."""
        return self.engine.scope() if self.engine else nullcontext()

    def check_batch_size(self, settings):
        """Check that the batches of a run can be cut into equal parts.

        Args:
            settings: `keras_attention.runs.settings.Settings`.

        Raises:
            ValueError: they cannot.
        """
        if settings.batch_tokens is not None and ROWS % self.shards:
            raise ValueError(
                f"with batch_tokens a batch holds a multiple of {ROWS} sentences, which is not cut "
                f"into {self.shards} equal parts, one for each device; use batch_size"
            )
        if settings.batch_tokens is None and settings.batch_size % self.shards:
            raise ValueError(
                f"batch_size must be a multiple of the {self.shards} parts that a batch is cut "
                f"into, one for each device, got {settings.batch_size}"
            )

    def check_vocabulary(self, size):
        """Check that the target vocabulary can be cut into equal parts.

        Raises:
            ValueError: it cannot.
        """
        if size % self.vocabulary_shards:
            raise ValueError(
                f"the target vocabulary must be a multiple of the {self.vocabulary_shards} devices "
                f"that it is spread over (--shard-vocabulary), got {size} tokens; --vocabulary "
                f"{size - size % self.vocabulary_shards} cuts it"
            )

    def check_same(self, config):
        """Check that every process was started alike.

        Raises:
            ValueError: this process has another configuration than the first.
        """
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
        first = self.processes.of_first(lambda: digest)
        if digest != first:
            raise ValueError(
                f"process {self.processes.process_id} has other settings or sentence pairs than "
                "process 0: start all processes with the same options, corpus and versions"
            )

    def restore(self, model, read):
        """Give a model in scope the weights, and its optimizer the state, of one that is read.

        Args:
            model: built and compiled.
            read: function that returns the model with the values; only the first process calls it.
        """
        with self.scope():
            model.optimizer.build(model.trainable_variables)
        variables = _variables(model)
        values = self._values_of_first(variables, lambda: _variables(read()))
        with self.scope():
            _assign(variables, values)

    def broadcast(self, model, read):
        """Let the first process `read` weights into a model, and give them to every process."""
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


def spread(devices=None, processes=None, vocabulary_shards=1):
    """Spread a run over devices: each gets a part of every batch.

    Args:
        devices: a number of devices of each process, `"auto"` for all there are, None for one.
        processes: `Processes` that have been joined, None: this one alone.
        vocabulary_shards: number of devices over which the target embedding and the weights that
            make the logits are cut along the vocabulary (JAX); the batch is cut over the rest.

    Returns:
        A `Distribution`.

    Raises:
        ValueError: the backend cannot do it, or there are not as many devices; the message lists
            those there are.
    """
    processes = processes or Processes()
    backend = keras.backend.backend()
    if vocabulary_shards < 1:
        raise ValueError(f"shard_vocabulary must be at least 1, got {vocabulary_shards}")
    if vocabulary_shards > 1 and backend != "jax":
        raise ValueError(f"shard_vocabulary needs KERAS_BACKEND=jax, got {backend}")
    if vocabulary_shards > 1 and processes.are_several:
        raise ValueError("shard_vocabulary goes with one process, got several")
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
    if processes.are_several:  # by the same count in each process, from those of all
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
    """Return the first so many of the known devices, or say which there are."""
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
