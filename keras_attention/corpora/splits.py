"""Split a corpus without a leak, and identify a corpus or a pair by its hash.

What the bundled translators did not learn from is known by such hashes, without the sentences.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from keras_attention.corpora.grammar import AlignedPair
from keras_attention.corpora.sources import Pair
from keras_attention.storage import bundled
from keras_attention.text import caseless

_DIGITS = 16  # of a hash in the file of held-out pairs


class Split(NamedTuple):
    """A corpus in three parts that share no sentence: lists of pairs."""

    train: list
    validation: list
    test: list


def split(
    pairs: Sequence[Pair | AlignedPair],
    shares: tuple[float, float, float] = (0.96, 0.02, 0.02),
) -> Split:
    """Split a corpus so that no sentence of either language is in two parts.

    Pairs that share a sentence, but for case and accents, directly or through others, stay
    together. A hash of the smallest sentence of such a group decides its part. The part is the same
    on every machine, and most sentences keep it when the corpus grows.

    Args:
        pairs: pairs with `context` and `target`.
        shares: the fractions of training, validation and test, which sum to 1.

    Returns:
        A `Split`, each part in the order of the pairs.

    Raises:
        ValueError: the shares do not sum to 1.
    """
    if min(shares) < 0 or not math.isclose(sum(shares), 1):
        raise ValueError(f"shares must be fractions that sum to 1, got {shares}")
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(node):
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    ends = [(("context", caseless(p.context)), ("target", caseless(p.target))) for p in pairs]
    for one, other in ends:
        low, high = sorted((root(one), root(other)))
        parent[high] = low  # the smallest sentence becomes the root
    parts = Split([], [], [])
    for pair, (one, _) in zip(pairs, ends, strict=True):
        of_group = hashlib.sha256("\t".join(root(one)).encode()).digest()
        place = int.from_bytes(of_group[:8], "big") / 2**64
        side = 0 if place < shares[0] else 1 if place < shares[0] + shares[1] else 2
        parts[side].append(pair)
    return parts


def held_out(pairs: Iterable[Pair | AlignedPair]) -> list:
    """Return the pairs on which the translators that come with the package were scored.

    They are 2,367 pairs of spa-eng, and share no sentence with the pairs for training. `split`
    draws other ones, so most pairs of its parts for validation and test were for training here.

    Args:
        pairs: pairs of a corpus, with `context` (Spanish) and `target` (English).

    Returns:
        Those that were held out, in their order.
    """
    return [pair for pair in pairs if digest(pair)[:_DIGITS] in _hashes_of_held_out()]


@cache
def _hashes_of_held_out():
    """Read the first digits of the hash of each pair."""
    lines = bundled("translators", "held_out.txt").read_text(encoding="ascii").splitlines()
    return {line for line in lines if not line.startswith("#")}


def digest(pair: Pair | AlignedPair) -> str:
    """Return a hash of a pair, by which it is known without its sentences."""
    return hashlib.sha256(f"{pair.target}\t{pair.context}".encode()).hexdigest()


def fingerprint(pairs: Iterable[Pair | AlignedPair]) -> str:
    """Return a hash of the sentences of a corpus, which depends on their order."""
    total = hashlib.sha256()
    for pair in pairs:
        total.update(f"{pair.target}\t{pair.context}\n".encode())
    return total.hexdigest()
