"""Scores against counts by hand."""

import keras
import numpy as np
import pytest

from keras_attention import metrics
from keras_attention.corpora import Pair
from keras_attention.corpora.grammar import AlignedPair
from keras_attention.text import Vocabulary, normalize
from keras_attention.translation import evaluation


@pytest.fixture(scope="module")
def report(tiny_run):
    return evaluation.evaluate(tiny_run.translator, tiny_run.validation, batch_size=13)


def test_the_scores_are_those_of_a_count_by_hand(tiny_run, report):
    import sacrebleu

    translator, pairs = tiny_run.translator, tiny_run.validation
    losses, hits = [], []
    for pair in pairs:
        context = translator.context_vocabulary.ids([pair.context])
        target = translator.target_vocabulary.ids([pair.target])
        inputs = {"context": context, "target": target[:, :-1]}
        logits = keras.ops.convert_to_numpy(translator.model(inputs))[0].astype("float64")
        for row, label in zip(logits, target[0, 1:], strict=True):
            losses.append(np.log(np.exp(row).sum()) - row[label])
            hits.append(row.argmax() == label)
    texts = [translator(pair.context).text for pair in pairs]
    references = [pair.target for pair in pairs]

    assert report.loss == pytest.approx(np.mean(losses), rel=1e-4)
    assert report.accuracy == pytest.approx(np.mean(hits))
    assert report.hypotheses == texts
    expected = sacrebleu.corpus_bleu(texts, [references]).score
    assert report.bleu.value == pytest.approx(expected)
    expected = sacrebleu.corpus_chrf(texts, [references]).score
    assert report.chrf.value == pytest.approx(expected)
    expected = metrics.bleu(
        [normalize(text) for text in texts], [normalize(r) for r in references], normalized=True
    )
    assert 0 < expected.value == pytest.approx(report.bleu_words.value)


def test_no_pairs_have_no_scores(tiny_run):
    with pytest.raises(ValueError, match="at least one sentence pair, got none"):
        evaluation.evaluate(tiny_run.translator, [])


def test_alignment_error_rates_of_a_case_by_hand(tiny_run, monkeypatch):
    pairs = [
        AlignedPair("uno dos tres", "three two one", ((0, 2), (1, 1), (2, 0))),
        AlignedPair("uno " * 8 + "dos", "two", ((8, 0),)),
    ]
    vocabulary = Vocabulary.learn([sentence for pair in pairs for sentence in pair[:2]])
    translator = tiny_run.translator
    monkeypatch.setattr(translator, "context_vocabulary", vocabulary)
    monkeypatch.setattr(translator, "target_vocabulary", vocabulary)

    def attend(ids, tokens, *, batch_size):
        """Look where the first pair's links are, but for `one`; and at `dos`; [START] is 0."""
        counts = [((tokens[row] != 0).sum(), (ids[row] != 0).sum()) for row in range(2)]
        assert counts == [(4, 5), (2, 11)]  # [START] is not written, [END] is
        first, second = (np.zeros((2, *count)) for count in counts)  # (H, T, S)
        first[:, [0, 1, 2], [3, 2, 2]] = 0.5
        second[:, 0, 9] = 0.3
        for weights in (first, second):
            weights[:, :, 0] = 0.9  # [START] and [END] are no words
        first[:, 3, 1] = 0.9
        return [{"cross_attention": [weights]} for weights in (first, second)]

    def align(translation):
        """Look where the links of the first pair are, and at `uno`."""
        found = np.zeros((len(translation.target_ids), len(translation.context_ids)))
        rows, columns = ([0, 1, 2], [3, 2, 1]) if len(found) == 4 else ([0], [1])
        found[rows, columns] = 1.0
        return found

    monkeypatch.setattr(translator, "attend", attend)
    monkeypatch.setattr(translator, "align", align)
    rates = evaluation.alignment_error_rates(translator, pairs, batch_size=3)
    # 4 links are right. Attention misses `one`, the alignment `two`; the diagonal has (1, 1).
    assert rates.attention == pytest.approx(1 - 2 * 3 / (4 + 4))
    assert rates.alignment == pytest.approx(1 - 2 * 3 / (4 + 4))
    assert rates.diagonal == pytest.approx(1 - 2 * 1 / (4 + 4))


def test_bleu_by_length_scores_each_range_apart():
    targets = ["one two three four five .", "red blue green black white ."]
    pairs = [
        *(AlignedPair("uno dos", targets[0], ()) for _ in range(31)),
        *(AlignedPair("uno dos tres", targets[1], ()) for _ in range(37)),
        AlignedPair("uno dos tres cuatro", targets[1], ()),
    ]
    hypotheses = [targets[0]] * 31 + [targets[0]] * 37 + [targets[1]]
    ranges, counts, scores = evaluation.bleu_by_length(hypotheses, pairs)
    assert (ranges, counts) == ([(2, 2), (3, 4)], [31, 38])
    assert scores[0] == pytest.approx(100)
    assert scores[1] < 20


def test_a_language_of_another_script_has_a_score():
    pairs = [Pair("uno", "он видит большой синий дом")]
    for text, low, high in (("Он видит большой синий дом", 99, 101), ("нет лес дым дуб ель", 0, 1)):
        _, counts, (score,) = evaluation.bleu_by_length([text], pairs)
        assert counts == [1]
        assert low <= score <= high
