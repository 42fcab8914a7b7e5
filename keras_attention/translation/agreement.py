"""From evidence, word by word, to an alignment of the whole sentence: two hidden Markov models.

    e_ts            evidence that target word t comes from source word s
    p(s | s')       neighbours come from neighbours: the next word mostly lies one further
    α_ts, β_ts      p(s at t | e): every target word has one source word      (forward–backward)
    alignment       a_ts ∝ p(s at t | e) · p(t at s | eᵀ)

Evidence is read in both directions, and what both agree on is kept: a target word comes from a
source word, and that source word went there.
"""

import numpy as np

from keras_attention.types import Array

DOUBT = 0.4  # the part of a row of evidence that says nothing
IN_ORDER = 0.7  # the part of the jumps that stay near; the others land anywhere
NEAR = 1.5  # words; e to the power of -1 for each NEAR that a jump is away from one


def agreement(evidence: Array, possible: Array | None = None) -> np.ndarray:
    """Return the alignment on which both directions agree.

    Args:
        evidence: (T, S), from 0 on: which source words S speak for which target words T. Only the
            proportions in a row count.
        possible: booleans (T, S), which pairs may be linked; None: all. Evidence for others counts
            as none.

    Returns:
        (T, S). A row sums to 1, or is 0 where there is no evidence.

    Raises:
        ValueError: the evidence is not a matrix of numbers that are 0 or more, or `possible` has
            another shape.

    References:
        Vogel, Ney, Tillmann (1996), HMM-based word alignment in statistical translation, for
        the model; Liang, Taskar, Klein (2006), Alignment by agreement, for the product. There
        the probabilities of words and jumps are learned; here the evidence comes from a
        translator, and the jumps are the same for all.

    Example:
    >>> agreement([[9, 0, 0], [3, 2, 4], [0, 0, 9]]).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    evidence = np.asarray(evidence, dtype=float)
    if evidence.ndim != 2 or not (evidence >= 0).all():
        smallest = np.min(evidence, initial=np.inf)
        raise ValueError(
            f"evidence must be (T, S), 0 or more, got shape {evidence.shape}, smallest {smallest}"
        )
    possible = np.ones(evidence.shape, bool) if possible is None else np.asarray(possible, bool)
    if possible.shape != evidence.shape:
        raise ValueError(
            f"possible must have the shape of the evidence, {evidence.shape}, got {possible.shape}"
        )
    evidence = np.where(possible, evidence, 0.0)
    target_to_source = posterior(parts(evidence, axis=1), possible)
    source_to_target = posterior(parts(evidence.T, axis=1), possible.T)
    found = target_to_source * source_to_target.T
    return parts(np.where(evidence.any(axis=1, keepdims=True), found, 0.0), axis=1)


def posterior(evidence: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Return p(s at t | all rows) by the forward–backward algorithm.

    Args:
        evidence: (T, S); each row sums to 1, or to 0 where it says nothing.
        possible: booleans (T, S), where a row may have its place. One without any place may be
            anywhere.

    Returns:
        (T, S); each row sums to 1.
    """
    length, places = evidence.shape
    even = 1 / max(places, 1)
    doubts = parts(possible | ~possible.any(axis=1, keepdims=True), axis=1)
    says = evidence.any(axis=1, keepdims=True)
    emissions = (1 - DOUBT) * np.where(says, evidence, doubts) + DOUBT * doubts
    jumps = np.arange(places) - np.arange(places)[:, None]
    near = parts(np.exp(-np.abs(jumps - 1) / NEAR), axis=1)
    transitions = IN_ORDER * near + (1 - IN_ORDER) * even
    forward, backward = emissions.copy(), np.ones_like(emissions)
    for t in range(1, length):  # each is scaled, or long sentences would vanish
        forward[t] *= parts(forward[t - 1], axis=0) @ transitions
    for t in reversed(range(length - 1)):
        backward[t] = transitions @ parts(backward[t + 1] * emissions[t + 1], axis=0)
    return parts(forward * backward, axis=1)


def parts(numbers: np.ndarray, axis: int) -> np.ndarray:
    """Divide numbers by their sum, where it is not 0."""
    sums = numbers.sum(axis=axis, keepdims=True)
    return numbers / np.where(sums > 0, sums, 1.0)
