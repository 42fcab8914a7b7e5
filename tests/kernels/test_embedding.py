"""A product of vectors that were looked up needs only one row for each different id."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.kernels import gradients_written_out
from keras_attention.layers import GRU, TokenEmbedding
from tests.numerics import as_numpy, assert_close, gradient, gradients_of_weights

if keras.backend.backend() != "tensorflow":
    pytest.skip("the other backends have no such kernel", allow_module_level=True)

from keras_attention.kernels import embedding

B, T, V, E, D = 3, 5, 11, 4, 7
IDS = np.array([[2, 5, 5, 3, 0], [2, 9, 3, 0, 0], [5, 5, 5, 5, 5]], "int32")
DIFFERENT = 5
RNG = np.random.default_rng(0)


@pytest.fixture
def rows_multiplied(monkeypatch):
    """Let layers use their kernels, and count the rows that products of inputs have."""
    counts, spread = [], embedding.spread
    monkeypatch.setattr(
        "keras_attention.kernels.gru.spread",
        lambda rows, places: counts.append(rows.shape[0]) or spread(rows, places),
    )
    with gradients_written_out():
        yield counts


def with_random_weights(layer, *shape):
    layer.build(shape)
    layer.set_weights([RNG.normal(size=each.shape) for each in layer.get_weights()])
    return layer


def test_vectors_are_rows_of_the_table_and_know_which_are_the_same():
    table = RNG.normal(size=(V, E)).astype("float32")
    vectors = embedding.embedding(table, IDS, "float32")
    np.testing.assert_array_equal(vectors, table[IDS])
    rows, places = embedding.distinct_of(vectors)
    assert rows.shape == (DIFFERENT, E)
    np.testing.assert_array_equal(as_numpy(rows)[np.asarray(places)], table[IDS])


def test_vectors_are_looked_up_in_the_dtype_that_is_asked_for():
    vectors = embedding.embedding(np.ones((V, E), "float32"), IDS, "bfloat16")
    assert vectors.dtype == embedding.distinct_of(vectors).rows.dtype == "bfloat16"


def test_what_is_computed_from_vectors_does_not_know_it():
    vectors = embedding.embedding(np.ones((V, E), "float32"), IDS, "float32")
    assert embedding.distinct_of(vectors + 1) is None


def test_gradients_of_rows_are_sums_over_their_places():
    rows = RNG.normal(size=(DIFFERENT, D))
    places, factors = RNG.integers(0, DIFFERENT, (B, T)), RNG.normal(size=(B, T, D))
    spread = embedding.spread(rows, places)
    np.testing.assert_array_equal(as_numpy(spread), rows.astype("float32")[places])
    (found,) = gradient(
        lambda rows: ops.sum(embedding.spread(rows, places) * factors.astype("float32")), rows
    )
    expected = np.zeros_like(rows)
    np.add.at(expected, places, factors)
    assert_close(found, expected)


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_gru_multiplies_each_id_once_and_learns_the_same(go_backwards, masked, rows_multiplied):
    words = with_random_weights(TokenEmbedding(V, E))
    rnn = GRU(D, return_sequences=True, go_backwards=go_backwards, zero_output_for_mask=True)
    with_random_weights(rnn, B, T, E)
    factors = RNG.normal(size=(B, T, D)).astype("float32")
    mask = IDS != 0 if masked else None
    both = keras.Sequential([words, rnn])

    def states():
        return rnn(words(IDS), mask=mask)

    def learned():
        return gradients_of_weights(both, lambda: ops.sum(states() * factors))

    found, slopes = states(), learned()
    assert rows_multiplied == [DIFFERENT, DIFFERENT]
    with gradients_written_out(False):
        assert_close(found, as_numpy(states()), tolerance=1e-5)
        expected = learned()
    assert len(rows_multiplied) == 2
    assert len(expected) == 4
    for path, slope in expected.items():
        assert_close(slopes[path], slope, tolerance=1e-5)
