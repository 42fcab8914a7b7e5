"""Two hidden Markov models, against the sum over every path."""

from itertools import pairwise, product

import numpy as np
import pytest

from keras_attention.translation.agreement import agreement, posterior


def even_rows(evidence, possible):
    """Let each row sum to 1; one without evidence may be wherever that is possible."""
    return np.array(
        [
            row / row.sum() if row.any() else may / may.sum()
            for row, may in zip(evidence, possible, strict=True)
        ]
    )


def posterior_by_paths(evidence, possible):
    """Add up the probability of every path through the places."""
    length, places = evidence.shape
    nothing = np.zeros_like(evidence)
    emissions = 0.6 * even_rows(evidence, possible) + 0.4 * even_rows(nothing, possible)
    found = np.zeros_like(emissions)
    for path in product(range(places), repeat=length):
        probability = np.prod([emissions[t, s] for t, s in enumerate(path)])
        for start, end in pairwise(path):
            near = [np.exp(-abs(place - start - 1) / 1.5) for place in range(places)]
            probability *= 0.7 * near[end] / sum(near) + 0.3 / places
        for t, s in enumerate(path):
            found[t, s] += probability
    return found / found.sum(axis=1, keepdims=True)


@pytest.fixture
def evidence():
    drawn = np.random.default_rng(3).random((4, 5)) ** 4
    drawn[2] = 0
    return drawn


@pytest.fixture(params=["all", "some"])
def possible(request):
    """Which links are possible: all, or those of two kinds of words."""
    found = np.ones((4, 5), bool)
    if request.param == "some":
        found = np.array([0, 1, 0, 0])[:, None] == np.array([1, 0, 0, 1, 0])
    return found


def test_the_posterior_is_that_of_all_paths(evidence, possible):
    rows = np.where(possible, evidence, 0)
    rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-30)
    expected = posterior_by_paths(rows, possible)
    np.testing.assert_allclose(posterior(rows, possible), expected, atol=1e-12)


def test_agreement_is_the_product_of_both_directions(evidence, possible):
    kept = np.where(possible, evidence, 0)
    target_to_source = posterior_by_paths(kept, possible)
    both = target_to_source * posterior_by_paths(kept.T, possible.T).T
    both[2] = 0  # no source word speaks for it
    expected = both / np.maximum(both.sum(axis=1, keepdims=True), 1e-30)
    np.testing.assert_allclose(agreement(evidence, possible), expected, atol=1e-12)
    if possible.all():
        np.testing.assert_array_equal(agreement(evidence), agreement(evidence, possible))


def test_a_link_that_is_impossible_is_none_and_a_row_without_any_is_0():
    possible = [[True, False], [False, False], [False, True]]
    found = agreement([[1, 9], [5, 5], [9, 1]], possible)
    np.testing.assert_array_equal(found, [[1, 0], [0, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"possible must have the shape .* \(2, 2\)"):
        agreement(np.ones((2, 2)), possible)


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
