"""Pairs that the translators of the package did not learn from, kept without the sentences."""

from collections.abc import Iterable
from functools import cache

from keras_attention.corpora.grammar import AlignedPair
from keras_attention.corpora.sources import Pair
from keras_attention.corpora.splits import digest
from keras_attention.storage import bundled

_LENGTH = 16  # of the digests in the file


def held_out(pairs: Iterable[Pair | AlignedPair]) -> list:
    """Return the pairs on which the translators that come with the package were scored.

    They are 2,367 pairs of spa-eng, and share no sentence with the pairs for training. `split`
    draws other ones, so most pairs of its parts for validation and test were for training here.

    Args:
        pairs: pairs of a corpus, with `context` (Spanish) and `target` (English).

    Returns:
        Those that were held out, in their order.
    """
    return [pair for pair in pairs if digest(pair)[:_LENGTH] in _digests()]


@cache
def _digests():
    """Read the first digits of the digests."""
    lines = bundled("translators", "held_out.txt").read_text(encoding="ascii").splitlines()
    return {line for line in lines if not line.startswith("#")}
