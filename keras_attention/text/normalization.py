"""The tutorial's normalisation: lower case, no accents, words and `.?!,¿` apart."""

import re
import unicodedata

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

    text = tf.strings.lower(import_tensorflow_text().normalize_utf8(sentences, "NFKD"))
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


def import_tensorflow_text():
    """Import TensorFlow Text when it is first needed.

    Raises:
        ImportError: it is not installed; the message says how to install it.
    """
    try:
        import tensorflow_text
    except ImportError as error:
        raise ImportError(
            "TensorFlow Text reads the sentences and is not installed here (it has no Windows "
            "wheels: use WSL or Colab): pip install tensorflow-text"
        ) from error
    return tensorflow_text
