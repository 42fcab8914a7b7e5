import subprocess
import sys

import numpy as np
import pytest
import sacrebleu

from keras_attention import metrics
from keras_attention.metrics import (
    Score,
    alignment_error_rate,
    alignment_from_weights,
    bleu,
    chrf,
    diagonal_alignment,
    spread,
)

REFERENCES = ["Is he still at home?", "The little house is red.", "We did not see them, Ann!"]
HYPOTHESES = ["Is he yet at home?", "The small house is red.", "We did not see it, Ann!"]


def test_bleu_of_the_references_themselves_is_100():
    assert bleu(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert chrf(REFERENCES, REFERENCES).value == pytest.approx(100)


def test_bleu_by_hand():
    # Of "a b c d e" against "a b c d f": 4 of 5 words, 3 of 4 pairs, 2 of 3 triples, 1 of 2
    # quadruples are right, and the length is the same: the geometric mean of the four.
    expected = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu(["a b c d e"], ["a b c d f"], normalized=True).value == pytest.approx(expected)


def test_bleu_counts_n_grams_over_the_corpus_not_sentence_by_sentence():
    assert bleu(["a b", "a b c d e"], ["a b", "a b c d e"]).value == pytest.approx(100)
    assert bleu(["a b"], ["a b"]).value == 0


def test_a_short_translation_pays_the_brevity_penalty():
    expected = 100 * np.exp(1 - 7 / 5)
    assert bleu(["a b c d e"], ["a b c d e f g"], normalized=True).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score", "metric"),
    [
        (bleu(HYPOTHESES, REFERENCES), sacrebleu.BLEU()),
        (
            bleu(HYPOTHESES, REFERENCES, normalized=True),
            sacrebleu.BLEU(tokenize="none", force=True),
        ),
        (chrf(HYPOTHESES, REFERENCES), sacrebleu.CHRF()),
    ],
    ids=["bleu", "normalized", "chrf"],
)
def test_scores_and_signatures_are_those_of_sacrebleu(score, metric):
    assert score.value == metric.corpus_score(HYPOTHESES, [REFERENCES]).score
    assert 0 < score.value < 100
    assert score.signature == str(metric.get_signature())


def test_normalized_text_is_compared_token_by_token_and_plain_text_is_split():
    glued, spaced = ["he is at home now ?"], ["he is at home now?"]
    assert bleu(glued, spaced).value == pytest.approx(100)
    assert bleu(glued, spaced, normalized=True).value < 100
    assert "tok:13a" in bleu(glued, spaced).signature
    assert "tok:none" in bleu(glued, spaced, normalized=True).signature


def test_tokenized_text_brings_no_message_of_sacrebleu(caplog):
    texts = ["a cat sat here ."] * 101  # sacrebleu complains from 100 such sentences on
    bleu(texts, texts, normalized=True)
    assert caplog.text == ""
    bleu(texts, texts)
    assert "tokenized" in caplog.text


def test_score_prints_with_its_signature_and_formats_as_its_number():
    score = Score(39.8421, "nrefs:1|tok:none")
    assert str(score) == f"{score}" == "39.84 (nrefs:1|tok:none)"
    assert f"{score:.1f}" == "39.8"


@pytest.mark.parametrize("score", [bleu, chrf])
@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b", "c"], ["a", "b"], "got 3 hypotheses and 2 references"),
        ([], [], "at least one sentence"),
        ("abc", ["a", "b", "c"], "hypotheses must be a list of str"),
        (["a"], [b"a"], "references must be a list of str, got b'a'"),
        (["a"], [None], "references must be a list of str, got None"),
    ],
)
def test_texts_that_do_not_fit_are_refused(score, hypotheses, references, message):
    with pytest.raises(ValueError, match=message):
        score(hypotheses, references)


def test_every_target_row_is_linked_to_its_largest_weight():
    weights = np.array([[0.1, 0.9, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3]])
    links = alignment_from_weights(weights)
    assert links == {(1, 0), (0, 1), (2, 2), (1, 3)}
    assert all(type(position) is int for link in links for position in link)


def test_weights_of_several_heads_are_averaged():
    heads = [[[0.6, 0.4, 0.0]], [[0.0, 0.4, 0.6]]]
    assert alignment_from_weights(heads) == {(1, 0)}


def test_a_row_with_nothing_to_look_at_gets_no_link_and_of_equal_weights_the_first_wins():
    assert alignment_from_weights([[0, 0, 0], [0, 0.5, 0.5]]) == {(1, 1)}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"\(T, S\) or \(H, T, S\).* got \(3,\)"),
        (np.ones((0, 3)), r"got \(0, 3\)"),
        ([[0.5, np.nan]], "finite"),
    ],
)
def test_weights_that_are_no_alignment_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        alignment_from_weights(weights)


def test_the_spread_of_a_map_is_a_number_of_words():
    assert spread(np.eye(5)) == pytest.approx(1)
    assert spread(np.full((3, 7), 0.1)) == pytest.approx(7)  # whatever the sum of a row
    assert spread([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]) == pytest.approx(2)  # √(1 · 4)
    assert spread(np.zeros((2, 3))) == 0
    row = np.array([0.7, 0.2, 0.1])
    assert spread([row]) == pytest.approx(np.exp(-(row * np.log(row)).sum()))
    for wrong in ([1.0, 2.0], [[-0.1, 1.0]], [[np.nan]]):
        with pytest.raises(ValueError, match=r"must be \(T, S\), 0 or more"):
            spread(wrong)


def test_the_diagonal_of_a_square_is_the_identity():
    assert diagonal_alignment(7, 7) == {(i, i) for i in range(7)}


def test_the_diagonal_by_hand():
    assert diagonal_alignment(3, 5) == {(0, 0), (0, 1), (1, 2), (2, 3), (2, 4)}
    assert diagonal_alignment(5, 3) == {(0, 0), (2, 1), (4, 2)}
    assert diagonal_alignment(5, 1) == {(2, 0)}


@pytest.mark.parametrize("lengths", [(5, 37), (37, 5), (11, 13)])
def test_the_diagonal_links_every_target_once_in_order_to_the_nearest_centre(lengths):
    context_length, target_length = lengths
    links = sorted(diagonal_alignment(*lengths), key=lambda link: link[1])
    assert [target for _, target in links] == list(range(target_length))
    assert links == sorted(links)
    for context, target in links:
        point = (target + 0.5) * context_length / target_length
        distances = abs(np.arange(context_length) + 0.5 - point)
        assert distances[context] == pytest.approx(distances.min())


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (-1, 3)])
def test_the_diagonal_of_an_empty_sentence_is_refused(lengths):
    with pytest.raises(ValueError, match=f"got {lengths[0]} and {lengths[1]}"):
        diagonal_alignment(*lengths)


def test_alignment_error_rate_by_hand():
    # |A| = 3, |S| = 2, |A ∩ S| = 1, |A ∩ P| = 2: 1 - (1 + 2) / (3 + 2).
    sure, extra = {(0, 0), (1, 2)}, {(2, 1), (2, 2)}
    predicted = {(0, 0), (2, 1), (1, 1)}
    assert alignment_error_rate([predicted], [sure], [sure | extra]) == pytest.approx(2 / 5)
    assert alignment_error_rate([predicted], [sure], [extra]) == pytest.approx(2 / 5)
    # Without possible links |A ∩ P| is 1 too.
    assert alignment_error_rate([predicted], [sure]) == pytest.approx(3 / 5)


def test_alignment_error_rate_sums_over_the_corpus():
    # 2 of 2 + 2 links right in the first sentence (twice counted), none of 1 + 5 in the second.
    gold = [{(0, 0), (1, 1)}, {(i, i) for i in range(5)}]
    predicted = [{(0, 0), (1, 1)}, {(0, 4)}]
    assert alignment_error_rate(predicted, gold) == pytest.approx(1 - 4 / 10)


def test_alignment_error_rate_is_one_minus_f1_where_all_links_are_sure():
    random = np.random.default_rng(7)
    gold, predicted = (
        [set(zip(*np.nonzero(random.random((11, 13)) < 0.3), strict=True)) for _ in range(5)]
        for _ in range(2)
    )
    hits = sum(len(a & s) for a, s in zip(predicted, gold, strict=True))
    precision = hits / sum(map(len, predicted))
    recall = hits / sum(map(len, gold))
    f1 = 2 * precision * recall / (precision + recall)
    assert alignment_error_rate(predicted, gold) == pytest.approx(1 - f1)


def test_alignment_error_rate_is_0_for_the_gold_itself_and_1_for_disjoint_links():
    gold = [{(0, 0), (2, 1)}, set(), {(1, 0)}]
    assert alignment_error_rate(gold, gold) == 0
    assert alignment_error_rate([{(0, 1)}, {(5, 5)}, {(0, 0)}], gold) == 1
    assert alignment_error_rate([set(), set(), set()], gold) == 1
    assert alignment_error_rate([set()], [set()]) == 0


def test_links_read_from_json_are_links():
    assert alignment_error_rate([[[0, 0], [1, 2]]], [{(0, 0), (1, 2)}]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([set()], [set(), set()]), "1 of predicted, 2 of gold"),
        (([set()], [set()], [set(), set(), set()]), "3 of possible"),
        (([], []), "at least one sentence"),
        (({(0, 0), (1, 1)}, {(0, 0), (1, 1)}), r"predicted must hold, .* pairs"),
        (([{(0, 0)}], [{(0.5, 0)}]), r"gold must hold, .* pairs"),
    ],
)
def test_alignments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        alignment_error_rate(*arguments)


def test_importing_the_module_does_not_import_sacrebleu():
    code = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("evaluation", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print("sacrebleu" in sys.modules)
"""
    file = sys.modules[bleu.__module__].__file__
    run = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True)
    assert run.stdout.strip() == "False", run.stderr


# Lengths


def test_length_ranges_hold_at_least_so_many_sentences_and_every_sentence():
    lengths = [*[3] * 4, *[4] * 49, *[5] * 141, *[6] * 312, *[10] * 63, *[11] * 24, *[13] * 5]
    ranges = metrics.length_ranges(lengths, 61)
    assert ranges == [(3, 5), (6, 6), (10, 13)]
    assert all(any(a <= length <= b for a, b in ranges) for length in lengths)
    assert metrics.length_ranges([7, 2, 2], 1) == [(2, 2), (7, 7)]
    assert metrics.length_ranges([7, 2, 2, 9], 30) == [(2, 9)]
    assert metrics.length_ranges([1, 2, 3, 3, 3, *[9] * 5], 5) == [(1, 3), (9, 9)]
    # what is left over joins the last range, whether it is one length or three
    assert metrics.length_ranges([1, 2, 5], 2) == [(1, 5)]
    assert metrics.length_ranges([1, 2, 2, 2, 5, 6, 8], 4) == [(1, 8)]


def test_no_length_is_an_error():
    with pytest.raises(ValueError, match="at least one length, got none"):
        metrics.length_ranges([], 3)
