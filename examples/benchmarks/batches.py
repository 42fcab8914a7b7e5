"""How the pairs of a corpus go through a training: the conditions, and what a batch counts for.

And the recipe that all contestants train by. There is no dropout in it: implementations drop in
different places, which would not be the same work.
"""

from typing import NamedTuple

import numpy as np

from examples.benchmarks import flops

LEARNING_RATE, DROPOUT = 5e-4, 0.0
LABEL_SMOOTHING = {"rnn": 0.0, "transformer": 0.1}

# How this package can make batches; its rivals pad to the longest. `SORTED` are the same for all.
TO_SHAPES, TO_THE_LONGEST, SORTED = "to shapes", "to the longest", "sorted, to the longest"
BY_TOKENS, IN_MEMORY = "by tokens", "in memory"


class Condition(NamedTuple):
    """Pairs, and how many batches of them are one turn.

    Attributes:
        rows: of the pool.
        batch_size: sentences a batch.
        steps: batches a turn.
        batched: how this package makes the batches: `TO_SHAPES`, as it does; `TO_THE_LONGEST`, as
            its rivals do, see `rows_of_a_turn`; `SORTED`, which is for all, likewise; `BY_TOKENS`,
            in its shapes, with a constant number of tokens and about `batch_size` sentences;
            `IN_MEMORY`, those of `TO_SHAPES`, made beforehand.
    """

    rows: np.ndarray
    batch_size: int
    steps: int
    batched: str = TO_SHAPES


def by_length(context_ids, target_ids, shares=3):
    """Divide pairs by the length of their longer sentence: arrays of rows, from short to long."""
    longest = np.maximum((context_ids != 0).sum(1), (target_ids != 0).sum(1))
    return [np.sort(part) for part in np.array_split(np.argsort(longest, kind="stable"), shares)]


def rows_of_a_turn(context_ids, target_ids, condition):
    """Return the pairs of each batch of a turn, (steps, B), in random order.

    A batch has pairs drawn at random; if they are `SORTED`, pairs of about equal length, and the
    batches are spread evenly over the lengths.
    """
    rng, size, steps = np.random.default_rng(0), condition.batch_size, condition.steps
    if condition.batched != SORTED:
        return np.resize(rng.permutation(condition.rows), (steps, size))
    lengths = [(ids[condition.rows] != 0).sum(1) for ids in (context_ids, target_ids)]
    rows = condition.rows[np.lexsort((*lengths, np.maximum(*lengths)))]
    whole = rows[: len(rows) // size * size].reshape(-1, size)
    middles = (np.arange(steps) + 0.5) * len(whole) / steps
    return whole[rng.permutation(middles.astype(int))]


def padded_to_longest(context_ids, target_ids, rows):
    """Return the batch of some pairs, each side as long as its longest sentence.

    Returns:
        Context, target without its last token, labels; int32.
    """
    context, target = (
        ids[rows][:, : (ids[rows] != 0).sum(1).max()] for ids in (context_ids, target_ids)
    )
    labels = target[:, 1:]
    return context, target[:, :-1] * (labels != 0), labels


def counted(batches, model, sizes):
    """Count what batches hold: real tokens, places, and the operations of training on them.

    Args:
        batches: pairs of context (B, S) and labels (B, T), 0 where there is no token.
        model: name of a model in `flops.MODELS`.
        sizes: of the model.

    Returns:
        A dictionary: `sentences`, `target_tokens` and `target_places`; `operations` over all places
        and `useful_operations` over tokens alone; `shapes`, how many different ones.
    """
    total = dict.fromkeys(("sentences", "target_tokens", "target_places"), 0)
    total |= {"operations": 0.0, "useful_operations": 0.0}
    shapes = set()
    for context, labels in batches:
        source, target = (context != 0).sum(1), (labels != 0).sum(1)
        is_pair = target > 0
        total["sentences"] += int(is_pair.sum())
        total["target_tokens"] += int(target.sum())
        total["target_places"] += labels.size
        whole = flops.forward(model, context.shape[1], labels.shape[1], sizes)
        total["operations"] += 3 * len(context) * float(whole)
        useful = flops.forward(model, source[is_pair], target[is_pair], sizes)
        total["useful_operations"] += 3 * float(np.sum(useful))
        shapes.add((*context.shape, labels.shape[1]))
    return {**total, "shapes": len(shapes)}
