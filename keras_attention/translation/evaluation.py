"""The scores of a translator: loss, BLEU and chrF, and whether it attends to the right word."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import keras

from keras_attention import metrics
from keras_attention.corpora import AlignedPair, Batches, Pair
from keras_attention.plotting import merge_tokens
from keras_attention.text import caseless
from keras_attention.training import compile_for_training

if TYPE_CHECKING:  # scoring needs no loading or saving
    from keras_attention.translation.translator import Translator


class Report(NamedTuple):
    """The scores of a translator on sentence pairs.

    `loss` (nats per token) and `accuracy` are those of the next token with teacher forcing;
    `bleu_words` is BLEU on normalised lower-cased words, `bleu` and `chrf` on sentences as written;
    `hypotheses` are the translations.
    """

    loss: float
    accuracy: float
    bleu_words: metrics.Score
    bleu: metrics.Score
    chrf: metrics.Score
    hypotheses: list[str]


class Bleu(NamedTuple):
    """BLEU of translations: on sentences `as_written`, and on normalised lower-cased `words`."""

    as_written: metrics.Score
    words: metrics.Score


class AlignmentErrorRates(NamedTuple):
    """Errors against the gold: of the attention, of the alignment, and of a plain diagonal."""

    attention: float
    alignment: float
    diagonal: float


def evaluate(
    translator: "Translator",
    pairs: Sequence[Pair | AlignedPair],
    *,
    batch_size: int = 64,
    **options: Any,
) -> Report:
    """Score a translator on sentence pairs.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context` and `target`.
        batch_size: sentences per batch.
        **options: for `Translator.generate`, such as `beam` and `progress`; greedy by default.

    Returns:
        A `Report`.

    Raises:
        ValueError: there are no pairs, or a sentence is too long.
    """
    batches = _batched(translator, pairs, batch_size)
    # Compile a view over the same layers, so that the user's compiled model stays as it is.
    scored = keras.Model(translator.model.input, translator.model.output)
    compile_for_training(scored)
    measured = scored.evaluate(batches.in_order(), return_dict=True, verbose=0)
    hypotheses = _translated(translator, batches, batch_size, options)
    references = [pair.target for pair in pairs]
    scores = _bleu(hypotheses, references)
    return Report(
        measured["masked_loss"],
        measured["masked_accuracy"],
        scores.words,
        scores.as_written,
        metrics.chrf(hypotheses, references),
        hypotheses,
    )


def bleu(
    translator: "Translator",
    pairs: Sequence[Pair | AlignedPair],
    *,
    batch_size: int = 64,
    **options: Any,
) -> Bleu:
    """Score the translations of sentence pairs by BLEU alone, without the loss.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context` and `target`, at least one.
        batch_size: sentences per batch.
        **options: for `Translator.generate`; greedy by default.

    Returns:
        `Bleu`.

    Raises:
        ValueError: there are no pairs, or a sentence is too long.
    """
    batches = _batched(translator, pairs, batch_size)
    hypotheses = _translated(translator, batches, batch_size, options)
    return _bleu(hypotheses, [pair.target for pair in pairs])


def _batched(translator, pairs, batch_size):
    """Return `Batches` of at least one pair."""
    if not pairs:
        raise ValueError("scoring needs at least one sentence pair, got none")
    vocabularies = translator.context_vocabulary, translator.target_vocabulary
    return Batches.of_pairs(pairs, *vocabularies, batch_size)


def _translated(translator, batches, batch_size, options):
    """Return the translation of every context."""
    generated = translator.generate(batches.context_ids, batch_size=batch_size, **options)
    vocabulary = translator.target_vocabulary
    return [vocabulary.join(vocabulary.words_of(best[0].tokens)) for best in generated]


def _bleu(hypotheses, references):
    """Return `Bleu` of translations."""
    normalized = [[caseless(text) for text in texts] for texts in (hypotheses, references)]
    return Bleu(metrics.bleu(hypotheses, references), metrics.bleu(*normalized, normalized=True))


def bleu_by_length(
    hypotheses: Sequence[str], pairs: Sequence[Pair | AlignedPair]
) -> tuple[list[tuple[int, int]], list[int], list[float]]:
    """Score translations grouped by the length of their source.

    Args:
        hypotheses: the translations, as in `Report.hypotheses`.
        pairs: the sentence pairs that were translated.

    Returns:
        Ranges of length in tokens, both ends included; the number of sentences in each, at least
        30 and a twentieth of all if there are enough; and the BLEU of each range on normalised
        lower-cased words.

    Raises:
        ValueError: there are no pairs.
    """
    lengths = [len(caseless(pair.context).split()) for pair in pairs]
    ranges = metrics.length_ranges(lengths, max(30, -(-len(pairs) // 20)))
    counts, scores = [], []
    for shortest, longest in ranges:
        rows = [row for row, length in enumerate(lengths) if shortest <= length <= longest]
        counts.append(len(rows))
        scores.append(
            metrics.bleu(
                [caseless(hypotheses[row]) for row in rows],
                [caseless(pairs[row].target) for row in rows],
                normalized=True,
            ).value
        )
    return ranges, counts, scores


def alignment_error_rates(
    translator: "Translator", pairs: Sequence[AlignedPair], *, batch_size: int = 64
) -> AlignmentErrorRates:
    """Compare where a translator looks, and where its words come from, with the gold alignment.

    Both are of the reference translation (teacher forcing). Each target word is linked to the
    context word with the largest number; `[START]` and `[END]` do not count as words.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context`, `target` and `links`, as from `corpora.Grammar` or
            `corpora.aligned`.
        batch_size: sentences per batch.

    Returns:
        `AlignmentErrorRates`, each from 0 to 1; 0 is best.
    """
    contexts, targets = ([getattr(pair, side) for pair in pairs] for side in ("context", "target"))
    forced = translator.forced(contexts, targets, batch_size=batch_size)
    gold = [set(pair.links) for pair in pairs]

    def by_words(weights, translation):
        groups = translation.context_groups, translation.target_groups
        return merge_tokens(weights, *groups)[:-1, 1:-1]

    def error_rate(maps):
        merged = map(by_words, maps, forced)
        return metrics.alignment_error_rate(list(map(metrics.alignment_from_weights, merged)), gold)

    looks = [each.attention for each in forced]
    words = [by_words(*each).shape for each in zip(looks, forced, strict=True)]
    diagonal = [metrics.diagonal_alignment(S, T) for T, S in words]
    return AlignmentErrorRates(
        attention=error_rate(looks),
        alignment=error_rate([each.alignment for each in forced]),
        diagonal=metrics.alignment_error_rate(diagonal, gold),
    )
