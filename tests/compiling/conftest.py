import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, installed


@pytest.fixture(scope="session")
def fresh():
    """Return a function that runs a program in a fresh process and reads the JSON it prints.

    Keras comes up there on TensorFlow, if nothing is done about it.
    """
    if not installed("tpu"):
        pytest.skip("needs the extra tpu: pip install '.[tpu]'")

    def run(program, *arguments):
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
