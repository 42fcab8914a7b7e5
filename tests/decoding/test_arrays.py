"""Arrays of NumPy and tensors are searched alike."""

import numpy as np
import pytest
from keras import ops

from keras_attention.decoding.arrays import at_places, places_of_largest

B, N, M = 3, 7, 4


@pytest.mark.parametrize("make", [np.asarray, ops.convert_to_tensor])
@pytest.mark.parametrize("trailing", [(), (5,)])
def test_each_row_gives_what_is_at_its_own_largest_values(make, trailing):
    random = np.random.default_rng(0)
    values = random.permuted(np.tile([*range(N - 1), -np.inf], (B, 1)), axis=1).astype("float32")
    array = random.normal(size=(B, N, *trailing)).astype("float32")
    places = places_of_largest(make(values), M)
    found = at_places(make(array), places)
    assert isinstance(found, np.ndarray) == (make is np.asarray)
    for row in range(B):
        expected = [values[row].tolist().index(largest) for largest in range(N - 2, N - 2 - M, -1)]
        assert ops.convert_to_numpy(places)[row].tolist() == expected
        np.testing.assert_array_equal(ops.convert_to_numpy(found)[row], array[row, expected])
