"""Write output whole or not at all: beside its destination first, then renamed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Yield a path beside `path` to write to, and rename it to `path` at the end.

    If the block raises, what it wrote is removed, together with the folders made for it, and
    anything that was at `path` before stays untouched.

    Args:
        path: a file, or a folder that does not exist yet; missing parent folders are made.

    Yields:
        The path to write to, with the same ending.

    Raises:
        OSError: `path` cannot be written.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} cannot be written: it is a folder")
    made = [folder for folder in path.parents if not folder.exists()]
    nearest = path.parents[len(made)]
    if not nearest.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {nearest} is a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".partial-{path.name}")
    remove(beside)  # a killed process may have left one
    try:
        yield beside
        os.replace(beside, path)
    except BaseException:
        remove(beside)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def remove(path: Path | str) -> None:
    """Delete a file or a folder if it exists."""
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)
