"""A rival without a model: eflomal, a statistical aligner (Östling and Tiedemann 2016)."""

import importlib.util
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from keras_attention.corpora import AlignedPair, Pair
from keras_attention.metrics import Link
from keras_attention.text import split_marks
from keras_attention.text.word_pieces import JOINER


def is_installed() -> bool:
    """Return whether eflomal is installed; it is under the GPL, so only a benchmark uses it."""
    return importlib.util.find_spec("eflomal") is not None


def links(aligned: Sequence[AlignedPair], pairs: Iterable[Pair]) -> list[set[Link]]:
    """Align pairs by eflomal, from the source to the target.

    Args:
        aligned: N pairs, whose gold links it does not see.
        pairs: more pairs to learn from.

    Returns:
        N sets of links (context token, target token), tokens as in `split_marks`.
    """
    import eflomal

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        sides, found = [], Path(folder) / "links"
        every = [(pair.context, pair.target) for each in (aligned, pairs) for pair in each]
        for number, sentences in enumerate(zip(*every, strict=True)):
            path = Path(folder) / str(number)
            path.write_text("".join(map(_line, sentences)), encoding="utf-8")
            sides.append(stack.enter_context(path.open(encoding="utf-8")))
        eflomal.Aligner().align(*sides, links_filename_fwd=str(found), quiet=True)
        lines = found.read_text().splitlines()[: len(aligned)]
    return [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines]


def _line(sentence):
    return " ".join(split_marks(sentence)).replace(JOINER, "").lower() + "\n"
