"""Write output whole or not at all: beside its destination first, then renamed; as UTF-8."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Yield a path beside `path` to write to, and rename it to `path` at the end.

    If the block raises, what it wrote is removed, together with the folders made for it, and
    anything that was at `path` before stays untouched. What appears has reached the disk: if the
    power fails, `path` holds all of it, or what it held before.

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
    beside = path.with_name(f".partial-{path.name}")
    with with_folder(path.parent):
        remove(beside)  # a killed process may have left one
        try:
            yield beside
            _to_disk(beside)
            os.replace(beside, path)
        except BaseException:
            remove(beside)
            raise
        _to_disk(path.parent, deep=False)


@contextmanager
def with_folder(folder: Path | str) -> Iterator[None]:
    """Make a folder and its parents; if the block raises, remove those made that are empty.

    Raises:
        NotADirectoryError: a parent is a file.
        OSError: the folder cannot be made.
    """
    folder = Path(folder)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    nearest = (folder, *folder.parents)[len(made)]
    if not nearest.is_dir():
        raise NotADirectoryError(f"{folder} cannot be made: {nearest} is a file")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


def encodable(text: str) -> str:
    """Return a text as UTF-8 can hold it: with `�` for each unpaired surrogate.

    A byte on a command line that is no UTF-8 becomes one, and so does half an emoji in JSON.
    """
    return re.sub("[\ud800-\udfff]", "�", text)


def remove(path: Path | str) -> None:
    """Delete a file or a folder if it exists."""
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


def _to_disk(path, deep=True):
    """Wait until a file, or a folder with all that it holds, has reached the disk."""
    if path.is_dir():
        if deep:
            for each in path.iterdir():
                _to_disk(each)
        if os.name == "nt":  # where folders have no descriptors
            return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
