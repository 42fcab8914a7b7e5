"""An id that a vocabulary does not have is the nearest one that it has, on every backend."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import BagOfWords, PositionalEmbedding, TokenEmbedding
from tests.numerics import as_numpy, gradients_of_weights

V, D = 7, 4
IDS = np.array([[3, 0, -1, 6], [7, 10**6, -(10**6), 2]], "int32")
NEAREST = np.array([[3, 0, 0, 6], [6, 6, 0, 2]], "int32")
MAKE = {
    "TokenEmbedding": lambda: TokenEmbedding(V, D),
    "PositionalEmbedding": lambda: PositionalEmbedding(V, D),
}
each_layer = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


@each_layer
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_an_id_beyond_the_vocabulary_is_the_nearest_one(make, compiled):
    layer = make()
    expected = as_numpy(layer(NEAREST))
    model = keras.Sequential([layer])
    is_xla = compiled and keras.backend.backend() != "torch"
    model.compile(jit_compile=is_xla, run_eagerly=not compiled)
    np.testing.assert_allclose(model.predict(IDS, verbose=0), expected, rtol=1e-6)


def test_so_it_is_in_a_bag_of_words_except_that_0_is_padding():
    bag = BagOfWords(V, D, encode_positions=False)
    table = as_numpy(bag(np.arange(1, V)[:, None]))
    np.testing.assert_allclose(as_numpy(bag(np.array([[8, 2, 0]]))), [table[-1] + table[1]])


def test_its_vectors_are_rows_of_the_table_and_learn():
    layer = TokenEmbedding(V, D)
    layer.build(None)
    table = np.arange(V * D, dtype="float32").reshape(V, D)
    layer.set_weights([table])
    np.testing.assert_array_equal(as_numpy(layer(IDS)), table[NEAREST])
    (slope,) = gradients_of_weights(layer, lambda: ops.sum(layer(IDS))).values()
    counts = np.bincount(NEAREST.ravel(), minlength=V)
    np.testing.assert_array_equal(slope, counts[:, None] * np.ones(D))


def test_it_is_restored_with_its_options_and_hides_padding_if_asked_to():
    layer = TokenEmbedding(V, D, mask_zero=True, name="words")
    again = TokenEmbedding.from_config(layer.get_config())
    assert (again.input_dim, again.output_dim, again.name) == (V, D, "words")
    np.testing.assert_array_equal(as_numpy(again.compute_mask(IDS)), IDS != 0)


@each_layer
def test_quantized_it_does_the_same(make):
    layer = make()
    layer(NEAREST)
    embedding = getattr(layer, "embedding", layer)
    embedding.quantize("int8")
    np.testing.assert_array_equal(as_numpy(layer(IDS)), as_numpy(layer(NEAREST)))
