"""Hashes that bind the files of a folder together."""

import hashlib
from collections.abc import Mapping
from pathlib import Path


def sha256_of(path: Path | str) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def check_files(folder: Path | str, hashes: Mapping[str, str]) -> None:
    """Check that the files of a folder are those that were written.

    Args:
        folder: the folder.
        hashes: the SHA-256 of each file by its name.

    Raises:
        FileNotFoundError: a file is missing; the message names all that are.
        ValueError: a file has changed; the message names it.
    """
    folder = Path(folder)
    missing = [name for name in hashes if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(f"the folder {folder} is incomplete: {', '.join(missing)} missing")
    for name, expected in hashes.items():
        got = sha256_of(folder / name)
        if got != expected:
            raise ValueError(
                f"{folder / name} is not the file that was written: expected one with sha256 "
                f"{expected[:12]}…, got {got[:12]}…"
            )
