"""What the command line tells TensorFlow before it begins."""

import os
import subprocess
import sys
from types import SimpleNamespace

import keras
import pytest

from keras_attention.cli import dividing

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the other backends do not divide their steps"
)

# The command line in a process of its own; prints how many threads an operation has at the end.
TRAIN = """
from keras_attention import cli
from keras_attention.cli import dividing
dividing.count_of_cores = lambda: 2
cli.main()
import tensorflow as tf
print("threads", tf.config.threading.get_intra_op_parallelism_threads())
"""


@pytest.fixture
def asked(monkeypatch):
    """How many threads TensorFlow was asked for, with no GPU and two cores."""
    threads = []
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", threads.append)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda: [device("CPU")])
    monkeypatch.setattr(dividing, "count_of_cores", lambda: 2)
    return threads


def device(kind):
    return SimpleNamespace(device_type=kind)


@pytest.mark.parametrize(("cores", "threads"), [(1, []), (2, [1]), (4, [1]), (5, []), (16, [])])
def test_with_two_to_four_cores_an_operation_gets_one_thread(cores, threads, asked, monkeypatch):
    monkeypatch.setattr(dividing, "count_of_cores", lambda: cores)
    assert dividing.one_thread_an_operation() == bool(threads)
    assert asked == threads


def test_with_a_gpu_or_another_backend_tensorflow_keeps_its_threads(asked, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(keras.backend, "backend", lambda: "jax")
        assert not dividing.one_thread_an_operation()
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda: [device("CPU"), device("GPU")])
    assert not dividing.one_thread_an_operation()
    assert asked == []


def test_once_tensorflow_has_begun_it_keeps_its_threads(asked, monkeypatch):
    def refuse(threads):
        raise RuntimeError("cannot be modified after initialization")

    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", refuse)
    assert not dividing.one_thread_an_operation()


@pytest.mark.parametrize(
    ("options", "threads"),
    [((), 1), (("--jit-compile",), 0), (("--model", "bilstm"), 0)],
    ids=["by itself", "xla", "a loop that XLA compiles"],
)
def test_train_divides_the_batches_that_xla_does_not_compile(options, threads, tmp_path):
    pairs = [f"the cat {n} sleeps\tel gato {n} duerme" for n in range(20)]
    (tmp_path / "pairs.tsv").write_text("\n".join(pairs), encoding="utf-8")
    files = ("--out", "run", "--corpus", "pairs.tsv", "--validation", "pairs.tsv")
    settings = ("--units", "4", "--epochs", "1", "--steps", "1", "--batch-size", "2")
    ran = subprocess.run(
        [sys.executable, "-c", TRAIN, "train", *files, *settings, *options],
        cwd=tmp_path,
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == f"threads {threads}"
