"""Two hidden Markov models, against the sum over every path."""

from itertools import pairwise, product

import numpy as np
import pytest

from keras_attention.translation.agreement import agreement, posterior


def even_rows(evidence):
    """Let each row sum to 1; one without evidence says nothing of any place."""
    return np.array(
        [row / row.sum() if row.any() else np.full(len(row), 1 / len(row)) for row in evidence]
    )


def posterior_by_paths(evidence):
    """Add up the probability of every path through the places."""
    length, places = evidence.shape
    emissions = 0.9 * even_rows(evidence) + 0.1 / places
    found = np.zeros_like(emissions)
    for path in product(range(places), repeat=length):
        probability = np.prod([emissions[t, s] for t, s in enumerate(path)])
        for start, end in pairwise(path):
            near = [np.exp(-abs(place - start - 1) / 2) for place in range(places)]
            probability *= 0.7 * near[end] / sum(near) + 0.3 / places
        for t, s in enumerate(path):
            found[t, s] += probability
    return found / found.sum(axis=1, keepdims=True)


@pytest.fixture
def evidence():
    drawn = np.random.default_rng(3).random((4, 5)) ** 4
    drawn[2] = 0
    return drawn


def test_the_posterior_is_that_of_all_paths(evidence):
    rows = evidence / np.maximum(evidence.sum(axis=1, keepdims=True), 1e-30)
    np.testing.assert_allclose(posterior(rows), posterior_by_paths(evidence), atol=1e-12)


def test_agreement_is_the_geometric_mean_of_both_directions(evidence):
    both = np.sqrt(posterior_by_paths(evidence) * posterior_by_paths(evidence.T).T)
    both[2] = 0  # no source word speaks for it
    expected = both / np.maximum(both.sum(axis=1, keepdims=True), 1e-30)
    np.testing.assert_allclose(agreement(evidence), expected, atol=1e-12)


def test_a_word_without_a_clear_place_goes_between_its_neighbours():
    evidence = np.full((5, 5), 0.2)
    evidence[[0, 1, 3, 4]] = np.eye(5)[[0, 1, 3, 4]]
    np.testing.assert_array_equal(agreement(evidence).argmax(axis=1), range(5))


def test_a_word_that_moves_far_stays_where_its_evidence_is():
    order = [0, 1, 5, 2, 3, 4]
    np.testing.assert_array_equal(agreement(np.eye(6)[order]).argmax(axis=1), order)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1, 4), (300, 200)])
def test_any_number_of_words(shape):
    found = agreement(np.ones(shape))
    assert found.shape == shape
    np.testing.assert_allclose(found.sum(axis=1), np.full(shape[0], shape[1] > 0))


@pytest.mark.parametrize("evidence", [[1.0], [[-1.0]], [[np.nan]]])
def test_what_is_no_evidence_is_refused(evidence):
    with pytest.raises(ValueError, match=r"evidence must be \(T, S\), 0 or more"):
        agreement(evidence)
