"""Texts as rows of characters, and a game of recall: "k=7 q=2 x=5 … q?" → "2".

Id 0 is padding; a target that is 0 counts for nothing.
"""

import functools
import hashlib
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
    """The characters of a text, and their ids: 1, 2, 3, … in the order of their code points.

    Args:
        letters: all characters, each once.

    Raises:
        ValueError: there is none, or one occurs twice.

    Example:
    >>> characters = Characters.learn("banana")
    >>> characters.encode("nab").tolist(), characters.decode([2, 1, 3])
    ([3, 1, 2], 'ban')
    """

    def __init__(self, letters):
        if not letters or len(set(letters)) < len(letters):
            raise ValueError(f"letters must be at least one, each once, got {letters!r}")
        self.letters = letters
        self._ids = {letter: number for number, letter in enumerate(letters, start=1)}

    def __len__(self):
        """Return the number of ids, padding included."""
        return len(self.letters) + 1

    @classmethod
    def learn(cls, text):
        """Take all characters of a text."""
        return cls("".join(sorted(set(text))))

    def encode(self, text):
        """Return the ids of a text, int32 (T,).

        Raises:
            ValueError: it has characters that are none of these; the message names them.
        """
        unknown = sorted(set(text) - set(self._ids))
        if unknown:
            names = ", ".join(map(repr, unknown[:10])) + (", …" if unknown[10:] else "")
            raise ValueError(f"the model knows no {names}; it knows {self.letters!r}")
        return np.fromiter(map(self._ids.get, text), "int32", len(text))

    def decode(self, ids):
        """Return the text of some ids; padding is left out."""
        return "".join(self.letters[number - 1] for number in ids if number)


def load_text(source):
    """Load a text by its name or from a file.

    Args:
        source: `"bundled"`, the English sentences of the bundled corpus, a line each;
            `"tinyshakespeare"`, 1,115,394 characters of Shakespeare's plays, downloaded once and
            cached; or the path of a UTF-8 text file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty or not UTF-8; the message says where. Or the download is
            another file.
        ConnectionError: the download failed.
    """
    if source == "bundled":
        return _bundled_text()
    return read_text(download_tiny_shakespeare() if source == "tinyshakespeare" else source)


@functools.cache
def _bundled_text():
    pairs = Grammar.load().generate(BUNDLED_SENTENCES)
    lines = dict.fromkeys(pair.target for pair in pairs)  # each once: none is on both sides
    return "".join(f"{line}\n" for line in lines)


def read_text(path):
    """Read a text file; the errors are those of `load_text`."""
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


def download_tiny_shakespeare(url=TINY_SHAKESPEARE_URL, folder=None):
    """Download the text once, into Keras' cache or a folder; see `downloads.download`."""
    return download(
        url,
        "tinyshakespeare.txt",
        TINY_SHAKESPEARE_SHA256,
        instead="--text path/to/file.txt",
        folder=folder,
    )


def is_tiny_shakespeare(text):
    """Say whether a text is tiny Shakespeare, wherever it came from."""
    return hashlib.sha256(text.encode()).hexdigest() == TINY_SHAKESPEARE_SHA256


def split_text(ids, length, fraction=0.1):
    """Split ids at one place: the last part is for validation.

    Args:
        ids: (N,).
        length: characters of a window; both parts must have one more.
        fraction: of the text, for validation.

    Returns:
        The ids to train on, and those to validate on.

    Raises:
        ValueError: a part is too short; the message says how long the text must be.
    """
    place = len(ids) - int(fraction * len(ids))
    if min(place, len(ids) - place) <= length:
        needed = int(np.ceil((length + 1) / min(fraction, 1 - fraction)))
        raise ValueError(
            f"the text has {len(ids):,} characters, at least {needed:,} are needed: its last "
            f"{fraction:.0%} must hold a window of {length} characters and the one after it"
        )
    return ids[:place], ids[place:]


def draw_windows(ids, count, length, rng):
    """Draw windows anywhere in a text: inputs (count, length), and what comes after each."""
    starts = rng.integers(len(ids) - length, size=count)
    places = starts[:, None] + np.arange(length)
    return ids[places], ids[places + 1]


def covering_windows(ids, length):
    """Cut a text into windows so that each character but the first is a target just once.

    Windows overlap by three quarters, and of each only the last quarter are targets, so that three
    quarters of a window lie before each, but for those at the very beginning.

    Args:
        ids: (N,), N > length.
        length: characters of a window, L.

    Returns:
        Inputs (W, L) and targets (W, L), 0 where they do not count.
    """
    last = len(ids) - 1 - length
    starts = [*range(0, last, max(length // 4, 1)), last]
    places = np.asarray(starts)[:, None] + np.arange(length)
    before = np.concatenate([[0], places[:-1, -1] + 1])  # targets of the windows before
    return ids[places], np.where(places >= before[:, None], ids[places + 1], 0)


class Recall(NamedTuple):
    """Rows of the game: `ids` (B, T), `targets` (B, T), 0 but at the answers, `distances`.

    The distances (B, T) say how many other pairs were told between a pair and its question; 0 where
    there is no answer.
    """

    ids: np.ndarray
    targets: np.ndarray
    distances: np.ndarray


RECALL_CHARACTERS = Characters(KEYS + VALUES + _IS + _ASKS + _BETWEEN)


def key_recall(count, rng, *, pairs=16, questions=8):
    """Draw rows "a=4 k=7 k?7 q=2 x=5 a?4 ": told values that are asked for later.

    Questions come anywhere between the pairs, for what was told just now and for what was told long
    ago: each is for one of the keys told so far that were not asked for yet, all equally likely.

    Args:
        count: number of rows, B.
        rng: a `numpy.random.Generator`.
        pairs: keys that are told, all different; their values need not be.
        questions: keys that are asked for, each once and each after another pair; the answer
            follows its question.

    Returns:
        A `Recall`, ids of `RECALL_CHARACTERS`.

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
