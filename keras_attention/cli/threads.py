"""Divide batches, and not operations, among the cores of a CPU."""

import keras

from keras_attention.cores import count_of_cores
from keras_attention.kernels.choice import MOST_PARTS


def one_thread_an_operation() -> bool:
    """Let TensorFlow on a CPU compute an operation with one thread; with few, if there are many.

    The steps of a `DividedModel` then divide their batches in place of operations. TensorFlow
    accepts this only before it has computed anything, and programs of XLA are slower with it. So
    call this only in a program, such as a command that trains, never in a library. On other
    backends, and where there is a GPU or TPU, nothing happens.

    Returns:
        Whether TensorFlow accepted the setting.
    """
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    if any(device.device_type != "CPU" for device in tf.config.list_physical_devices()):
        return False
    threads = max(count_of_cores() // MOST_PARTS, 1)
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    except RuntimeError:
        return False
    return True
