"""Texts as rows of characters, and a game of recall: "k=7 q=2 x=5 … q?" → "2".

Id 0 is padding; a target of 0 does not count.
"""

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_attention.corpora.grammar import Grammar
from keras_attention.storage import download

TINY_SHAKESPEARE_URL = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
)
TINY_SHAKESPEARE_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
BUNDLED_SENTENCES = 20_000
KEYS, VALUES = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_IS, _ASKS, _BETWEEN = "=", "?", " "


class Characters:
    """The characters of a text, and their ids: 1, 2, 3, … in the order of `letters`.

    Args:
        letters: all characters, each once.

    Raises:
        ValueError: there is no character, or one occurs twice.

    Example:
    >>> characters = Characters.learn("banana")
    >>> characters.encode("nab").tolist(), characters.decode([2, 1, 3])
    ([3, 1, 2], 'ban')
    """

    def __init__(self, letters: str):
        if not letters or len(set(letters)) < len(letters):
            raise ValueError(
                f"letters must have at least one character, each once, got {letters!r}"
            )
        self.letters = letters
        self._ids = {letter: number for number, letter in enumerate(letters, start=1)}

    def __len__(self) -> int:
        """Return the number of ids, including padding."""
        return len(self.letters) + 1

    @classmethod
    def learn(cls, text: str) -> "Characters":
        """Return the characters of a text, in the order of their code points."""
        return cls("".join(sorted(set(text))))

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of a text, int32 (T,).

        Raises:
            ValueError: the text has unknown characters; the message names them.
        """
        unknown = sorted(set(text) - set(self._ids))
        if unknown:
            names = ", ".join(map(repr, unknown[:10])) + (", …" if unknown[10:] else "")
            raise ValueError(f"the model does not know {names}; it knows {self.letters!r}")
        return np.fromiter(map(self._ids.get, text), "int32", len(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of some ids, without padding."""
        return "".join(self.letters[number - 1] for number in ids if number)


def load_text(source: Path | str) -> str:
    """Load a text by its name or from a file.

    Args:
        source: `"bundled"`, the English sentences of the bundled corpus, one per line;
            `"tinyshakespeare"`, 1,115,394 characters of Shakespeare's plays, downloaded once and
            cached; or the path of a UTF-8 text file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty or not UTF-8 (the message says where), or the download is not
            the expected file.
        ConnectionError: the download failed.
    """
    if source == "bundled":
        return _bundled_text()
    return read_text(download_tiny_shakespeare() if source == "tinyshakespeare" else source)


@functools.cache
def _bundled_text():
    pairs = Grammar.load().generate(BUNDLED_SENTENCES)
    lines = dict.fromkeys(
        pair.target for pair in pairs
    )  # each once, so that none is in both splits
    return "".join(f"{line}\n" for line in lines)


def read_text(path: Path | str) -> str:
    """Read a text file; raise the errors of `load_text`."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no text file {path}")
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} is not UTF-8: byte {error.start:,}, in line {line:,}, is "
            f"0x{content[error.start]:02x}"
        ) from error
    if not text:
        raise ValueError(f"{path} is empty")
    return text


def download_tiny_shakespeare(
    url: str = TINY_SHAKESPEARE_URL, folder: Path | str | None = None
) -> Path:
    """Download the text once, into Keras' cache or a folder; see `storage.download`."""
    return download(
        url,
        "tinyshakespeare.txt",
        TINY_SHAKESPEARE_SHA256,
        instead="--text path/to/file.txt",
        folder=folder,
    )


def is_tiny_shakespeare(text: str) -> bool:
    """Return whether a text is Tiny Shakespeare, whatever its source."""
    return hashlib.sha256(text.encode()).hexdigest() == TINY_SHAKESPEARE_SHA256


def split_text(
    ids: np.ndarray, length: int, fraction: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Split ids in two; the last part is for validation.

    Args:
        ids: (N,).
        length: characters per window; both parts need at least one more.
        fraction: the fraction of the text for validation.

    Returns:
        The ids for training, and those for validation.

    Raises:
        ValueError: a part is too short; the message says how long the text must be.
    """
    place = len(ids) - int(fraction * len(ids))
    if min(place, len(ids) - place) <= length:
        needed = int(np.ceil((length + 1) / min(fraction, 1 - fraction)))
        raise ValueError(
            f"the text must have at least {needed:,} characters, so that a window of {length} and "
            f"the next character fit into its last {fraction:.0%}; got {len(ids):,}"
        )
    return ids[:place], ids[place:]


def draw_windows(
    ids: np.ndarray, count: int, length: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw windows anywhere in a text: inputs (count, length), and the next id after each."""
    starts = rng.integers(len(ids) - length, size=count)
    places = starts[:, None] + np.arange(length)
    return ids[places], ids[places + 1]


def covering_windows(ids: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut a text into windows so that each character but the first is a target exactly once.

    Windows overlap by three quarters, and only the last quarter of each holds targets. So three
    quarters of a window precede every target, except at the very beginning.

    Args:
        ids: (N,), N > length.
        length: characters per window, L.

    Returns:
        Inputs (W, L) and targets (W, L), 0 where they do not count.
    """
    last = len(ids) - 1 - length
    starts = [*range(0, last, max(length // 4, 1)), last]
    places = np.asarray(starts)[:, None] + np.arange(length)
    before = np.concatenate([[0], places[:-1, -1] + 1])  # targets of the windows before
    return ids[places], np.where(places >= before[:, None], ids[places + 1], 0)


class Recall(NamedTuple):
    """Rows of the game: `ids` (B, T); `targets` (B, T), 0 except at the answers; `distances`.

    The distances (B, T) are the numbers of other pairs told between a pair and its question; 0
    where there is no answer.
    """

    ids: np.ndarray
    targets: np.ndarray
    distances: np.ndarray


RECALL_CHARACTERS = Characters(KEYS + VALUES + _IS + _ASKS + _BETWEEN)


def key_recall(
    count: int, rng: np.random.Generator, *, pairs: int = 16, questions: int = 8
) -> Recall:
    """Draw rows "a=4 k=7 k?7 q=2 x=5 a?4 ": values are told, and asked for later.

    Questions come anywhere between the pairs, about what was told just now or long ago. Each asks
    for a key that was told but not yet asked for, all equally likely.

    Args:
        count: number of rows, B.
        rng: a `numpy.random.Generator`.
        pairs: number of keys told, all different; their values may repeat.
        questions: number of keys asked for, each once and each after a different pair; the answer
            follows its question.

    Returns:
        A `Recall` with ids of `RECALL_CHARACTERS`.

    Raises:
        ValueError: there are more pairs than keys, or more questions than pairs.
    """
    if not 1 <= questions <= pairs <= len(KEYS):
        raise ValueError(
            f"questions and pairs must be 1 ≤ questions ≤ pairs ≤ {len(KEYS)}, got {questions} and "
            f"{pairs}"
        )
    written = np.zeros((count, 4 * (pairs + questions)), "int32")
    distances = np.zeros_like(written)
    for row in range(count):
        keys, values = rng.permutation(list(KEYS)), rng.choice(list(VALUES), pairs)
        followed = set(rng.permutation(pairs)[:questions])
        text, waiting = "", []
        for latest in range(pairs):
            text += f"{keys[latest]}{_IS}{values[latest]}{_BETWEEN}"
            waiting.append(latest)
            if latest in followed:
                asked = waiting.pop(rng.integers(len(waiting)))
                distances[row, len(text) + 1] = latest - asked
                text += f"{keys[asked]}{_ASKS}{values[asked]}{_BETWEEN}"
        written[row] = RECALL_CHARACTERS.encode(text)
    ids, following = written[:, :-1], written[:, 1:]
    asks = ids == RECALL_CHARACTERS.encode(_ASKS)
    return Recall(ids, np.where(asks, following, 0), distances[:, :-1])
