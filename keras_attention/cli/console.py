"""Input and output that the commands share."""

import codecs
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_attention.storage import encodable

if TYPE_CHECKING:  # it loads Keras, which the commands import only when they need it
    from keras_attention.translation.evaluation import Report
    from keras_attention.translation.result import Translation

# Pictures of the characters that command a terminal, and � for those that turn the writing round
_SEEN = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"} | {0x7F: "␡"}
_SEEN |= dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "�")


def printable(text: str) -> str:
    """Return a text as a terminal may print it: what would command the terminal can be seen.

    Sentences, models and messages may come from anywhere, and hold escape sequences.
    """
    return encodable(text).translate(_SEEN)


def print_report(report: "Report") -> None:
    """Print the scores of a translator."""
    print(f"masked loss           {report.loss:.4f}  nats per token")
    print(f"masked accuracy       {report.accuracy:.4f}")
    for name, score in (
        ("BLEU, normalised", report.bleu_words),
        ("BLEU, as written", report.bleu),
        ("chrF, as written", report.chrf),
    ):
        print(f"{name:<21} {score.value:.1f}  {score.signature}")


def lines_of_standard_input() -> list[str]:
    """Read sentences from standard input, or explain in an error how to give them."""
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("give a sentence in quotes, or lines on standard input: … < file.txt")
    content = sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)  # Windows may write one
    lines = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"standard input, line {number} is not UTF-8: {error}") from error
    if not lines:
        raise ValueError("standard input is empty; expected one sentence per line")
    return lines


def numbered(path: Path, count: int) -> list[Path]:
    """Return the paths of some files: the path itself, or with a number each."""
    if count == 1:
        return [path]
    return [path.with_stem(f"{path.stem}-{number}") for number in range(1, count + 1)]


def warn_of_unknown(translation: "Translation") -> None:
    """Name on stderr the words of a sentence that the model does not know."""
    if translation.unknown_words:
        print(printable(translation.remark_on_unknown), file=sys.stderr)


def progress(description: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """Return a progress bar on stderr, for `Translator.generate`; none if stderr is no terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal:
        return iter  # Where a bar is disabled, Rich 13 still writes an empty line.
    return partial(track, description=description, console=console, transient=True)


def verbosity() -> int:
    """Return Keras' verbosity: a bar on a terminal, one line per epoch in a log file."""
    return 1 if sys.stdout and sys.stdout.isatty() else 2
