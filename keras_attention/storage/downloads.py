"""Download files once, keep them and check their hashes."""

from pathlib import Path

from keras_attention.storage.hashes import sha256_of


def download(
    url: str, name: str, sha256: str, *, instead: str, folder: Path | str | None = None
) -> Path:
    """Download a file once, check it, and return its path.

    Args:
        url: the address of the file.
        name: its name in the cache.
        sha256: its expected hash, in hexadecimal digits.
        instead: how to pass a local file, for the error messages.
        folder: the cache folder; by default Keras' own, `~/.keras/datasets`.

    Returns:
        The path of the file in the cache.

    Raises:
        ConnectionError: the file could not be fetched.
        ValueError: the file has another hash; it is deleted.
    """
    import keras  # imported here, so that reading a text loads no backend

    if folder:  # without it, Keras would fall back to a folder in /tmp
        Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        path = Path(keras.utils.get_file(name, url, cache_dir=folder))
    except Exception as error:
        raise ConnectionError(
            f"cannot download {url} ({error}); pass a local file instead: {instead}"
        ) from error
    received = sha256_of(path)
    if received != sha256:
        path.unlink()
        raise ValueError(
            f"{url} is not the official file: expected sha256 {sha256}, got {received}; it was "
            f"deleted, try again or pass a local file: {instead}"
        )
    return path
