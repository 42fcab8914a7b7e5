"""Hashes that bind the files of a folder together."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path


def sha256_of(path: Path | str) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def check_present(folder: Path | str, names: Iterable[str]) -> None:
    """Check that a folder has some files.

    Raises:
        FileNotFoundError: a file is missing; the message names all that are.
    """
    missing = [name for name in names if not (Path(folder) / name).is_file()]
    if missing:
        raise FileNotFoundError(f"the folder {folder} is incomplete: {', '.join(missing)} missing")


def check_files(folder: Path | str, hashes: Mapping[str, str]) -> None:
    """Check that the files of a folder are those that were written.

    Args:
        folder: the folder.
        hashes: the SHA-256 of each file by its name.

    Raises:
        FileNotFoundError: a file is missing; the message names all that are.
        ValueError: a file has changed; the message names it.
    """
    check_present(folder, hashes)
    for name, expected in hashes.items():
        path = Path(folder) / name
        got = sha256_of(path)
        if got != expected:
            raise ValueError(
                f"{path} is not the file that was written: expected one with sha256 "
                f"{expected[:12]}…, got {got[:12]}…"
            )
