"""Where sentence pairs come from: the tutorials' corpus, the bundled one, or a file."""

import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from keras_attention.corpora.grammar import Grammar
from keras_attention.storage import download
from keras_attention.text import shortened

SPA_ENG_URL = "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
SPA_ENG_SHA256 = "0c4fd7825d3d872488d38c157f784e035edab4f2ff0df25a2a208790ecb5b58f"
SPA_ENG_MEMBER = "spa-eng/spa.txt"
BUNDLED_PAIRS = 60_000


class Pair(NamedTuple):
    """A sentence and its translation, as written: `context` (Spanish), `target` (English)."""

    context: str
    target: str


def load(source):
    """Load the sentence pairs of a corpus by its name or from a file.

    Args:
        source: `"spa-eng"`, the corpus of the TensorFlow tutorials, downloaded once and cached;
            `"bundled"`, what `Grammar` writes; or the path of a text file with a pair
            English⇥Spanish a line, or of a zip with a `spa.txt` in it.

    Returns:
        A list of `Pair`, or of `AlignedPair` for the bundled corpus.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no such text, or the download is not the official file.
        ConnectionError: the download failed; the message says how to pass a local file.
    """
    if source == "bundled":
        return Grammar.load().generate(BUNDLED_PAIRS)
    if source == "spa-eng":
        source = download_spa_eng()
    return read_pairs(source)


def download_spa_eng(url=SPA_ENG_URL, folder=None):
    """Download the tutorials' `spa-eng.zip` once, and check it.

    Args:
        url: where it is.
        folder: the cache folder; by default Keras' own, `~/.keras/datasets`.

    Returns:
        The path of the zip.

    Raises:
        ConnectionError: it could not be fetched.
        ValueError: what came is another file.
    """
    return download(
        url,
        "spa-eng.zip",
        SPA_ENG_SHA256,
        instead="--corpus path/to/spa.txt (English⇥Spanish lines) or --corpus path/to/spa-eng.zip",
        folder=folder,
    )


def read_pairs(path):
    """Read sentence pairs from a file.

    Args:
        path: a UTF-8 text file with English⇥Spanish a line, further columns are ignored; or a zip
            with such a file named `spa.txt`.

    Returns:
        A list of `Pair`, in the order of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty, not UTF-8, a broken zip, or has a line without two sentences;
            the message names the line.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file; a corpus is spa-eng, bundled or a text file")
    content = _unzip(path) if path.suffix == ".zip" else path.read_bytes()
    if not content.strip():
        raise ValueError(f"{path} is empty; expected a pair English⇥Spanish a line")
    pairs = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        try:
            columns = [column.strip() for column in line.decode("utf-8").split("\t")]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number} is not UTF-8: {error}") from error
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise ValueError(
                f"{path}, line {number}: expected English⇥Spanish with one tab, got "
                f"{shortened(line.decode('utf-8'))}"
            )
        pairs.append(Pair(context=columns[1], target=columns[0]))
    return pairs


def _unzip(path):
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if Path(name).name == "spa.txt"]
            if not names:
                raise ValueError(f"{path} holds no spa.txt, only {', '.join(archive.namelist())}")
            return archive.read(names[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{path} is cut off, damaged or not a zip file ({error}); download it again"
        ) from error
