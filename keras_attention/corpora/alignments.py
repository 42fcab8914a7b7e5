"""Gold word alignments of sentence pairs, made by hand and kept without the sentences."""

from collections.abc import Iterable
from functools import cache

from keras_attention.corpora.grammar import AlignedPair
from keras_attention.corpora.sources import Pair
from keras_attention.corpora.splits import digest
from keras_attention.storage import bundled


def aligned(pairs: Iterable[Pair]) -> list[AlignedPair]:
    """Return the pairs whose word alignment is known: fifty held-out pairs of spa-eng.

    `data/alignments/README.md` has the rules of alignment. Tokens are words and single marks, as in
    `keras_attention.text.split_marks`.

    Args:
        pairs: pairs of a corpus, with `context` (Spanish) and `target` (English).

    Returns:
        Those that are aligned, in their order, with their links.
    """
    links = _links()
    known = ((pair, links.get(digest(pair))) for pair in pairs)
    return [AlignedPair(pair.context, pair.target, found) for pair, found in known if found]


@cache
def _links():
    """Read the links (context token, target token) by the hash of their pair."""
    path = bundled("alignments", "spa-eng.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {
        of_pair: tuple(tuple(map(int, link.split("-"))) for link in links.split())
        for of_pair, links in rows
    }
