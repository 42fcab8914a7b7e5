"""The loop of all decoding: step after step, until every sentence is done.

Sentences end at different times, and a compiled loop needs shapes that do not change. So it is
several loops in one program. The first goes on until at most a quarter of the sentences is left;
this quarter goes on alone, in a smaller batch, and so forth. In the same way a cache of many
slots begins with few and grows, so that short sentences do not pay for what long ones may need.
"""

from typing import Any, NamedTuple

from keras import ops, tree

FEWER, MORE = 4, 2  # so many times smaller is the next batch, and larger the next cache
# Each loop costs compile time: it pays neither for smaller batches nor for fewer slots.
FEWEST_SENTENCES, FIRST_SLOTS = 8, 64


class Carry(NamedTuple):
    """What goes from step to step, for B sentences with W hypotheses each.

    Attributes:
        previous: the tokens that were chosen last, (B·W,).
        state: of the model, a structure of tensors with B·W rows.
        kept: what is wanted in the end, a structure of tensors with B rows.
        done: whether a sentence is done, (B,).
    """

    previous: Any
    state: Any
    kept: Any
    done: Any


def until_done(advance, step, given, carry, limit):
    """Advance until all sentences are done, or the limit is reached.

    Args:
        advance: `advance(position, given, carry)` → the next carry; whatever it does to a sentence
            that is done must not matter.
        step: what the model's step is; one with a cache has methods `slots_of(state)`, how many
            the cache has, and `with_slots(state, slots)`, the state with more or fewer.
        given: what every step is given, a structure of tensors with B·W rows.
        carry: the first `Carry`.
        limit: most steps.

    Returns:
        What is kept.
    """
    position = ops.convert_to_tensor(0, dtype="int32")
    most = step.slots_of(carry.state) if hasattr(step, "slots_of") else None
    slots = FIRST_SLOTS
    while most is not None and slots < min(most, limit):
        carry = carry._replace(state=step.with_slots(carry.state, slots))
        position, carry = _advance(advance, given, carry, position, slots)
        slots *= MORE
    if most is not None:
        carry = carry._replace(state=step.with_slots(carry.state, most))
    return _go_on(advance, given, carry, position, limit)


def _go_on(advance, given, carry, position, limit):
    """Advance until so few are left that a smaller batch holds them, then these; what is kept."""
    position, carry = _advance(advance, given, carry, position, limit)
    few = _few(carry)
    if not few:
        return carry.kept
    left = ops.cast(ops.logical_not(carry.done), "float32")
    rows = ops.cast(ops.top_k(left, few)[1], "int32")
    width = carry.previous.shape[0] // carry.done.shape[0]
    hypotheses = ops.reshape(rows[:, None] * width + ops.arange(width, dtype="int32"), (-1,))
    fewer = Carry(
        *_take((carry.previous, carry.state), hypotheses), *_take((carry.kept, carry.done), rows)
    )
    kept = _go_on(advance, _take(given, hypotheses), fewer, position, limit)
    return tree.map_structure(
        lambda every, some: ops.scatter_update(every, rows[:, None], some), carry.kept, kept
    )


def _advance(advance, given, carry, position, limit):
    """Advance while more are left than a smaller batch holds: the next position and carry."""
    few = _few(carry)

    def goes_on(position, carry):
        left = ops.sum(ops.cast(ops.logical_not(carry.done), "int32"))
        return ops.logical_and(position < limit, left > few)

    def body(position, carry):
        return position + 1, advance(position, given, carry)

    return ops.while_loop(goes_on, body, (position, carry))


def _few(carry):
    """Return the size of the next smaller batch, 0 if there is none; an unknown size has none."""
    few = (carry.done.shape[0] or 0) // FEWER
    return few if few >= FEWEST_SENTENCES else 0


def _take(structure, rows):
    """Return rows of all tensors."""
    return tree.map_structure(
        lambda tensor: None if tensor is None else ops.take(tensor, rows, axis=0), structure
    )
