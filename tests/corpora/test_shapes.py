import itertools

import numpy as np
import pytest

from keras_attention.corpora import bucket_of, fit_shapes
from keras_attention.corpora.shapes import first_that_holds

CONTEXT, TARGET = np.random.default_rng(0).integers(2, 13, (2, 59))


def tokens(shapes, context=CONTEXT, target=TARGET):
    """Count the tokens of all pairs, padding included, one by one."""
    total = 0
    for pair in zip(context, target, strict=True):
        total += sum(next(s for s in shapes if s[0] >= pair[0] and s[1] >= pair[1]))
    return total


def test_a_bucket_holds_up_to_its_length():
    assert [bucket_of(n) for n in (1, 8, 9, 10, 11, 63, 64)] == [8, 8, 10, 10, 12, 64, 64]
    assert [bucket_of(n) for n in (65, 128, 129)] == [128, 128, 192]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_other_shapes_pad_less(count):
    every = list(itertools.product(range(2, 13), range(2, 13)))
    last = (int(CONTEXT.max()), int(TARGET.max()))
    growing = (
        [*shapes, last]
        for shapes in itertools.combinations(every, count - 1)
        if all(a[0] <= b[0] and a[1] <= b[1] for a, b in itertools.pairwise([*shapes, last]))
    )
    assert tokens(fit_shapes(CONTEXT, TARGET, count)) == min(map(tokens, growing))


def test_more_shapes_never_pad_more():
    totals = [tokens(fit_shapes(CONTEXT, TARGET, count)) for count in range(1, 9)]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0]


def test_each_pair_goes_to_the_first_shape_that_holds_it():
    shapes = fit_shapes(CONTEXT, TARGET, 5)
    expected = [
        next(i for i, s in enumerate(shapes) if s[0] >= c and s[1] >= t)
        for c, t in zip(CONTEXT, TARGET, strict=True)
    ]
    np.testing.assert_array_equal(first_that_holds(shapes, CONTEXT, TARGET), expected)
    assert set(expected) == set(range(len(shapes)))


def test_there_are_no_more_shapes_than_there_are_lengths():
    assert fit_shapes([7, 7, 7], [5, 5, 5]) == [(7, 5)]
    assert fit_shapes([1], [1]) == [(2, 2)]
    # Neither of two pairs fits below the other, so that one shape holds both or the largest one
    assert fit_shapes([63, 3], [5, 35]) == [(3, 36), (64, 36)]


def test_a_sentence_that_is_too_long_is_an_error():
    with pytest.raises(ValueError, match="at most 64 tokens, got 65"):
        fit_shapes([3, 65], [3, 5])


def test_more_shapes_than_there_can_be_are_as_many_as_there_are():
    assert fit_shapes([3, 3, 9], [4, 4, 7], count=10**12) == fit_shapes([3, 3, 9], [4, 4, 7], 9)
