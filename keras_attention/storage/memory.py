"""Whether something fits into the memory of this machine, before any of it is allocated."""

import os
import zipfile
from contextlib import suppress
from pathlib import Path

_UNKNOWN = 2**40  # where the system does not say
_LIMIT_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def machine_memory() -> int:
    """Return the bytes of memory that this machine, or its container, has."""
    limits = [_UNKNOWN]
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # "max" or no such file
        limits.append(int(_LIMIT_OF_CONTAINER.read_text()))
    return min(limits)


def check_memory(needed: int, what: str) -> None:
    """Check that something fits into memory.

    Args:
        needed: the bytes that it takes at least.
        what: what takes them, the subject of the message.

    Raises:
        ValueError: it does not fit; the message names both sizes.
    """
    has = machine_memory()
    if needed > has:
        raise ValueError(
            f"{what} would take at least {_gigabytes(needed)} of memory, this machine has "
            f"{_gigabytes(has)}"
        )


def check_archive(path: Path | str, copies: int = 1) -> None:
    """Check that the files in a zip fit into memory.

    Args:
        path: the zip.
        copies: how many times as much memory as its contents reading them takes.

    Raises:
        ValueError: they do not fit.
        zipfile.BadZipFile: it is not a zip.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
    check_memory(size * copies, f"{path} with {size:,} bytes unpacked")


def _gigabytes(size):
    return f"{size / 2**30:,.1f} GB" if size < 2**50 else f"{size // 2**30:.1e} GB"
