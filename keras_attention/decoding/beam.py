"""Beam search: follow the W likeliest beginnings of each sentence at once.

At each step, of the 2W likeliest continuations of the *alive* hypotheses of a sentence

- those that end, and are among the first W, go to its list of *ended* hypotheses, the W best;
- the W likeliest that do not end stay alive; there are enough, as each hypothesis ends in one way.

A sentence is done when its list is full, or when no alive hypothesis could still be among the best
that are wanted. So a beam of 1 is greedy decoding.
"""

import math
from typing import Any, NamedTuple

from keras import ops, tree

from keras_attention.decoding import logits as on_logits
from keras_attention.decoding.loop import Carry, until_done
from keras_attention.decoding.options import PADDING, Generated, check_options


class _Hypotheses(NamedTuple):
    """Hypotheses, best first: tokens (B, N, L), log probabilities (B, N), scores (B, N).

    One that does not exist has the score −∞.
    """

    tokens: Any
    log_probabilities: Any
    scores: Any

    def at(self, places):
        """Return those at places (B, M)."""
        return _Hypotheses(
            ops.take_along_axis(self.tokens, places[:, :, None], axis=1),
            ops.take_along_axis(self.log_probabilities, places, axis=1),
            ops.take_along_axis(self.scores, places, axis=1),
        )

    def best(self, count):
        """Return the best."""
        return self.at(_places_of_largest(self.scores, count))

    def and_also(self, others):
        """Return these and then others, not sorted."""
        pairs = zip(self, others, strict=True)
        return _Hypotheses(*(ops.concatenate(pair, axis=1) for pair in pairs))


def beam_search(
    step,
    memory,
    state,
    *,
    beam,
    max_length,
    length_penalty=0.6,
    n_best=1,
    start_id=2,
    end_id=3,
):
    """Find the best sentences of each row of a batch, by score: log probability / length penalty.

    The penalty is lp(Y) = ((5 + |Y|) / 6) ** α of Wu et al. (2016), arXiv:1609.08144, equation
    (14), without its coverage term; |Y| counts the tokens that are generated, the end token
    included. Padding, id 0, and the start token are never generated. Traceable: one compiled
    program holds the whole loop.

    Args:
        step: `step(tokens, memory, state) → logits, weights, state`, as in the package's docstring;
            the state that it returns has the shapes and types of the one that it was given. It is
            called with B·W rows.
        memory: what the step attends to; all hypotheses of a sentence share it.
        state: the state before the first token.
        beam: hypotheses of a sentence that are followed at once, W.
        max_length: most tokens of a sentence, L, the end token included.
        length_penalty: α; 0 sorts by log probability, larger numbers favour longer sentences.
        n_best: sentences that are wanted, at most W.
        start_id: id that is fed first.
        end_id: id that ends a sentence.

    Returns:
        A `Generated` with `n_best` sentences a row, best first. Where too few ended before the
        limit, the best that did not come after those that did, and are not `finished`. Where there
        are no more sentences at all, since the vocabulary is tiny, their tokens are 0 and their log
        probabilities and scores −∞.

    Raises:
        ValueError: an option is out of range.

    References:
        Graves (2012), arXiv:1211.3711, for the search; the scheme is that of fairseq.
    """
    check_options(beam=beam, max_length=max_length, length_penalty=length_penalty, n_best=n_best)
    batch = ops.shape(tree.flatten(state)[0])[0]
    memory, state = _repeat((memory, state), beam)

    def penalty(length):
        return ((5.0 + length) / 6.0) ** length_penalty

    def advance(position, memory, carry):
        alive, ended = carry.kept
        logits, _, state = step(carry.previous, memory, carry.state)
        parents, tokens, log_probabilities = _extend(logits, alive, start_id)
        here = ops.arange(max_length) == position
        histories = ops.take_along_axis(alive.tokens, parents[:, :, None], axis=1)
        histories = ops.where(here, tokens[:, :, None], histories)
        ends = tokens == end_id

        counts = ops.logical_and(ends[:, :beam], ops.logical_not(carry.done)[:, None])
        scores = log_probabilities / penalty(ops.cast(position + 1, "float32"))
        new = _Hypotheses(
            histories[:, :beam],
            log_probabilities[:, :beam],
            ops.where(counts, scores[:, :beam], -math.inf),
        )
        ended = ended.and_also(new).best(beam)

        going = ops.where(ends, -math.inf, log_probabilities)
        stays = _places_of_largest(going, beam)
        alive = _Hypotheses(histories, going, going / penalty(max_length)).at(stays)
        state = _reorder(state, ops.take_along_axis(parents, stays, axis=1))
        previous = ops.reshape(ops.take_along_axis(tokens, stays, axis=1), (-1,))

        # Log probabilities only fall, so that no alive hypothesis will exceed its score at L.
        settled = ended.scores[:, n_best - 1] >= alive.scores[:, 0]
        full = ended.scores[:, -1] > -math.inf
        done = ops.logical_or(carry.done, ops.logical_or(full, settled))
        return Carry(previous, state, (alive, ended), done)

    first = Carry(
        previous=ops.full((batch * beam,), start_id, dtype="int32"),
        state=state,
        kept=_beginnings(batch, beam, max_length),
        done=ops.zeros((batch,), dtype="bool"),
    )
    alive, ended = until_done(advance, step, memory, first, max_length)
    return _results(ended, alive, n_best)


def _beginnings(batch, beam, max_length):
    """Return what is alive before the first token, one empty hypothesis; and ended, none."""
    tokens = ops.full((batch, beam, max_length), PADDING, dtype="int32")
    none = ops.full((batch, beam), -math.inf, dtype="float32")
    one = ops.where(ops.arange(beam) == 0, 0.0, none)
    return _Hypotheses(tokens, one, one), _Hypotheses(tokens, none, none)


def _extend(logits, alive, start_id):
    """Find the 2W likeliest continuations of the hypotheses of each sentence.

    They are among the 2W likeliest of each hypothesis, so that (B, W, V) is looked at only once.

    Args:
        logits: (B·W, V).
        alive: the hypotheses.
        start_id: id that is never generated.

    Returns:
        Their parents, places in 0 … W−1; their tokens; their log probabilities; each (B, 2W).
    """
    logits = ops.cast(logits, "float32")
    beam = alive.scores.shape[1]
    count = min(2 * beam, logits.shape[-1])
    values, ids = on_logits.likeliest(on_logits.rule_out(logits, start_id), count)
    gained = values - ops.logsumexp(logits, axis=-1, keepdims=True)
    candidates = alive.log_probabilities[:, :, None] + ops.reshape(gained, (-1, beam, count))
    candidates = ops.reshape(candidates, (-1, beam * count))
    places = _places_of_largest(candidates, 2 * beam)
    tokens = ops.take_along_axis(ops.reshape(ids, (-1, beam * count)), places, axis=1)
    return places // count, tokens, ops.take_along_axis(candidates, places, axis=1)


def _places_of_largest(values, count):
    """Return the places (B, count) of the largest values (B, N), largest first."""
    return ops.cast(ops.top_k(values, count)[1], "int32")


def _repeat(structure, count):
    """Repeat each row `count` times: (B, …) → (B·W, …)."""
    return tree.map_structure(
        lambda tensor: None if tensor is None else ops.repeat(tensor, count, axis=0), structure
    )


def _reorder(state, parents):
    """Give each hypothesis the state of its parent, (B, W) places, in tensors (B·W, …)."""
    batch, beam = ops.shape(parents)
    rows = ops.reshape(parents + beam * ops.arange(batch)[:, None], (-1,))
    return tree.map_structure(lambda tensor: ops.take(tensor, rows, axis=0), state)


def _results(ended, alive, n_best):
    """Take the best that ended, and then the best that did not."""
    wanted = ops.arange(n_best)
    count = ops.sum(ops.cast(ended.scores > -math.inf, "int32"), axis=1, keepdims=True)
    finished = wanted < count
    beam = ended.scores.shape[1]
    chosen = ended.and_also(alive).at(ops.where(finished, wanted, beam + wanted - count))
    exists = chosen.scores > -math.inf
    return Generated(
        ops.where(exists[:, :, None], chosen.tokens, PADDING),
        ops.where(exists, chosen.log_probabilities, -math.inf),
        finished,
        chosen.scores,
    )
