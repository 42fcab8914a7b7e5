"""Strings to ids and back: the tutorial's normalisation, and the vocabulary of one language.

TensorFlow Text normalises and Keras' `TextVectorization` looks up the ids, outside any model, so
that a model holds no string operation and runs on a TPU and on every backend.
"""

import re
import unicodedata
from functools import cached_property
from pathlib import Path

import keras

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
SPECIAL_WORDS = ("", "[UNK]", "[START]", "[END]")
_MARKS = ".?!,¿"
_BLANKS = "\t\n\f\r "
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


def standardize(sentences):
    """Normalise sentences as the tutorial's `tf_lower_and_split_punct` does, without START and END.

    Decompose to NFKD, lower the case, keep only ` a-z.?!,¿`, and put spaces around punctuation:
    case, accents, digits and apostrophes are lost. Tabs and line ends count as spaces.

    Args:
        sentences: a string tensor of any shape.

    Returns:
        A string tensor of the same shape: words separated by single spaces.
    """
    import tensorflow as tf

    text = tf.strings.lower(_tensorflow_text().normalize_utf8(sentences, "NFKD"))
    text = tf.strings.regex_replace(text, f"[^a-z{_MARKS}{_BLANKS}]", "")
    text = tf.strings.regex_replace(text, f"[{_MARKS}]", r" \0 ")
    return tf.strings.strip(tf.strings.regex_replace(text, f"[{_BLANKS}]+", " "))


def split_words(sentence):
    """Split a sentence into the words of `standardize`, each with its spelling in the sentence.

    The same normalisation, character by character, so that a picture can show what the user wrote.
    What the normalisation drops stays with the spelling of the word it touches.

    Args:
        sentence: a string.

    Returns:
        A list of pairs (word, spelling). The words, joined by spaces, are `standardize(sentence)`.

    Example:
    >>> split_words("¿Todavía don't?")
    [('¿', '¿'), ('todavia', 'Todavía'), ('dont', "don't"), ('?', '?')]
    """
    words, spellings = [], []  # lists of pieces, so that a very long word is no slower
    pending = ""  # dropped characters that wait for a word to their right
    touching = False  # whether the character before belongs to the last word's spelling
    growing = False  # whether a letter would continue the last word
    for character in unicodedata.normalize("NFC", sentence):
        kept = [c for c in unicodedata.normalize("NFKD", character).lower() if _is_kept(c)]
        for number, c in enumerate(kept):
            spelling = character if number == 0 else ""
            if c in _BLANKS:
                pending, touching, growing = "", False, False
            elif growing and c in _LETTERS:
                words[-1].append(c)
                spellings[-1].append(spelling)
            else:
                words.append([c])
                spellings.append([pending, spelling or character])
                pending, touching, growing = "", True, c in _LETTERS
        if not kept and touching:
            spellings[-1].append(character)
        elif not kept:
            pending += character
    return [
        ("".join(word), "".join(spelling)) for word, spelling in zip(words, spellings, strict=True)
    ]


def _is_kept(character):
    return character in _LETTERS or character in _MARKS or character in _BLANKS


def normalize(sentence):
    """Return what `standardize` makes of one sentence, without TensorFlow.

    Example:
    >>> normalize("¿Todavía está en casa?")
    '¿ todavia esta en casa ?'
    """
    return " ".join(word for word, _ in split_words(sentence))


def join_words(words):
    """Join words to a sentence, with punctuation where it is written.

    Example:
    >>> join_words(["are", "you", "still", "at", "home", "?"])
    'are you still at home?'
    """
    return re.sub(r" ([.?!,])", r"\1", " ".join(words)).replace("¿ ", "¿")


def shortened(sentence, length=40):
    """Quote a sentence in an error message, at most so many characters of it."""
    return repr(sentence if len(sentence) <= length else sentence[:length] + "…")


class Vocabulary:
    """The words of one language and their ids: 0 padding, 1 `[UNK]`, 2 `[START]`, 3 `[END]`.

    Args:
        words: all words in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".

    Raises:
        ValueError: the first four are others, or a word occurs twice.
    """

    def __init__(self, words):
        self.words = tuple(words)
        if self.words[:4] != SPECIAL_WORDS:
            raise ValueError(
                f"a vocabulary begins with the words {SPECIAL_WORDS}, got {self.words[:4]}"
            )
        self._id_of = {word: number for number, word in enumerate(self.words)}
        if len(self._id_of) != len(self.words):
            repeated = next(w for n, w in enumerate(self.words) if self._id_of[w] != n)
            raise ValueError(f"a vocabulary holds each word once, got {repeated!r} twice")

    @classmethod
    def learn(cls, sentences, size=5000):
        """Take the most frequent words of some sentences.

        Args:
            sentences: strings as users write them.
            size: most words to keep, the four special ones included.

        Raises:
            ValueError: `size` leaves no room for a word, or there is no sentence.
        """
        sentences = list(sentences)
        if size <= len(SPECIAL_WORDS):
            raise ValueError(f"size must be above {len(SPECIAL_WORDS)}, got {size}")
        if not sentences:
            raise ValueError("a vocabulary is learned from at least one sentence, got none")
        # [START] and [END] are added here, so that their ids do not hang on how often they occur.
        counter = keras.layers.TextVectorization(size - 2, standardize=standardize)
        counter.adapt(_as_tensor(sentences))
        return cls([*SPECIAL_WORDS, *map(str, counter.get_vocabulary()[2:])])

    @cached_property
    def _vectorize(self):
        return keras.layers.TextVectorization(
            standardize=_standardize_with_ends, vocabulary=list(self.words)
        )

    def ids(self, sentences):
        """Look up sentences: [START], the words, [END].

        Args:
            sentences: N strings as users write them.

        Returns:
            Integers (N, L), int32, padded with 0 to the longest.
        """
        ids = self._vectorize(_as_tensor(sentences))
        return keras.ops.convert_to_numpy(ids).astype("int32")

    def id_of(self, word):
        """Return the id of a normalised word, that of `[UNK]` if it is not here."""
        return self._id_of.get(word, UNKNOWN)

    def words_of(self, ids):
        """Return the words of a sequence of ids up to `[END]`, without padding and `[START]`."""
        words = []
        for number in ids:
            if number == END:
                break
            if number not in (PADDING, START):
                words.append(self.words[number])
        return words

    def save(self, path):
        """Write one word a line, UTF-8; the line of padding is empty."""
        Path(path).write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a vocabulary.
        """
        try:
            return cls(Path(path).read_text(encoding="utf-8").split("\n")[:-1])
        except ValueError as error:
            raise ValueError(f"{path} is not a vocabulary: {error}") from error

    def __len__(self):
        return len(self.words)


def _standardize_with_ends(sentences):
    import tensorflow as tf

    return tf.strings.join(["[START]", standardize(sentences), "[END]"], separator=" ")


def _as_tensor(sentences):
    """Return strings as a TensorFlow tensor, on every backend: Keras reads others as ASCII."""
    import tensorflow as tf

    return tf.constant(list(sentences), dtype=tf.string)


def _tensorflow_text():
    try:
        import tensorflow_text
    except ImportError as error:
        raise ImportError(
            "TensorFlow Text normalises the sentences and is not installed here (it has no Windows "
            "wheels: use WSL or Colab): pip install tensorflow-text"
        ) from error
    return tensorflow_text
