import numpy as np
import pytest

from keras_attention.corpora import plans

LENGTHS = np.array([(3, 3), (9, 2), (3, 9), (4, 4), (3, 3), (9, 9), (2, 3), (9, 2)])


def as_lists(batches):
    return [(shape, rows.tolist()) for shape, rows in batches]


def test_pairs_sorted_by_length_are_cut_from_the_longest_on():
    found = plans.by_length(LENGTHS, lambda shape: 3).batches()
    assert as_lists(found) == [((3, 3), [6, 0]), ((4, 9), [4, 3, 2]), ((9, 9), [1, 7, 5])]


def test_the_longest_pair_of_a_batch_says_how_many_it_holds():
    asked = []

    def size(shape):
        asked.append(shape)
        return 12 // max(shape)

    found = plans.by_length(LENGTHS, size).batches()
    assert asked == [(9, 9), (9, 9), (9, 9), (9, 9), (4, 4), (3, 3)]
    assert [rows.tolist() for _, rows in found] == [[6], [0, 4, 3], [2], [1], [7], [5]]


def test_a_batch_has_one_shape_the_first_that_holds_its_pairs():
    found = plans.in_shapes(LENGTHS, [(3, 3), (5, 5), (9, 9)], lambda shape: 2).batches()
    assert as_lists(found) == [
        ((3, 3), [0, 4]),
        ((3, 3), [6]),
        ((5, 5), [3]),
        ((9, 9), [1, 2]),
        ((9, 9), [5, 7]),
    ]


@pytest.mark.parametrize(
    "plan",
    [
        plans.by_length(LENGTHS, lambda shape: 3),
        plans.in_shapes(LENGTHS, [(4, 4), (9, 9)], lambda shape: 3),
    ],
)
def test_shuffling_moves_batches_and_pairs_of_one_kind(plan):
    whole = as_lists(plan.batches())
    shuffled = [as_lists(plan.batches(np.random.default_rng(seed))) for seed in range(20)]
    assert any(each != whole for each in shuffled)
    for each in shuffled:
        assert sorted(shape for shape, _ in each) == sorted(shape for shape, _ in whole)
        assert sorted(row for _, rows in each for row in rows) == list(range(len(LENGTHS)))
        for shape, rows in each:
            assert (LENGTHS[rows] <= shape).all()
