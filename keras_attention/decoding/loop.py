"""The loop of all decoding: step after step, until every sentence is done.

Sentences end at different times, but a compiled loop needs constant shapes. So one program holds
several loops. The first runs until at most a quarter of the sentences is left; this quarter
continues in a smaller batch, and so on. Likewise, a cache of many slots begins with few and grows,
so that short sentences do not pay for long ones. A step that computes at once needs no such loops.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from keras import ops, tree

from keras_attention.types import Array

FEWER, MORE = 4, 2  # the factors by which the batch shrinks and the cache grows
# Each loop costs compile time, which smaller batches or fewer slots would not save.
FEWEST_SENTENCES, FIRST_SLOTS = 8, 64
FIRST_SLOTS_OF_A_BEAM = 16  # each hypothesis reads those of all
LEAVING = 4  # in a loop that is not compiled, a quarter that is done leaves the batch


class Carry(NamedTuple):
    """What each step passes to the next, for B sentences with W hypotheses each.

    Attributes:
        previous: the latest tokens, (B·W,).
        state: state of the model, a structure of tensors with B·W rows, or B if the step shares
            them.
        kept: the result so far, a structure of tensors with B rows.
        done: whether each sentence is done, (B,).
    """

    previous: Array
    state: Any
    kept: Any
    done: Array


def until_done(
    advance: Callable[[Array, Any, Carry], Carry],
    step: Any,
    given: Any,
    carry: Carry,
    limit: int,
    branches: bool = False,
) -> Any:
    """Advance until all sentences are done or the limit is reached.

    Args:
        advance: `advance(position, given, carry)` → the next carry; its effect on finished
            sentences must not matter.
        step: the model's step. A step with a cache has the methods `slots_of(state)`, which returns
            the number of slots of a hypothesis, and `with_slots(state, slots)`, which changes it.
            A step that computes at once, and is not traced, returns arrays of NumPy, also in the
            carry, and has the method `take(structure, rows)`, which returns rows of its memory and
            state.
        given: inputs of every step, a structure of tensors with as many rows as the state.
        carry: the first `Carry`.
        limit: maximum number of steps.
        branches: whether the hypotheses of a beam search share the slots of a cache.

    Returns:
        The `kept` of the last carry.
    """
    if computes_at_once(step):
        return _at_once(advance, step, given, carry, limit)
    position = ops.convert_to_tensor(0, dtype="int32")
    most = step.slots_of(carry.state) if hasattr(step, "slots_of") else None
    slots = FIRST_SLOTS_OF_A_BEAM if branches else FIRST_SLOTS
    while most is not None and slots < min(most, limit):
        carry = carry._replace(state=step.with_slots(carry.state, slots))
        position, carry = _advance(advance, given, carry, position, slots)
        slots = max(slots * MORE, FIRST_SLOTS)
    if most is not None:
        carry = carry._replace(state=step.with_slots(carry.state, most))
    return _go_on(advance, shares_rows(step), given, carry, position, limit)


def _at_once(advance, step, given, carry, limit):
    """Advance in a loop of Python, with arrays of NumPy; what is done leaves the batch."""
    rows, parts = np.arange(len(carry.done)), []
    for position in range(limit):
        carry = advance(position, given, carry)
        done = carry.done
        if done.all():
            break
        if LEAVING * done.sum() >= len(done):
            parts.append((rows[done], _rows(carry.kept, done)))
            hypotheses = np.repeat(~done, len(carry.previous) // len(done))
            carried = np.flatnonzero(~done if shares_rows(step) else hypotheses)
            given, state = step.take((given, carry.state), carried)
            rows = rows[~done]
            carry = Carry(carry.previous[hypotheses], state, *_rows((carry.kept, done), ~done))
    numbers, kept = zip(*parts, (rows, carry.kept), strict=True)
    order = np.argsort(np.concatenate(numbers))
    return tree.map_structure(lambda *each: np.concatenate(each)[order], *kept)


def _rows(structure, which):
    """Return rows of all arrays of NumPy."""
    return tree.map_structure(lambda array: array[which], structure)


def computes_at_once(step: Any) -> bool:
    """Return whether a step is not traced, but returns arrays of NumPy."""
    return hasattr(step, "take")


def shares_rows(step: Any) -> bool:
    """Return whether the W hypotheses of a sentence share one row of the memory and the state."""
    return getattr(step, "shares_rows", False)


def _go_on(advance, shares, given, carry, position, limit):
    """Advance until a smaller batch can hold the unfinished sentences, then continue with it."""
    position, carry = _advance(advance, given, carry, position, limit)
    few = _few(carry)
    if not few:
        return carry.kept
    left = ops.cast(ops.logical_not(carry.done), "float32")
    rows = ops.cast(ops.top_k(left, few)[1], "int32")
    width = carry.previous.shape[0] // carry.done.shape[0]
    hypotheses = ops.reshape(rows[:, None] * width + ops.arange(width, dtype="int32"), (-1,))
    carried = rows if shares else hypotheses
    fewer = Carry(
        _take(carry.previous, hypotheses),
        _take(carry.state, carried),
        *_take((carry.kept, carry.done), rows),
    )
    given = _take(given, carried)
    kept = _go_on(advance, shares, given, fewer, position, limit)
    return tree.map_structure(
        lambda every, some: ops.scatter_update(every, rows[:, None], some), carry.kept, kept
    )


def _advance(advance, given, carry, position, limit):
    """Advance while the unfinished sentences exceed a smaller batch; return position and carry."""
    few = _few(carry)

    def goes_on(position, carry):
        left = ops.sum(ops.cast(ops.logical_not(carry.done), "int32"))
        return ops.logical_and(position < limit, left > few)

    def body(position, carry):
        return position + 1, advance(position, given, carry)

    return ops.while_loop(goes_on, body, (position, carry))


def _few(carry):
    """Return the size of the next smaller batch, 0 if there is none or the size is unknown."""
    few = (carry.done.shape[0] or 0) // FEWER
    return few if few >= FEWEST_SENTENCES else 0


def _take(structure, rows):
    """Return rows of all tensors."""
    return tree.map_structure(
        lambda tensor: None if tensor is None else ops.take(tensor, rows, axis=0), structure
    )
