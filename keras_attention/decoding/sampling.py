"""Decode token by token: take the likeliest one each time (greedy decoding), or draw one."""

from collections.abc import Callable
from typing import Any

from keras import ops, tree

from keras_attention.decoding import logits as on_logits
from keras_attention.decoding.arrays import NUMPY, as_given
from keras_attention.decoding.loop import Carry, computes_at_once, until_done
from keras_attention.decoding.options import PADDING, Generated, check_options
from keras_attention.types import Array


def generate(
    step: Callable[[Array, Any, Any], tuple[Array, Any, Any]],
    memory: Any,
    state: Any,
    *,
    max_length: int,
    start_id: int = 2,
    end_id: int = 3,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    draws: Array | None = None,
) -> Generated:
    """Decode a batch token by token, until every sentence has ended or the limit is reached.

    Padding, id 0, and the start token are never generated. A sentence that does not end stops at
    the limit and is not `finished`. Traceable: one compiled program holds the whole loop.

    Args:
        step: `step(tokens, memory, state) → logits, weights, state`, as in the package's docstring;
            the new state has the shapes and dtypes of the old one.
        memory: what the step attends to.
        state: the initial state.
        max_length: L, maximum number of tokens in a sentence, including the end token.
        start_id: id of the start token.
        end_id: id of the end token.
        temperature: 0 takes the likeliest token (greedy); above 0, a token is drawn from
            softmax(logits / temperature).
        top_k: draw only among the k likeliest tokens; None or 0 is off.
        top_p: draw only among the likeliest tokens with this total probability, after temperature
            and top_k; None or 1 is off.
        draws: random numbers in [0, 1), (B, L), one for each token to draw; ignored by greedy
            decoding. As arguments, they make sampling the same on every backend.

    Returns:
        A `Generated`; its scores are its log probabilities.

    Raises:
        ValueError: an option is out of range, top_k or top_p is given without a temperature, or
            the draws are missing.
    """
    check_options(max_length=max_length, temperature=temperature, top_k=top_k, top_p=top_p)
    if temperature > 0 and draws is None:
        raise ValueError("sampling needs draws (B, L) from [0, 1), got None")
    xp = NUMPY if computes_at_once(step) else ops
    batch = xp.shape(tree.flatten(state)[0])[0]

    def draw(logits, draws):
        logits = on_logits.rule_out(logits, start_id)
        logits = logits - ops.max(logits, axis=-1, keepdims=True)  # so that nothing overflows
        logits = on_logits.keep_top_k(logits / temperature, top_k)
        logits = on_logits.keep_top_p(logits, top_p)
        return on_logits.draw_token(logits, draws)

    def choose(logits, draws, position):
        """Return the next tokens and their log probabilities, each (B,)."""
        if temperature == 0:
            gained, chosen = on_logits.candidates(logits, 1, start_id)
            return chosen[:, 0], gained[:, 0]
        numbers = ops.cast(logits, "float32")
        chosen = draw(numbers, ops.take(draws, position, axis=1))
        gained = on_logits.log_probabilities(numbers, chosen[:, None])[:, 0]
        return as_given(logits, (chosen, gained))

    def advance(position, given, carry):
        (memory, draws), (tokens, log_probabilities) = given, carry.kept
        logits, _, state = step(carry.previous, memory, carry.state)
        chosen, gained = choose(logits, draws, position)
        chosen = xp.where(carry.done, PADDING, chosen)
        tokens = xp.where(xp.arange(max_length) == position, chosen[:, None], tokens)
        log_probabilities = log_probabilities + xp.where(carry.done, 0.0, gained)
        done = xp.logical_or(carry.done, chosen == end_id)
        return Carry(chosen, state, (tokens, log_probabilities), done)

    first = Carry(
        previous=xp.full((batch,), start_id, dtype="int32"),
        state=state,
        kept=(
            xp.full((batch, max_length), PADDING, dtype="int32"),
            xp.zeros((batch,), dtype="float32"),
        ),
        done=xp.zeros((batch,), dtype="bool"),
    )
    tokens, log_probabilities = until_done(advance, step, (memory, draws), first, max_length)
    finished = xp.any(tokens == end_id, axis=1)
    return Generated(tokens, log_probabilities, finished, scores=log_probabilities)
