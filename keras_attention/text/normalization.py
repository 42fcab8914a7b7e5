"""The tutorial's normalisation: lower case, no accents, spaces around `.?!,¿`."""

import re
import unicodedata
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf

_MARKS = ".?!,¿"
_BLANKS = "\t\n\f\r "
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_DROPPED = re.compile(f"[^a-z{_MARKS}{_BLANKS}]")
_WORD_OR_MARK = re.compile(f"[a-z]+|[{_MARKS}]")


def standardize(sentences: "tf.Tensor") -> "tf.Tensor":
    """Normalise sentences like the tutorial's `tf_lower_and_split_punct`, without START and END.

    Decompose to NFKD, convert to lower case, keep only ` a-z.?!,¿`, and put spaces around
    punctuation. Case, accents, digits and apostrophes are lost. Tabs and newlines count as spaces.

    Args:
        sentences: a string tensor of any shape.

    Returns:
        A string tensor of the same shape: words separated by single spaces.
    """
    import tensorflow as tf

    text = tf.strings.lower(import_tensorflow_text().normalize_utf8(sentences, "NFKD"))
    text = tf.strings.regex_replace(text, f"[^a-z{_MARKS}{_BLANKS}]", "")
    text = tf.strings.regex_replace(text, f"[{_MARKS}]", r" \0 ")
    return tf.strings.strip(tf.strings.regex_replace(text, f"[{_BLANKS}]+", " "))


def split_words(sentence: str) -> list[tuple[str, str]]:
    """Split a sentence into the words of `standardize`, each with its spelling in the sentence.

    Normalise character by character, so that a picture can show what the user wrote. A character
    that the normalisation drops stays in the spelling of the word it touches.

    Args:
        sentence: the sentence as written.

    Returns:
        A list of pairs (word, spelling). The words, joined by spaces, are `standardize(sentence)`.

    Example:
    >>> split_words("¿Todavía don't?")
    [('¿', '¿'), ('todavia', 'Todavía'), ('dont', "don't"), ('?', '?')]
    """
    # Lists of characters, because appending to a very long string is slow.
    words: list[list[str]] = []
    spellings: list[list[str]] = []
    pending = ""  # dropped characters that belong to the next word
    touching = False  # whether the previous character belongs to the last word's spelling
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


def normalize(sentence: str) -> str:
    """Normalise one sentence like `standardize`, without TensorFlow.

    Example:
    >>> normalize("¿Todavía está en casa?")
    '¿ todavia esta en casa ?'
    """
    return " ".join(normalized_words(sentence))


def normalized_words(sentence: str) -> list[str]:
    """Return the words of `standardize(sentence)`, without TensorFlow."""
    text = unicodedata.normalize("NFKD", sentence).lower()
    return _WORD_OR_MARK.findall(_DROPPED.sub("", text))


def caseless(sentence: str) -> str:
    """Return a sentence for comparisons: normalised; in lower case if it has other letters as well.

    Example:
    >>> caseless("¿Todavía está en casa?"), caseless("Он видит дом.")
    ('¿ todavia esta en casa ?', 'он видит дом .')
    """
    letters = filter(str.isalpha, unicodedata.normalize("NFKD", sentence))
    if all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters):
        return normalize(sentence)
    text = unicodedata.normalize("NFKC", sentence).lower()
    return " ".join(re.findall(r"[\w\u0300-\u036f]+|[^\w\s]", text))


def join_words(words: Iterable[str]) -> str:
    """Join words into a sentence, with the usual spacing of punctuation.

    Example:
    >>> join_words(["are", "you", "still", "at", "home", "?"])
    'are you still at home?'
    """
    return re.sub(r" ([.?!,])", r"\1", " ".join(words)).replace("¿ ", "¿")


def shortened(sentence: str, length: int = 40) -> str:
    """Quote at most `length` characters of a sentence, for an error message."""
    return repr(sentence if len(sentence) <= length else sentence[:length] + "…")


def import_tensorflow_text() -> ModuleType:
    """Import TensorFlow Text when it is first needed.

    Raises:
        ImportError: TensorFlow Text is not installed; the message says how to install it.
    """
    try:
        import tensorflow_text
    except ImportError as error:
        raise ImportError(
            "TensorFlow Text is needed to read sentences but is not installed (it has no Windows "
            "wheels: use WSL or Colab): pip install tensorflow-text"
        ) from error
    return tensorflow_text
