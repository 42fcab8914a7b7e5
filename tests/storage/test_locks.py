import subprocess
import sys

import pytest

from keras_attention.storage import locked
from tests.conftest import ROOT

pytest.importorskip("fcntl")
HOLD = """
import sys
from keras_attention.storage import locked
with locked(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Return a process that holds the lock of tmp_path / "run"."""
    command = [sys.executable, "-c", HOLD, tmp_path / "run"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_second_writer_is_refused(holder, tmp_path):
    message = f"another process is writing to {tmp_path / 'run'}: wait for it, or choose another"
    with pytest.raises(BlockingIOError, match=message), locked(tmp_path / "run"):
        pytest.fail("two processes hold the lock")
    assert (tmp_path / "run").is_dir()


def test_a_killed_writer_leaves_no_lock(holder, tmp_path):
    holder.kill()
    holder.wait()
    with locked(tmp_path / "run"):
        pass
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("written", [False, True])
def test_a_folder_made_for_a_lock_goes_if_nothing_was_written(tmp_path, written):
    notes = tmp_path / "new" / "run" / "notes"

    def fail():
        with locked(notes.parent):
            if written:
                notes.touch()
            raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        fail()
    assert notes.exists() == (tmp_path / "new").exists() == written
