import numpy as np

from keras_attention.layers import AdditiveAttention, CrossAttention, MultiHeadAttention
from tests.contract import MASK, B, K, Q, S, T, as_numpy, assert_close, call


def test_is_attention_then_residual_then_layer_norm():
    rng = np.random.default_rng(0)
    query = rng.normal(size=(B, T, Q)).astype("float32")
    memory = rng.normal(size=(B, S, K)).astype("float32")
    block = CrossAttention(MultiHeadAttention(2, 13))
    output, weights = call(block, query, memory, MASK)
    read, expected_weights = call(block.attention, query, memory, MASK)
    summed = query.astype(float) + read
    centred = summed - summed.mean(-1, keepdims=True)
    expected = centred / np.sqrt(centred.var(-1, keepdims=True) + block.norm.epsilon)
    assert_close(output, expected)
    np.testing.assert_array_equal(weights, expected_weights)


def test_takes_any_attention_whose_read_is_as_wide_as_the_query():
    rng = np.random.default_rng(0)
    query = rng.normal(size=(B, T, Q)).astype("float32")
    memory = rng.normal(size=(B, S, Q)).astype("float32")
    output, weights = call(CrossAttention(AdditiveAttention(13)), query, memory, MASK)
    assert output.shape == (B, T, Q)
    assert weights.shape == (B, T, S)
    assert as_numpy(CrossAttention(AdditiveAttention(13))(query, memory)).shape == (B, T, Q)
