"""Beam search: follow the W likeliest beginnings of each sentence at once.

Each step takes the 2W likeliest continuations of the *alive* hypotheses of a sentence:

- those that end and are among the first W join its *ended* hypotheses, which are the W best;
- the W likeliest that do not end stay alive. There are enough: each hypothesis ends in one way.

A sentence is done when it has W ended hypotheses, or when no alive hypothesis can still be among
the `n_best`. So a beam of 1 is greedy decoding.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops, tree

from keras_attention.decoding import logits as on_logits
from keras_attention.decoding.arrays import NUMPY, at_places, namespace, places_of_largest
from keras_attention.decoding.loop import Carry, computes_at_once, shares_rows, until_done
from keras_attention.decoding.options import PADDING, Generated, check_options
from keras_attention.types import Array


class _Hypotheses(NamedTuple):
    """Hypotheses, best first: tokens (B, N, L), log probabilities (B, N), scores (B, N).

    A missing hypothesis has the score −∞.
    """

    tokens: Array
    log_probabilities: Array
    scores: Array

    def at(self, places):
        """Return the hypotheses at indices (B, M)."""
        return _Hypotheses(*(at_places(each, places) for each in self))

    def best(self, count):
        """Return the best, best first."""
        return self.at(places_of_largest(self.scores, count))

    def and_also(self, others):
        """Return these and then others, unsorted."""
        xp = namespace(self.scores)
        return _Hypotheses(
            *(xp.concatenate(pair, axis=1) for pair in zip(self, others, strict=True))
        )


def beam_search(
    step: Callable[[Array, Any, Any], tuple[Array, Any, Any]],
    memory: Any,
    state: Any,
    *,
    beam: int,
    max_length: int,
    length_penalty: float = 0.6,
    n_best: int = 1,
    start_id: int = 2,
    end_id: int = 3,
) -> Generated:
    """Find the best sentences for each row of a batch by score, log probability / length penalty.

    The penalty is lp(Y) = ((5 + |Y|) / 6) ** α of Wu et al. (2016), arXiv:1609.08144, equation
    (14), without its coverage term; |Y| counts the generated tokens, including the end token.
    Padding, id 0, and the start token are never generated. Traceable: one compiled program holds
    the whole loop.

    Args:
        step: `step(tokens, memory, state) → logits, weights, state`, as in the package's docstring;
            the new state has the shapes and dtypes of the old one. It is called with B·W tokens,
            and as many rows of memory and state, unless its attribute `shares_rows` is true; then
            these have B rows, and `step.branch(state, W)` and `step.follow(state, parents)` keep
            the hypotheses apart.
        memory: what the step attends to; all hypotheses of a sentence share it.
        state: the initial state.
        beam: W, number of hypotheses per sentence.
        max_length: L, maximum number of tokens in a sentence, including the end token.
        length_penalty: α; 0 sorts by log probability, larger numbers favour longer sentences.
        n_best: number of sentences to return for each row, at most W.
        start_id: id of the start token.
        end_id: id of the end token.

    Returns:
        A `Generated` with `n_best` sentences per row, best first. If too few ended before the
        limit, the best unended ones follow those that ended and are not `finished`. If a tiny
        vocabulary allows too few sentences, the missing ones have tokens 0 and log probabilities
        and scores −∞.

    Raises:
        ValueError: an option is out of range.

    References:
        Graves (2012), arXiv:1211.3711, for the search; the scheme is that of fairseq.
    """
    check_options(beam=beam, max_length=max_length, length_penalty=length_penalty, n_best=n_best)
    xp = NUMPY if computes_at_once(step) else ops
    batch = xp.shape(tree.flatten(state)[0])[0]
    memory, state, follow = _branch(step, memory, state, beam)

    def penalty(length):
        return ((5.0 + length) / 6.0) ** length_penalty

    def advance(position, memory, carry):
        alive, ended = carry.kept
        logits, _, state = step(carry.previous, memory, carry.state)
        parents, tokens, log_probabilities = _extend(logits, alive, start_id)
        here = xp.arange(max_length) == position
        histories = at_places(alive.tokens, parents)
        histories = xp.where(here, tokens[:, :, None], histories)
        ends = tokens == end_id

        counts = xp.logical_and(ends[:, :beam], xp.logical_not(carry.done)[:, None])
        scores = log_probabilities / penalty(xp.cast(position + 1, "float32"))
        new = _Hypotheses(
            histories[:, :beam],
            log_probabilities[:, :beam],
            xp.where(counts, scores[:, :beam], -math.inf),
        )
        ended = ended.and_also(new).best(beam)

        going = xp.where(ends, -math.inf, log_probabilities)
        stays = places_of_largest(going, beam)
        alive = _Hypotheses(histories, going, going / penalty(max_length)).at(stays)
        state = follow(state, at_places(parents, stays))
        previous = xp.reshape(at_places(tokens, stays), (-1,))

        # Log probabilities only fall, so no alive hypothesis can exceed its score at length L.
        settled = ended.scores[:, n_best - 1] >= alive.scores[:, 0]
        full = ended.scores[:, -1] > -math.inf
        done = xp.logical_or(carry.done, xp.logical_or(full, settled))
        return Carry(previous, state, (alive, ended), done)

    first = Carry(
        previous=xp.full((batch * beam,), start_id, dtype="int32"),
        state=state,
        kept=_beginnings(xp, batch, beam, max_length),
        done=xp.zeros((batch,), dtype="bool"),
    )
    alive, ended = until_done(advance, step, memory, first, max_length, branches=True)
    return _results(ended, alive, n_best)


def _branch(step: Any, memory, state, beam):
    """Return memory and state for W hypotheses, and what lets these go on from their parents."""
    if shares_rows(step):
        return memory, step.branch(state, beam), step.follow
    return _repeat(memory, beam), _repeat(state, beam), _reorder


def _beginnings(xp, batch, beam, max_length):
    """Return the first alive hypotheses, a single empty one; and the ended ones, none."""
    tokens = xp.full((batch, beam, max_length), PADDING, dtype="int32")
    none = xp.full((batch, beam), -math.inf, dtype="float32")
    one = xp.where(xp.arange(beam) == 0, 0.0, none)
    return _Hypotheses(tokens, one, one), _Hypotheses(tokens, none, none)


def _extend(logits, alive, start_id):
    """Find the 2W likeliest continuations of the hypotheses of each sentence.

    They are among the 2W likeliest of each hypothesis, so (B, W, V) is read only once.

    Args:
        logits: (B·W, V), or the candidates that the step found.
        alive: the hypotheses.
        start_id: id that is never generated.

    Returns:
        Their parents, indices in 0 … W−1; their tokens; their log probabilities; each (B, 2W).
    """
    xp, beam = namespace(alive.scores), alive.scores.shape[1]
    gained, ids = on_logits.candidates(logits, 2 * beam, start_id)
    count = ids.shape[1]
    candidates = alive.log_probabilities[:, :, None] + xp.reshape(gained, (-1, beam, count))
    candidates = xp.reshape(candidates, (-1, beam * count))
    places = places_of_largest(candidates, 2 * beam)
    tokens = at_places(xp.reshape(ids, (-1, beam * count)), places)
    return places // count, tokens, at_places(candidates, places)


def _repeat(structure, count):
    """Repeat each row `count` times: (B, …) → (B·W, …)."""
    return tree.map_structure(
        lambda tensor: None if tensor is None else ops.repeat(tensor, count, axis=0), structure
    )


def _reorder(state, parents):
    """Give each hypothesis its parent's state, at indices (B, W), in tensors (B·W, …)."""
    batch, beam = ops.shape(parents)
    firsts = beam * ops.arange(batch)[:, None]
    rows = ops.reshape(ops.convert_to_tensor(parents) + firsts, (-1,))
    return tree.map_structure(lambda tensor: ops.take(tensor, rows, axis=0), state)


def _results(ended, alive, n_best):
    """Return the best ended hypotheses, then the best alive ones."""
    xp = namespace(ended.scores)
    wanted = xp.arange(n_best)
    count = xp.sum(xp.cast(ended.scores > -math.inf, "int32"), axis=1, keepdims=True)
    finished = wanted < count
    beam = ended.scores.shape[1]
    chosen = ended.and_also(alive).at(xp.where(finished, wanted, beam + wanted - count))
    exists = chosen.scores > -math.inf
    return Generated(
        xp.where(exists[:, :, None], chosen.tokens, PADDING),
        xp.where(exists, chosen.log_probabilities, -math.inf),
        finished,
        chosen.scores,
    )
