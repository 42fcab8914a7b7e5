"""One compiled program for each shape of a batch, on every backend."""

import logging
import threading
from contextlib import contextmanager
from typing import Any

import keras
from keras import tree


class Programs:
    """Runs a Keras model on batches, with a separate program for each shape.

    Keras keeps one function for all shapes. On TensorFlow, from the second shape on, that function
    does not know the shape, so what depends on it, such as how a batch shrinks, cannot be compiled.

    Args:
        model: a Keras model.
    """

    def __init__(self, model: keras.Model):
        self.model, self._turn = model, threading.Lock()
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
            return tree.map_structure(
                keras.ops.convert_to_numpy, self.model(inputs, training=False)
            )
        shapes = tuple(array.shape for array in tree.flatten(inputs))
        with self._turn, _tracing_is_meant():  # the model holds only one function
            self.model.predict_function = self._functions.get(shapes)
            outputs = self.model.predict_on_batch(inputs)
            self._functions[shapes] = self.model.predict_function
        return outputs


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
