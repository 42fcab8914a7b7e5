"""Threads that compute a batch each: the operations of decoding are too small for all cores."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from keras_attention.cores import count_of_cores

MOST_THREADS = 8  # each has a batch in memory
FEWEST_ROWS = 8  # of a batch that is made smaller for the sake of the threads


def count_of_threads() -> int:
    """Return how many threads have a core, at most 8."""
    return min(count_of_cores(), MOST_THREADS)


def size_of_batches(count: int, most: int) -> int:
    """Return the number of rows in a batch: fewer than the most, if a thread would have no work.

    If there are enough rows, each of several threads gets two batches: rows are sorted by length,
    and one batch for each would leave all long sentences to a single thread.

    Args:
        count: number of all rows.
        most: the most rows in a batch.
    """
    threads = count_of_threads()
    return most if threads == 1 else min(most, max(-(-count // (2 * threads)), FEWEST_ROWS))


def in_threads(compute: Callable[[Any], Any], batches: Iterable[Any], threads: int) -> list[Any]:
    """Compute each of some batches in a thread, and return the results in their order.

    Args:
        compute: what to call with a batch; several threads call it at the same time.
        batches: taken no faster than they are computed, so that a progress bar may count them.
        threads: how many of them.
    """
    outputs: list[Any] = []
    begun: deque[Any] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for inputs in batches:
            begun.append(pool.submit(compute, inputs))
            if len(begun) > threads:
                outputs.append(begun.popleft().result())
        return [*outputs, *(each.result() for each in begun)]
