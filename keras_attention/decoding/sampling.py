"""Token by token: the likeliest one each time (greedy decoding), or one that is drawn."""

from keras import ops, tree

from keras_attention.decoding import logits as on_logits
from keras_attention.decoding.loop import Carry, until_done
from keras_attention.decoding.options import PADDING, Generated, check_options


def generate(
    step,
    memory,
    state,
    *,
    max_length,
    start_id=2,
    end_id=3,
    temperature=0.0,
    top_k=None,
    top_p=None,
    draws=None,
):
    """Decode a batch token by token, until every sentence has ended or the limit is reached.

    Padding, id 0, and the start token are never generated. A sentence that does not end stops at
    the limit, and is not `finished`. Traceable: one compiled program holds the whole loop.

    Args:
        step: `step(tokens, memory, state) → logits, weights, state`, as in the package's docstring;
            the state that it returns has the shapes and types of the one that it was given.
        memory: what the step attends to.
        state: the state before the first token.
        max_length: most tokens of a sentence, L, the end token included.
        start_id: id that is fed first.
        end_id: id that ends a sentence.
        temperature: 0 takes the likeliest token (greedy); above 0, a token is drawn from
            softmax(logits / temperature).
        top_k: draw among the k likeliest tokens only; None or 0 is off.
        top_p: draw among the likeliest tokens only that have this probability together, after
            temperature and top_k; None or 1 is off.
        draws: numbers from [0, 1), (B, L), one for each token that is drawn; not read by greedy
            decoding. Given from outside, they make sampling the same on every backend.

    Returns:
        A `Generated`; its scores are its log probabilities.

    Raises:
        ValueError: an option is out of range, top_k or top_p comes without a temperature, or the
            draws are missing.
    """
    check_options(max_length=max_length, temperature=temperature, top_k=top_k, top_p=top_p)
    if temperature > 0 and draws is None:
        raise ValueError("sampling needs draws (B, L) from [0, 1), got None")
    batch = ops.shape(tree.flatten(state)[0])[0]

    def choose(logits, draws, position):
        logits = on_logits.rule_out(logits, start_id)
        if temperature == 0:
            return on_logits.likeliest(logits, 1)[1][:, 0]
        logits = logits - ops.max(logits, axis=-1, keepdims=True)  # so that nothing overflows
        logits = on_logits.keep_top_k(logits / temperature, top_k)
        logits = on_logits.keep_top_p(logits, top_p)
        return on_logits.draw_token(logits, ops.take(draws, position, axis=1))

    def advance(position, given, carry):
        (memory, draws), (tokens, log_probabilities) = given, carry.kept
        logits, _, state = step(carry.previous, memory, carry.state)
        logits = ops.cast(logits, "float32")
        chosen = choose(logits, draws, position)
        gained = on_logits.log_probabilities(logits, chosen[:, None])[:, 0]
        chosen = ops.where(carry.done, PADDING, chosen)
        tokens = ops.where(ops.arange(max_length) == position, chosen[:, None], tokens)
        log_probabilities += ops.where(carry.done, 0.0, gained)
        done = ops.logical_or(carry.done, chosen == end_id)
        return Carry(chosen, state, (tokens, log_probabilities), done)

    first = Carry(
        previous=ops.full((batch,), start_id, dtype="int32"),
        state=state,
        kept=(
            ops.full((batch, max_length), PADDING, dtype="int32"),
            ops.zeros((batch,), dtype="float32"),
        ),
        done=ops.zeros((batch,), dtype="bool"),
    )
    tokens, log_probabilities = until_done(advance, step, (memory, draws), first, max_length)
    finished = ops.any(tokens == end_id, axis=1)
    return Generated(tokens, log_probabilities, finished, scores=log_probabilities)
