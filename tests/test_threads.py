"""What the command line tells TensorFlow before it begins: in a process of its own each time."""

import os
import subprocess
import sys
from types import SimpleNamespace

import keras
import pytest

from keras_attention.cli import threads
from keras_attention.cores import count_of_cores
from keras_attention.kernels.choice import MOST_PARTS

tf = pytest.importorskip("tensorflow")

FEW = max(count_of_cores() // MOST_PARTS, 1)
PROGRAM = """
import sys
import tensorflow as tf
from keras_attention.cli.threads import one_thread_an_operation
if "late" in sys.argv:
    tf.zeros(3)
print(one_thread_an_operation(), tf.config.threading.get_intra_op_parallelism_threads())
"""


def said(when, backend="tensorflow"):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, when],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


def test_before_tensorflow_begins_an_operation_gets_few_threads():
    assert said("early") == ["True", str(FEW)]


def test_later_tensorflow_keeps_its_threads():
    assert said("late") == ["False", "0"]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="asks TensorFlow")
def test_where_there_is_a_gpu_or_another_backend_tensorflow_keeps_its_threads(monkeypatch):
    asked = []
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", asked.append)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(keras.backend, "backend", lambda: "jax")
        assert not threads.one_thread_an_operation()
    gpu = SimpleNamespace(device_type="GPU")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda: [gpu])
    assert not threads.one_thread_an_operation()
    assert asked == []
