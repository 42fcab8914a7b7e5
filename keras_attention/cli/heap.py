"""Keep freed memory in the process for the next training step.

TensorFlow allocates the memory of a compiled training step at its start, tens of megabytes at once,
and frees it at its end. glibc returns blocks of that size to the system. The next blocks are new,
and the first access to each of their 4 KiB pages is a page fault: tens of thousands of them per
step when the shapes of the batches change.
"""

import ctypes
import platform
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt, from malloc.h
_NEVER = -1


def keep_freed_memory() -> bool:
    """Let this process keep the memory that it frees, instead of returning it to the system.

    From then on the heap never shrinks, and this cannot be undone. So call this only in a program,
    such as a command that trains, never in a library. Threads other than the first may still return
    blocks above 64 MiB to the system. Without glibc, for instance outside Linux, nothing happens.

    Returns:
        Whether the C library accepted the settings.
    """
    if not sys.platform.startswith("linux") or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _NEVER))
