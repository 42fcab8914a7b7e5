"""What the commands share: what they read from a person, and how they answer."""

import sys
from functools import partial


def print_report(report):
    """Print how good a translator is."""
    print(f"masked loss           {report.loss:.4f}  nats a token")
    print(f"masked accuracy       {report.accuracy:.4f}")
    for name, score in (
        ("BLEU, normalised", report.bleu_words),
        ("BLEU, as written", report.bleu),
        ("chrF, as written", report.chrf),
    ):
        print(f"{name:<21} {score.value:.1f}  {score.signature}")


def check_sentence(sentence, vocabulary=None, place=""):
    """Refuse a sentence that cannot be translated, or of which a vocabulary knows no word.

    Args:
        sentence: a string.
        vocabulary: what splits it into tokens; None: as the tutorial does, without a check of what
            is known.
        place: what the message begins with.

    Raises:
        ValueError: as above.
    """
    from keras_attention.text import SPECIAL_WORDS, UNKNOWN, Vocabulary, shortened
    from keras_attention.translation.translator import read_sentences

    known = vocabulary or Vocabulary(SPECIAL_WORDS)
    try:
        tokens = read_sentences([sentence], known)[0][1:-1]
    except ValueError as error:
        raise ValueError(f"{place}{error}") from error
    words = [token for token, _ in tokens if any(map(str.isalnum, token))]
    if vocabulary and words and all(known.id_of(word) == UNKNOWN for word in words):
        raise ValueError(
            f"{place}nothing to translate: the model knows no word of {shortened(sentence)}"
        )


def lines_of_standard_input():
    """Read sentences from standard input, or say how to give them."""
    if sys.stdin.isatty():
        raise ValueError("give a sentence in quotes, or lines on standard input: … < file.txt")
    lines = []
    for number, line in enumerate(sys.stdin.buffer.read().splitlines(), start=1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"standard input, line {number} is not UTF-8: {error}") from error
    if not lines:
        raise ValueError("standard input is empty; expected a sentence a line")
    return lines


def progress(description):
    """Return a progress bar on stderr, as `Translator.generate` takes it."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return partial(
        track,
        description=description,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def verbosity():
    """A bar for a person, a line an epoch for a log file."""
    return 1 if sys.stdout.isatty() else 2
