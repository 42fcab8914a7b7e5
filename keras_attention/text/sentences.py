"""Cut a text into sentences, and a long sentence at its commas or blanks, never inside a word."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

_SENTENCE = re.compile(r"(?:[.!?…]+[\"'»”’)\]]*\s+)+")  # ". . ." is one end, not three sentences
_CLAUSE = re.compile(r"[,;:—–)]+\s+")
_BLANK = re.compile(r"\s+")
# A full stop after one of these ends no sentence
_ABBREVIATIONS = {
    *("D", "Dña", "Dr", "Dra", "EE", "Sr", "Sra", "Srta", "Ud", "Uds"),
    *("Mr", "Mrs", "Ms", "St"),
}


def cut_text(text: str, count: Callable[[Sequence[str]], Sequence[int]], most: int) -> list[str]:
    """Cut a text into parts of a limited number of tokens.

    A text that is short enough stays whole. A longer one is cut at the ends of its sentences; a
    sentence that is still too long at its commas, and then at blanks, into as few parts as greedy
    filling gives. A word without a blank is never cut, so a part can remain too long.

    Args:
        text: a text as written.
        count: a function, N strings → the number of tokens in each.
        most: the most tokens in a part.

    Returns:
        The parts, without blanks at their ends.

    Example:
    >>> def words(parts):
    ...     return [len(part.split()) for part in parts]
    >>> cut_text("El Sr. Sol duerme. Llueve mucho, y hace frío.", words, 4)
    ['El Sr. Sol duerme.', 'Llueve mucho,', 'y hace frío.']
    """
    parts = [text.strip()]
    for pattern in (_SENTENCE, _CLAUSE, _BLANK):
        counts = count(parts)
        if max(counts) <= most:
            break
        parts = [
            piece
            for part, length in zip(parts, counts, strict=True)
            for piece in ([part] if length <= most else _cut(part, pattern, count, most))
        ]
    return parts


def _cut(part, pattern, count, most):
    """Cut a part wherever the pattern ends; put pieces of one sentence together while they fit."""
    ends = [match.end() for match in pattern.finditer(part) if not _is_abbreviation(part, match)]
    places = [0, *ends, len(part)]
    pieces = [part[a:b].strip() for a, b in pairwise(places)]
    pieces = [piece for piece in pieces if piece]
    if pattern is _SENTENCE:
        return pieces
    filled: list[list[str]] = [[]]
    total = 0
    for piece, length in zip(pieces, count(pieces), strict=True):
        if filled[-1] and total + length > most:
            filled.append([])
            total = 0
        filled[-1].append(piece)
        total += length
    return [" ".join(each) for each in filled]


def _is_abbreviation(part, match):
    before = re.search(r"\w+$", part[max(match.start() - 10, 0) : match.start()])
    return match.group().strip() == "." and bool(before) and before.group() in _ABBREVIATIONS
