"""One compiled program for each shape of a batch, on every backend."""

import logging
import threading
from collections.abc import Iterable
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import keras
from keras import tree

from keras_attention.decoding.threads import count_of_threads, in_threads

TOGETHER = 16  # batches in a call on a GPU, few enough for a progress bar
# A model holds one function; and for the time of a call Keras hands the weights over to JAX, also
# those that other models share.
_TURN = threading.Lock()


class Programs:
    """Runs a Keras model on batches, with a separate program for each shape.

    Keras keeps one function for all shapes. On TensorFlow, from the second shape on, that function
    does not know the shape, so what depends on it, such as how a batch shrinks, cannot be compiled.
    On JAX one function has a program for each shape by itself.

    Args:
        model: a Keras model.
    """

    def __init__(self, model: keras.Model):
        self.model = model
        self._functions: dict[tuple[Any, ...], Any] = {}

    def __len__(self) -> int:
        """Return the number of programs."""
        return len(self._functions)

    def predict_on_batch(self, inputs: Any, run_eagerly: bool = False) -> Any:
        """Return the outputs for a structure of arrays, as NumPy arrays.

        Args:
            inputs: a structure of arrays.
            run_eagerly: whether to compute one operation after the other, without a program.
        """
        if run_eagerly:
            with _TURN:  # it may replace methods of layers that another model shares
                outputs = self.model(inputs, training=False)
            return tree.map_structure(keras.ops.convert_to_numpy, outputs)
        known = self._functions.get(_shapes(inputs))
        if known is not None and keras.backend.backend() == "tensorflow":
            # As Keras does, but without the lock: threads call it at the same time
            return tree.map_structure(keras.ops.convert_to_numpy, known([(inputs,)]))
        with _TURN, _tracing_is_meant():
            self._take_function(inputs)
            outputs = self.model.predict_on_batch(inputs)
            self._keep_function(inputs)
        return outputs

    def predict(self, batches: Iterable[Any], run_eagerly: bool = False) -> list[Any]:
        """Return the outputs for each batch, as `predict_on_batch` does.

        On TensorFlow and a CPU several threads compute a batch each: the operations of one are too
        small for all cores. On JAX Keras passes all weights into a call and back, which takes as
        long as a GPU needs for a batch. There a call has several batches, and the next begins
        before the last one is read.

        Args:
            batches: structures of arrays, all with as many rows. Their outputs have one shape.
            run_eagerly: as for `predict_on_batch`.
        """
        batches = iter(batches)
        first = [*islice(batches, 2)]
        batches = chain(first, batches)
        if len(first) > 1 and not run_eagerly:
            if _calls_are_costly():
                return self._predict_together(batches)
            if (threads := _threads()) > 1:
                return in_threads(self.predict_on_batch, batches, threads)
        return [self.predict_on_batch(inputs, run_eagerly) for inputs in batches]

    def _predict_together(self, batches):
        outputs = []
        while group := [*islice(batches, TOGETHER)]:
            found = self._predict_group(group)
            size = len(tree.flatten(group[0])[0])
            for start in range(0, size * len(group), size):
                rows = slice(start, start + size)
                outputs.append(tree.map_structure(lambda every, rows=rows: every[rows], found))
        return outputs

    def _predict_group(self, batches):
        """Return the outputs for all rows of some batches."""
        with _TURN:
            self._take_function(batches[0])
            try:
                each = ((inputs,) for inputs in batches)
                outputs = self.model.predict(each, steps=len(batches), verbose=0)
            except BaseException:
                self.model.jax_state_sync()  # else the model would be left without its weights
                raise
            for inputs in batches:
                self._keep_function(inputs)
        return outputs

    def _take_function(self, inputs):
        """Give the model, which holds only one function, that for inputs of these shapes."""
        is_any = keras.backend.backend() == "jax"
        shapes = next(iter(self._functions), None) if is_any else _shapes(inputs)
        self.model.predict_function = self._functions.get(shapes)

    def _keep_function(self, inputs):
        if (shapes := _shapes(inputs)) in self._functions:
            return
        function = self.model.predict_function
        if keras.backend.backend() == "tensorflow":
            # So that a call need not look for the trace of its shapes
            function = function.get_concrete_function([(inputs,)])
        self._functions[shapes] = function


def _threads():
    """Return how many batches are computed at the same time."""
    is_possible = keras.backend.backend() == "tensorflow" and _is_on_a_cpu()
    return count_of_threads() if is_possible else 1


def _calls_are_costly():
    """Return whether a call of a program takes about as long as what it computes."""
    return keras.backend.backend() == "jax" and not _is_on_a_cpu()


def _is_on_a_cpu():
    return keras.distribution.list_devices()[0].startswith("cpu")


def _shapes(inputs):
    """Return the shapes of a structure of arrays."""
    return tuple(array.shape for array in tree.flatten(inputs))


@contextmanager
def _tracing_is_meant():
    """Silence TensorFlow's warning of frequent tracing: one trace for each shape is meant."""

    def is_another(record):
        return "triggered tf.function retracing" not in record.getMessage()

    logger = logging.getLogger("tensorflow")
    logger.addFilter(is_another)
    try:
        yield
    finally:
        logger.removeFilter(is_another)
