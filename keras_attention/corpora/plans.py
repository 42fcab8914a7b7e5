"""Which pairs share a batch: they are sorted by length, and the sorted pairs are cut."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from keras_attention.corpora.shapes import first_that_holds


class Plan(NamedTuple):
    """Sorted pairs, and where they are cut into batches.

    Attributes:
        kinds: by what the pairs are sorted, numbers (N,); pairs of one kind may change places.
        cuts: of each batch, from short to long, its shape (S, T), and the places in the order of
            `kinds` at which it starts and stops.
    """

    kinds: np.ndarray
    cuts: list[tuple[tuple[int, int], int, int]]

    def batches(
        self, rng: np.random.Generator | None = None
    ) -> list[tuple[tuple[int, int], np.ndarray]]:
        """List the shape of each batch, and the numbers of its pairs.

        Args:
            rng: shuffles the batches, and the pairs of one kind. None: pairs keep their order, and
                batches are sorted from short to long.
        """
        count = len(self.kinds)
        rows = np.arange(count) if rng is None else rng.permutation(count)
        rows = rows[np.argsort(self.kinds[rows], kind="stable")]
        batches = [(shape, rows[start:stop]) for shape, start, stop in self.cuts]
        return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]


def in_shapes(
    lengths: np.ndarray, shapes: Sequence[tuple[int, int]], size: Callable[[tuple[int, int]], int]
) -> Plan:
    """Plan batches of which each has one of a few shapes, the first that holds its pairs.

    Args:
        lengths: tokens of both sentences of each pair, (N, 2).
        shapes: pairs (S, T) that grow in both; the last one holds every pair.
        size: shape → the number of pairs in a batch. The last batch of a shape has fewer.
    """
    kinds = first_that_holds(shapes, *lengths.T)
    ends = np.searchsorted(np.sort(kinds), np.arange(len(shapes)), side="right")
    cuts = [
        (shape, start, min(start + size(shape), int(end)))
        for shape, begin, end in zip(shapes, [0, *ends], ends, strict=False)
        for start in range(int(begin), int(end), size(shape))
    ]
    return Plan(kinds, cuts)


def by_length(lengths: np.ndarray, size: Callable[[tuple[int, int]], int]) -> Plan:
    """Plan batches that are as long as their own longest sentences.

    Pairs are sorted by their longer side, then by both, and cut from the longest on; so the batch
    that has fewer pairs than others is one of the shortest.

    Args:
        lengths: as for `in_shapes`.
        size: likewise, of a shape with both sides as long as the longer one.
    """
    longer = lengths.max(axis=1)
    kinds = np.ravel_multi_index((longer, *lengths.T), (longer.max() + 1,) * 3)
    order = np.argsort(kinds, kind="stable")
    cuts, stop = [], len(order)
    while stop:
        longest = int(longer[order[stop - 1]])
        start = max(stop - size((longest, longest)), 0)
        context, target = map(int, lengths[order[start:stop]].max(axis=0))
        cuts.append(((context, target), start, stop))
        stop = start
    return Plan(kinds, cuts[::-1])
