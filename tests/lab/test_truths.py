"""The small truths: CTC, Hopfield retrieval, estimators of a gradient."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention.lab import ctc, estimators, hopfield

EXACT = [-0.19838162, -0.30112133, 0.49950294]  # of the expected cost in the scores


def test_repeats_and_silences_are_taken_out():
    names = np.array([[0, 3, 3, 0, 3, 2, 2], [1, 0, 0, 0, 0, 0, 0], [0] * 7])
    assert ctc.transcripts(names) == [[3, 3, 2], [1], []]


def test_an_even_spread_gives_each_label_its_share_of_the_frames():
    sizes = ctc.SIZES
    labels = np.arange(1, 1 + sizes["labels"])[None]
    places = np.arange(sizes["frames"]) * sizes["labels"] // sizes["frames"]
    assert labels[0, places].tolist() == sorted(labels[0, places])
    counts = np.bincount(places)
    assert len(counts) == sizes["labels"]
    assert counts.max() - counts.min() <= 1


def test_the_enumerated_gradient_is_the_golden_one():
    found = estimators.gradients({"enumerated": estimators.expected}, 2, seed=0)["enumerated"]
    np.testing.assert_allclose(found, [EXACT, EXACT], atol=1e-6)


def test_one_sample_pulls_at_what_was_picked_by_what_it_cost():
    found = estimators.gradients({"sampled": lambda *a: estimators.sampled(*a, 0.0)}, 50, seed=0)
    weights = np.exp(estimators.SCORES) / np.exp(estimators.SCORES).sum()
    possible = np.array(estimators.COSTS)[:, None] * (np.eye(3) - weights)
    distances = np.abs(found["sampled"][:, None] - possible).max(-1)
    np.testing.assert_allclose(distances.min(-1), 0, atol=1e-5)
    assert set(distances.argmin(-1)) == {0, 1, 2}


def test_the_error_of_an_average_falls_with_the_root_of_their_number():
    rng = np.random.default_rng(0)
    estimates = np.array(EXACT) + rng.normal(size=(2**14, 3))
    numbers, errors = estimators.error_by_number(estimates, np.array(EXACT))
    slope = np.polyfit(np.log(numbers), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)


@pytest.mark.parametrize("rule", hopfield.RULES.values(), ids=hopfield.RULES)
def test_two_patterns_come_back_from_their_halves(rule):
    patterns = np.array([[1, -1, 1, 1, 1, 1, -1, -1], [1, 1, -1, -1, 1, -1, 1, -1]], "float32")
    np.testing.assert_array_equal(np.sign(rule(patterns, hopfield.half_erased(patterns))), patterns)
    assert hopfield.share_restored(rule, patterns) == 1
