"""One compiled program for each shape of a batch, whatever the backend."""

import logging
import threading
from contextlib import contextmanager

from keras import tree


class Programs:
    """Runs a Keras model on batches, by a program of its own for each shape.

    Keras keeps one function for all shapes; on TensorFlow, it no longer knows them from the second
    one on, and what depends on a shape, such as how a batch shrinks, could not be compiled.

    Args:
        model: a Keras model.
    """

    def __init__(self, model):
        self.model, self._functions, self._turn = model, {}, threading.Lock()

    def __len__(self):
        """Return how many there are."""
        return len(self._functions)

    def predict_on_batch(self, inputs):
        """Return the outputs for a structure of arrays, as NumPy arrays."""
        shapes = tuple(array.shape for array in tree.flatten(inputs))
        with self._turn, _tracing_is_meant():  # the model has one place for a function
            self.model.predict_function = self._functions.get(shapes)
            outputs = self.model.predict_on_batch(inputs)
            self._functions[shapes] = self.model.predict_function
        return outputs


@contextmanager
def _tracing_is_meant():
    """Keep TensorFlow from warning that Keras' function is traced often: once for each shape."""

    def is_another(record):
        return "triggered tf.function retracing" not in record.getMessage()

    logger = logging.getLogger("tensorflow")
    logger.addFilter(is_another)
    try:
        yield
    finally:
        logger.removeFilter(is_another)
