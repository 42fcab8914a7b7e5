"""What both halves have in common: the texts, and the memory that a process may take."""

import random
from collections.abc import Iterator
from functools import cache

import psutil

from keras_attention import corpora

TRANSLATOR = "spa-eng"
MOST_WORDS = 40
MOST_GROWTH = 50e6  # bytes


def texts(draw: random.Random, most_words: int = MOST_WORDS) -> Iterator[str]:
    """Yield parts of Spanish texts, of random lengths, without end."""
    found = words()
    while True:
        length = draw.randint(1, most_words)
        start = draw.randrange(len(found) - length)
        yield " ".join(found[start : start + length])


@cache
def words():
    """Return the Spanish words of the bundled corpus, in its order."""
    return [word for pair in corpora.load("bundled") for word in pair.context.split()]


def resident(process: int | None = None) -> int:
    """Return the bytes of memory that a process holds; None is this one."""
    return psutil.Process(process).memory_info().rss
