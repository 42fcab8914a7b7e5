"""One writer for a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keras_attention.storage.files import with_folder

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(folder: Path | str) -> Iterator[None]:
    """Keep other processes that ask for the same lock out of a folder while the block runs.

    The operating system holds the lock and drops it when the process ends, however it ends: no file
    is left behind. On Windows nothing is locked.

    Args:
        folder: created if needed, and removed if the block raises and leaves it empty.

    Raises:
        BlockingIOError: another process has the lock.
        OSError: the folder cannot be made.
    """
    with with_folder(folder):
        if fcntl is None:
            yield
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(
                    f"another process is writing to {folder}: wait for it, or choose another folder"
                ) from None
            yield
        finally:
            os.close(descriptor)
