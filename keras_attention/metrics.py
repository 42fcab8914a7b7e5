"""Scores of translations and alignments: BLEU, chrF and the alignment error rate.

Texts are lists of `str`, one string per sentence. An alignment is a set of links, and a link is a
pair `(context, target)` of token positions, counted from 0. BLEU and chrF are sacrebleu's. Every
score carries sacrebleu's signature, without which two numbers cannot be compared.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import index
from typing import NamedTuple

import numpy as np

from keras_attention.types import Array

Link = tuple[int, int]


class Score(NamedTuple):
    """A corpus score and the settings used to compute it.

    `print(score)` shows both; a format such as `f"{score:.1f}"` shows the value alone.

    Attributes:
        value: the score, from 0 to 100, higher is better.
        signature: sacrebleu's signature, such as
            `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0`.
    """

    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.signature})"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, normalized: bool = False
) -> Score:
    """Compute BLEU of a corpus: how many of its n-grams, n = 1 to 4, occur in the references.

    The n-grams are counted over the whole corpus. A corpus without any 4-gram, because every
    sentence has fewer than four tokens, scores 0 even if each sentence equals its reference.

    Args:
        hypotheses: the translations, one string per sentence.
        references: the expected translations, one string per sentence, in the same order.
        normalized: False: the texts are plain; sacrebleu splits them into tokens (13a) and
            respects case. True: the texts are a vocabulary's normalised tokens, in one case and
            separated by spaces; they are compared unchanged (`tok:none`).

    Returns:
        The `Score`, 0 to 100.

    Raises:
        ValueError: the lists differ in length, are empty, or hold something other than `str`.

    References:
        Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation",
        section 2.3; Post 2018, "A Call for Clarity in Reporting BLEU Scores".
    """
    from sacrebleu.metrics import BLEU

    # force: without it, sacrebleu warns that the text looks tokenized, as it should be here.
    metric = BLEU(tokenize="none", force=True) if normalized else BLEU()
    return _corpus_score(metric, hypotheses, references)


def length_ranges(lengths: Sequence[int], at_least: float) -> list[tuple[int, int]]:
    """Divide sentence lengths into ranges with enough sentences to score.

    Args:
        lengths: one length per sentence.
        at_least: the fewest sentences in a range. Neighbouring lengths are joined until a range
            has that many; the longest lengths join the last range if they are too few.

    Returns:
        Ranges (shortest, longest) in ascending order, both ends included.

    Raises:
        ValueError: `lengths` is empty.

    Example:
    >>> length_ranges([3, 3, 4, 5, 5, 5, 9], at_least=2)
    [(3, 3), (4, 9)]
    """
    if not len(lengths):
        raise ValueError("there must be at least one length, got none")
    counts = Counter(lengths)
    ranges, waiting = [], []
    for length in sorted(counts):
        waiting.append(length)
        if sum(counts[each] for each in waiting) >= at_least:
            ranges.append((waiting[0], waiting[-1]))
            waiting = []
    if waiting and ranges:
        ranges[-1] = (ranges[-1][0], waiting[-1])
    elif waiting:
        ranges.append((waiting[0], waiting[-1]))
    return ranges


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Compute chrF of a corpus: the F-score of its character n-grams, n = 1 to 6.

    Recall counts twice as much as precision (beta = 2, "chrF2"). Unlike BLEU it gives credit for
    the right stem with the wrong ending.

    Args:
        hypotheses: the translations, one string per sentence.
        references: the expected translations, one string per sentence, in the same order.

    Returns:
        The `Score`, 0 to 100.

    Raises:
        ValueError: the lists differ in length, are empty, or hold something other than `str`.

    References:
        Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation", eq. 1.
    """
    from sacrebleu.metrics import CHRF

    return _corpus_score(CHRF(), hypotheses, references)


def alignment_from_weights(weights: Array) -> set[Link]:
    """Link every target token to the context token that it attends to most.

    A target token that had nothing to attend to, so that its weights are all 0, gets no link. If
    several weights are largest, the first wins. The caller removes the rows and columns of padding,
    `[START]` and `[END]`; positions count from the first row and column given.

    Args:
        weights: `(T, S)`, or `(H, T, S)`, which is averaged over the heads.

    Returns:
        At most T links `(context, target)`.

    Raises:
        ValueError: `weights` does not have two or three axes, is empty, or is not finite.
    """
    weights = np.asarray(weights, dtype=float)
    if weights.ndim not in (2, 3) or 0 in weights.shape:
        raise ValueError(
            f"weights must have shape (T, S) or (H, T, S) and not be empty, got {weights.shape}"
        )
    if not np.isfinite(weights).all():
        raise ValueError("weights must be finite, got NaN or infinity")
    if weights.ndim == 3:
        weights = weights.mean(axis=0)
    return {(int(row.argmax()), target) for target, row in enumerate(weights) if row.any()}


def spread(weights: Array) -> float:
    """Return over how many words the rows of a map are spread: e to the power of the mean entropy.

    Args:
        weights: (T, S), not negative; rows of zeros do not count.

    Returns:
        From 1, where every row names one word, to S, where all rows are even; 0 if all are zeros.

    Raises:
        ValueError: the weights are not a matrix of numbers that are 0 or more.

    Example:
        >>> spread([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
        2.0
    """
    weights = np.asarray(weights, dtype=float)
    if weights.ndim != 2 or not (weights >= 0).all():
        raise ValueError(f"weights must be (T, S), 0 or more, got shape {weights.shape}")
    rows = weights[weights.sum(axis=1) > 0]
    if not len(rows):
        return 0.0
    rows = rows / rows.sum(axis=1, keepdims=True)
    entropies = -(rows * np.log(np.where(rows > 0, rows, 1.0))).sum(axis=1)
    return float(np.exp(entropies.mean()))


def diagonal_alignment(context_length: int, target_length: int) -> set[Link]:
    """Link every target token to the context token beside it, a baseline that ignores the words.

    The T target tokens are stretched over the S context tokens. The centre of target token t then
    lies at `(t + 1/2) S / T`; t is linked to the context token whose span contains that point.

    Args:
        context_length: S, at least 1.
        target_length: T, at least 1.

    Returns:
        The T links `(context, target)`.

    Raises:
        ValueError: a length is below 1.

    Example:
        >>> sorted(diagonal_alignment(2, 4))
        [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    if context_length < 1 or target_length < 1:
        raise ValueError(
            "context_length and target_length must be at least 1, "
            f"got {context_length} and {target_length}"
        )
    # Integer arithmetic, so that rounding never decides when the point falls on a border.
    return {
        ((2 * target + 1) * context_length // (2 * target_length), target)
        for target in range(target_length)
    }


def alignment_error_rate(
    predicted: Sequence[Iterable[Link]],
    gold: Sequence[Iterable[Link]],
    possible: Sequence[Iterable[Link]] | None = None,
) -> float:
    """Compute the alignment error rate of a corpus, from 0 (perfect) to 1 (no link is right).

        AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

    Both sums run over the whole corpus. Without possible links P = S, and the rate is 1 - F1. If A
    and S are both empty, the rate is 0.

    Args:
        predicted: A, the links of each sentence, pairs `(context, target)`.
        gold: S, the sure links of each sentence; a missing one is an error.
        possible: P, the links of each sentence that are right but may be missing. Sure links are
            always possible (P ⊇ S), whether they are listed here or not.

    Returns:
        The rate, 0 to 1, lower is better.

    Raises:
        ValueError: the sequences differ in length or are empty, or a link is not a pair
            of positions.

    References:
        Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models",
        Computational Linguistics 29(1), the definition of AER under "Evaluation Methodology";
        A, S and P are named as there.

    Example:
        >>> alignment_error_rate([{(0, 0), (1, 1)}], [{(0, 0), (1, 2)}])
        0.5
    """
    if possible is None:
        possible = gold
    lengths = {"predicted": len(predicted), "gold": len(gold), "possible": len(possible)}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise ValueError(
            f"predicted, gold and possible must have one entry per sentence, got {found}"
        )
    if not lengths["gold"]:
        raise ValueError("predicted and gold must hold at least one sentence, got none")

    hits = total = 0
    for a, s, p in zip(predicted, gold, possible, strict=True):
        a, s, p = _links("predicted", a), _links("gold", s), _links("possible", p)
        hits += len(a & s) + len(a & (p | s))
        total += len(a) + len(s)
    return 1.0 - hits / total if total else 0.0


def _links(name, links):
    """Return the links of one sentence as a set of pairs of integers."""
    try:
        return {(index(context), index(target)) for context, target in links}
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold, for every sentence, pairs (context, target), got {links!r}"
        ) from None


def _corpus_score(metric, hypotheses, references):
    """Check lists of strings and score them with a metric of sacrebleu."""
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise ValueError(f"{name} must be a list of str, one per sentence, got one str")
        odd = [text for text in texts if not isinstance(text, str)]
        if odd:
            raise ValueError(f"{name} must be a list of str, got {odd[0]!r} in it")
    if len(hypotheses) != len(references):
        raise ValueError(
            "hypotheses and references must have the same length, "
            f"got {len(hypotheses)} hypotheses and {len(references)} references"
        )
    if not len(hypotheses):
        raise ValueError("hypotheses and references must hold at least one sentence, got none")
    score = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(float(score.score), str(metric.get_signature()))
