"""Divide batches, and not operations, among the cores of a CPU."""

import keras

from keras_attention.cores import count_of_cores
from keras_attention.kernels.choice import MOST_PARTS


def one_thread_an_operation() -> bool:
    """Let TensorFlow on a CPU of two to four cores compute each operation with one thread.

    The steps of a `DividedModel` then divide their batches in place of operations. TensorFlow
    accepts this only before it has computed anything, even the first weight of a model, and
    programs of XLA are slower with it. So call this only in a program, such as a command that
    trains, never in a library. On other backends, with a GPU or TPU, and with more cores than a
    step has parts, nothing happens.

    Returns:
        Whether TensorFlow accepted the setting.
    """
    if keras.backend.backend() != "tensorflow" or not 1 < count_of_cores() <= MOST_PARTS:
        return False
    import tensorflow as tf

    if any(device.device_type != "CPU" for device in tf.config.list_physical_devices()):
        return False
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
    except RuntimeError:
        return False
    return True
