import logging

import keras
import numpy as np
import pytest

from keras_attention.decoding import Programs

OFTEN = "5 out of the last 5 calls to <function> triggered tf.function retracing. Tracing is …"


@pytest.fixture
def warnings():
    """Return what is logged by TensorFlow's logger, as it comes."""
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("tensorflow")
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)


class Logging(keras.Model):
    """Logs as TensorFlow does when it is traced, and adds 1."""

    def call(self, numbers):
        logger = logging.getLogger("tensorflow")
        logger.warning(OFTEN)
        logger.warning("something else")
        return numbers + 1


def test_there_is_a_program_a_shape():
    numbers = keras.Input((None,))
    programs = Programs(keras.Model(numbers, keras.ops.add(numbers, numbers)))
    for shape in ((2, 3), (2, 3), (5, 3), (2, 7), (5, 3)):
        numbers = np.full(shape, 1.5, "float32")
        np.testing.assert_array_equal(programs.predict_on_batch(numbers), 2 * numbers)
    assert len(programs) == 3


def test_only_the_warning_of_what_is_meant_is_kept_back(warnings):
    Programs(Logging()).predict_on_batch(np.zeros((2, 3), "float32"))
    assert "something else" in warnings
    assert OFTEN not in warnings
    logging.getLogger("tensorflow").warning(OFTEN)
    assert OFTEN in warnings
