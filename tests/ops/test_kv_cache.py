import numpy as np
import pytest
from keras import ops

from keras_attention.ops import tokens_in_ring, window_mask, write_in_ring
from tests.numerics import as_numpy

B, H, K = 2, 3, 5


def by_hand(places, count):
    """Write tokens 0 … count − 1 one after the other: who stands where, −1 for nobody."""
    ring = places * [-1]
    for token in range(count):
        ring[token % places] = token
    return ring


@pytest.mark.parametrize("places", [1, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 11])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_tokens_stand_where_they_were_written(places, count, dtype):
    tokens = as_numpy(tokens_in_ring(places, np.array(count, dtype)))
    np.testing.assert_array_equal(np.maximum(tokens, -1), by_hand(places, count))


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("places", [1, 3, 4])
@pytest.mark.parametrize("lengths", [(1,) * 9, (9,), (2, 1, 5, 1), (3, 4, 2)], ids=str)
def test_parts_of_any_size_are_written_as_one_by_one(lengths, places, axis):
    ring, start = ops.full((B, places, K), -1.0), 0
    ring = ring if axis == 1 else ops.swapaxes(ring, 1, 2)
    for length in lengths:
        new = np.arange(start, start + length, dtype="float32")[None, :, None]
        new = np.tile(new, (B, 1, K))
        new = ops.convert_to_tensor(new if axis == 1 else new.swapaxes(1, 2))
        ring, start = write_in_ring(ring, new, ops.convert_to_tensor(start), axis), start + length
        shown = as_numpy(ring) if axis == 1 else as_numpy(ring).swapaxes(1, 2)
        expected = np.array(by_hand(places, start))[None, :, None]
        np.testing.assert_array_equal(shown, np.tile(expected, (B, 1, K)))


def test_a_query_sees_itself_and_the_window_before_it():
    # a ring of 4 after 6 tokens, and then tokens 6 and 7
    tokens = ops.convert_to_tensor([4, 5, 2, 3, 6, 7])
    mask = as_numpy(window_mask(ops.convert_to_tensor([6, 7]), tokens, 4)).astype(int)
    assert mask.tolist() == [[[1, 1, 0, 1, 1, 0], [1, 1, 0, 0, 1, 1]]]


def test_a_query_sees_no_place_that_holds_no_token():
    tokens = tokens_in_ring(5, 2)
    mask = as_numpy(window_mask(ops.convert_to_tensor([1]), tokens, 5)).astype(int)
    assert mask.tolist() == [[[1, 1, 0, 0, 0]]]
