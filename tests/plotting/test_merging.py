import numpy as np
import pytest

from keras_attention.plotting import merge_tokens, merge_words

# Two target pieces over five context pieces: "¿", "Toda", "vía", "est", "á".
WEIGHTS = np.array([[0.5, 0.25, 0.125, 0.125, 0.0], [0.0, 0.25, 0.25, 0.25, 0.25]])
CONTEXT_GROUPS = [[0], [1, 2], [3, 4]]


def test_the_attention_to_a_word_is_that_to_all_its_pieces():
    merged = merge_tokens(WEIGHTS, context_groups=CONTEXT_GROUPS)
    np.testing.assert_array_equal(merged, [[0.5, 0.375, 0.125], [0.0, 0.5, 0.5]])


def test_the_attention_of_a_word_is_the_mean_of_that_of_its_pieces():
    merged = merge_tokens(WEIGHTS, target_groups=[[0, 1]])
    np.testing.assert_array_equal(merged, [[0.25, 0.25, 0.1875, 0.1875, 0.125]])


def test_both_sentences_are_merged_and_rows_still_sum_to_1():
    merged = merge_tokens(WEIGHTS, CONTEXT_GROUPS, [[0, 1]])
    np.testing.assert_array_equal(merged, [[0.25, 0.4375, 0.3125]])
    assert merged.sum() == 1


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_leading_axes_are_kept_and_equal_plain_loops(leading):
    weights = np.random.default_rng(5).random((*leading, 7, 11))
    columns, rows = [[0, 1, 2], [3], [4, 5, 6, 7], [8, 9], [10]], [[0], [1, 2, 3], [4, 5, 6]]
    merged = merge_tokens(weights, columns, rows)
    assert merged.shape == (*leading, 3, 5)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            pieces = sum(weights[..., t, s] for t in row for s in column)
            np.testing.assert_allclose(merged[..., i, j], pieces / len(row), rtol=1e-12)


def test_without_groups_the_weights_stay_and_are_a_copy_of_floats():
    weights = np.array([[1, 0], [0, 1]])
    merged = merge_tokens(weights)
    merged[0, 0] = 7
    assert merged.dtype == float
    assert weights[0, 0] == 1
    singles = [[position] for position in range(5)]
    np.testing.assert_array_equal(merge_tokens(WEIGHTS, singles, np.array([[0], [1]])), WEIGHTS)


def test_words_are_the_spellings_of_their_pieces():
    pieces = ["¿", "Toda", "vía", "est", "á"]
    assert merge_words(pieces, CONTEXT_GROUPS) == ["¿", "Todavía", "está"]
    assert merge_words([], []) == []


@pytest.mark.parametrize(
    ("groups", "got"),
    [
        ([[0], [1, 2], [3]], r"got \[\[0\], \[1, 2\], \[3\]\]"),  # 4 is missing
        ([[0], [1, 2], [3, 4, 5]], r"got \[\[0\], \[1, 2\], \[3, 4, 5\]\]"),
        ([[0], [2, 1], [3, 4]], r"got \[\[0\], \[2, 1\], \[3, 4\]\]"),
        ([[0], [1, 2], [2, 3, 4]], r"got \[\[0\], \[1, 2\], \[2, 3, 4\]\]"),
        ([0, 1, 2, 3, 4], r"got \[0, 1, 2, 3, 4\]"),
        ([[0.0, 1, 2, 3, 4]], r"got \[\[0.0, 1, 2, 3, 4\]\]"),
        (3, "got 3"),
    ],
)
def test_groups_that_are_no_partition_in_order_are_refused(groups, got):
    expected = "must be lists that hold the positions 0 to 4, each once, in order; " + got
    with pytest.raises(ValueError, match="context_groups " + expected):
        merge_tokens(WEIGHTS, context_groups=groups)
    with pytest.raises(ValueError, match="target_groups " + expected):
        merge_tokens(WEIGHTS.T, target_groups=groups)
    with pytest.raises(ValueError, match="groups " + expected):
        merge_words(list("abcde"), groups)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5], r"weights must have shape \(\.\.\., T, S\), got \(2,\)"),
        ([["a"]], "weights must be an array of numbers"),
        ([[0.5], [0.5, 0.5]], "weights must be an array of numbers"),
    ],
)
def test_weights_that_are_no_matrix_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        merge_tokens(weights)


def test_an_empty_group_and_a_string_are_refused():
    with pytest.raises(ValueError, match="target_groups must be lists of one position or more"):
        merge_tokens(WEIGHTS, target_groups=[[0], [], [1]])
    with pytest.raises(ValueError, match="spellings must be a list of strings, got one str: 'ab'"):
        merge_words("ab", [[0], [1]])
