"""How good a translator is: loss, BLEU and chrF, and whether it looks at the right word."""

from typing import NamedTuple

import keras

from keras_attention import metrics
from keras_attention.corpora import Batches
from keras_attention.plotting import merge_tokens
from keras_attention.text import normalize, split_words
from keras_attention.training import compile_for_training
from keras_attention.translation.result import mean_attention


class Report(NamedTuple):
    """How a translator does on sentence pairs it is given.

    `loss` in nats a token and `accuracy` are those of the next token after the right ones;
    `bleu_words` is BLEU on normalised lower-cased words, `bleu` and `chrf` on sentences as written;
    `hypotheses` are the translations.
    """

    loss: float
    accuracy: float
    bleu_words: metrics.Score
    bleu: metrics.Score
    chrf: metrics.Score
    hypotheses: list


class Bleu(NamedTuple):
    """BLEU of translations: on sentences `as_written`, and on normalised lower-cased `words`."""

    as_written: metrics.Score
    words: metrics.Score


class AlignmentErrorRates(NamedTuple):
    """How far the attention, and a plain diagonal, are from the gold alignment: 0 is perfect."""

    attention: float
    diagonal: float


def evaluate(translator, pairs, *, batch_size=64, **options):
    """Score a translator on sentence pairs.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context` and `target`.
        batch_size: sentences a batch.
        **options: of `Translator.generate`, such as `beam` and `progress`; greedy by default.

    Returns:
        A `Report`.

    Raises:
        ValueError: there are no pairs, or a sentence is too long.
    """
    batches = _batched(translator, pairs, batch_size)
    # A view over the same layers, so that the model keeps what its user compiled it with.
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


def bleu(translator, pairs, *, batch_size=64, **options):
    """Score the translations of sentence pairs by BLEU alone, without the loss.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context` and `target`, at least one.
        batch_size: sentences a batch.
        **options: of `Translator.generate`; greedy by default.

    Returns:
        `Bleu`.

    Raises:
        ValueError: there are no pairs, or a sentence is too long.
    """
    batches = _batched(translator, pairs, batch_size)
    hypotheses = _translated(translator, batches, batch_size, options)
    return _bleu(hypotheses, [pair.target for pair in pairs])


def _batched(translator, pairs, batch_size):
    """Return `Batches` of pairs, of which there must be one."""
    if not pairs:
        raise ValueError("a translator is scored on at least one sentence pair, got none")
    vocabularies = translator.context_vocabulary, translator.target_vocabulary
    return Batches.of_pairs(pairs, *vocabularies, batch_size)


def _translated(translator, batches, batch_size, options):
    """Return the translation of every context."""
    generated = translator.generate(batches.context_ids, batch_size=batch_size, **options)
    vocabulary = translator.target_vocabulary
    return [vocabulary.join(vocabulary.words_of(best[0].tokens)) for best in generated]


def _bleu(hypotheses, references):
    """Return `Bleu` of translations."""
    normalized = [[normalize(text) for text in texts] for texts in (hypotheses, references)]
    return Bleu(metrics.bleu(hypotheses, references), metrics.bleu(*normalized, normalized=True))


def bleu_by_length(hypotheses, pairs):
    """Score translations apart by the length of their source.

    Args:
        hypotheses: the translations, as in `Report.hypotheses`.
        pairs: what they are translations of.

    Returns:
        Ranges of length in tokens, both ends included; the number of sentences in each, at least
        30 and a twentieth of all, where there are so many; and the BLEU of each on normalised
        lower-cased words.

    Raises:
        ValueError: there are no pairs.
    """
    lengths = [len(split_words(pair.context)) for pair in pairs]
    ranges = metrics.length_ranges(lengths, max(30, len(pairs) / 20))
    counts, scores = [], []
    for shortest, longest in ranges:
        rows = [row for row, length in enumerate(lengths) if shortest <= length <= longest]
        counts.append(len(rows))
        scores.append(
            metrics.bleu(
                [normalize(hypotheses[row]) for row in rows],
                [normalize(pairs[row].target) for row in rows],
                normalized=True,
            ).value
        )
    return ranges, counts, scores


def alignment_error_rates(translator, pairs, *, batch_size=64):
    """Compare where a translator looks with the gold alignment of aligned pairs.

    The attention is that of the right translation, fed word by word (teacher forcing). Each target
    word is linked to the context word with the largest weight; `[START]` and `[END]` are no words.

    Args:
        translator: a `Translator`.
        pairs: pairs with `context`, `target` and `links`, as of `keras_attention.corpora.grammar`.
        batch_size: sentences a batch.

    Returns:
        `AlignmentErrorRates`.
    """
    batches = _batched(translator, pairs, batch_size)
    written = batches.target_ids[:, 1:]
    weights = translator.attend(batches.context_ids, written, batch_size=batch_size)
    predicted, diagonal, gold = [], [], []
    for row, (pair, each) in enumerate(zip(pairs, weights, strict=True)):
        groups = [
            vocabulary.word_groups(vocabulary.words_of(ids[row]))
            for vocabulary, ids in (
                (translator.context_vocabulary, batches.context_ids),
                (translator.target_vocabulary, batches.target_ids),
            )
        ]
        words = merge_tokens(mean_attention(each)[:-1, 1:-1], *groups)
        predicted.append(metrics.alignment_from_weights(words))
        diagonal.append(metrics.diagonal_alignment(*words.shape[::-1]))
        gold.append(set(pair.links))
    return AlignmentErrorRates(
        metrics.alignment_error_rate(predicted, gold),
        metrics.alignment_error_rate(diagonal, gold),
    )
