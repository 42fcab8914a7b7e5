import platform
import subprocess
import sys

import pytest

from keras_attention.cli import heap

# Buffers come and go as those of training steps do: of changing sizes, and each page is touched.
STEPS = """
import resource, sys
import numpy as np
from keras_attention.cli import heap
if "keep" in sys.argv:
    assert heap.keep_freed_memory()
MIB = 2**20
def step(size):
    np.ones(size * MIB, dtype="uint8")
step(96)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for size in 5 * (64, 90, 72):
    step(size)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments):
    """Return how many pages the steps had to be given anew, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", STEPS, *arguments], capture_output=True, text=True, check=True
    )
    return int(ran.stdout)


@pytest.mark.thorough
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_memory_that_was_freed_serves_the_next_step():
    given_back, kept = faults(), faults("keep")
    assert kept < 100
    assert given_back > 20 * max(kept, 1)


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(heap.platform, "libc_ver", lambda: ("", ""))
    assert heap.keep_freed_memory() is False
