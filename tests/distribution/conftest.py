import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

COMMAND_LINE = "from keras_attention_command import main; main()"


@pytest.fixture
def coordinator():
    return free_address()


def free_address():
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def starting():
    """Yield a function that starts Python; what still runs in the end is killed."""
    started = []

    def call(*arguments, devices=1, backend="jax", cwd=ROOT):
        if not find_spec(backend):
            pytest.skip(f"{backend} is not installed")
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env={
                **{k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"},
                "JAX_PLATFORMS": "cpu",
                "KERAS_BACKEND": backend,
                "PYTHONPATH": str(ROOT),
                "XLA_FLAGS": (
                    f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={devices}"
                ),
            },
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a group of its own, so that its children go with it
        )
        started.append(process)
        return process

    yield call
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def start():
    """Return a function that starts Python with JAX, or another backend."""
    with starting() as call:
        yield call


@pytest.fixture(scope="session")
def start_for_all():
    """Return the same for fixtures of several tests."""
    with starting() as call:
        yield call


def ended(process, timeout=240):
    """Wait for the end of a process; return (status, stdout, stderr)."""
    out, errors = process.communicate(timeout=timeout)
    return process.returncode, out, errors
