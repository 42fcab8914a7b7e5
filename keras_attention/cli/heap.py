"""What a process does with memory that it has let go of: it may keep it for the next step.

TensorFlow takes the memory of a compiled training step at its beginning, tens of megabytes at once,
and frees it at its end. glibc gives blocks of that size back to the system, which hands out a page
of zeros at the first touch of every 4 KiB of the next ones: ten thousands of page faults a step,
where the shapes of batches change.
"""

import ctypes
import platform
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt, from malloc.h
_NEVER = -1


def keep_freed_memory():
    """Let this process keep the memory that it frees, instead of giving it back to the system.

    From then on the heap stays as large as it has been at its largest; there is no way back. So it
    is for who owns the process, such as a command that trains, and not for a library. Blocks above
    64 MiB that threads other than the first take may still come and go. Where the C library is not
    glibc, as outside Linux, nothing happens.

    Returns:
        Whether the C library has been told so.
    """
    if not sys.platform.startswith("linux") or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _NEVER))
