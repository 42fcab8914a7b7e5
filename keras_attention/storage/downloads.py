"""Files from the web: fetched once, kept, and checked to be the right ones."""

import hashlib
from pathlib import Path


def download(url, name, sha256, *, instead, folder=None):
    """Download a file once, check it, and return its path.

    Args:
        url: where it is.
        name: of the file in the cache.
        sha256: its hash, in hexadecimal digits.
        instead: how to pass a local file, for the error messages.
        folder: the cache folder; by default Keras' own, `~/.keras/datasets`.

    Returns:
        Its path.

    Raises:
        ConnectionError: it could not be fetched.
        ValueError: what came is another file; it was deleted.
    """
    import keras  # only here, so that reading a text costs no backend

    if folder:  # Keras falls back to a folder in /tmp where there is none
        Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        path = Path(keras.utils.get_file(name, url, cache_dir=folder))
    except Exception as error:
        raise ConnectionError(
            f"cannot download {url} ({error}); pass a local file instead: {instead}"
        ) from error
    received = hashlib.sha256(path.read_bytes()).hexdigest()
    if received != sha256:
        path.unlink()
        raise ValueError(
            f"{url} is not the official file: expected sha256 {sha256}, got {received}; it was "
            f"deleted, try again or pass a local file: {instead}"
        )
    return path
