import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import AdditiveAttention
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close

UNITS, D = 13, 17


def inputs():
    rng = np.random.default_rng(0)
    query, keys = rng.normal(size=(B, T, Q)), rng.normal(size=(B, S, K))
    return query.astype("float32"), keys.astype("float32")


def oracle(layer, query, keys, values, mask):
    w, u, v = (
        as_numpy(x).astype(float)
        for x in (layer.score.query_kernel, layer.score.key_kernel, layer.score.v)
    )
    weights = np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        scores = np.array([v @ np.tanh(query[b, t] @ w + key @ u) for key in keys[b]])
        shares = np.where(mask[b], np.exp(scores), 0)
        weights[b, t] = shares / shares.sum()
    return weights @ values, weights


def test_equals_a_loop_over_queries_and_keys_in_float64():
    layer = AdditiveAttention(UNITS)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    expected, expected_weights = oracle(layer, query, keys, keys.astype(float), MASK)
    assert_close(weights, expected_weights)
    assert_close(read, expected)


def test_values_may_differ_from_the_keys():
    layer = AdditiveAttention(UNITS)
    query, keys = inputs()
    values = np.random.default_rng(1).normal(size=(B, S, D)).astype("float32")
    read = layer(query, values, keys, attention_mask=ops.convert_to_tensor(MASK))
    expected, _ = oracle(layer, query, keys, values.astype(float), MASK)
    assert_close(read, expected)


def test_a_single_query_has_its_softmax_on_axis_1():
    layer = AdditiveAttention(UNITS)
    query, keys = inputs()
    reads, weights = call(layer, query, keys, MASK)
    for t in range(T):
        read, column = call(layer, query[:, t], keys, MASK)
        assert column.shape == (B, S, 1)
        np.testing.assert_allclose(column.sum(axis=1), 1, rtol=1e-6)
        assert_close(column[..., 0], weights[:, t])
        assert_close(read, reads[:, t])


def test_equals_keras_own_layer_after_the_projections():
    layer = AdditiveAttention(UNITS)
    query, keys = inputs()
    _, weights = call(layer, query, keys, MASK)
    theirs = keras.layers.AdditiveAttention()
    projected = [
        query @ as_numpy(layer.score.query_kernel),
        keys,
        keys @ as_numpy(layer.score.key_kernel),
    ]
    theirs.build([x.shape for x in projected])
    theirs.set_weights([as_numpy(layer.score.v)])
    _, expected = theirs(
        [ops.convert_to_tensor(x) for x in projected],
        mask=[None, ops.convert_to_tensor(MASK)],
        return_attention_scores=True,
    )
    assert_close(weights, as_numpy(expected))


def test_the_order_of_the_memory_does_not_matter():
    layer = AdditiveAttention(UNITS)
    query, keys = inputs()
    order = np.array([3, 0, 4, 1, 2])
    read, weights = call(layer, query, keys, MASK)
    other_read, other_weights = call(layer, query, keys[:, order], MASK[:, order])
    np.testing.assert_allclose(other_read, read, atol=1e-6)
    np.testing.assert_allclose(other_weights, weights[..., order], atol=1e-6)


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="units must be a positive integer, got 0"):
        AdditiveAttention(0)
    with pytest.raises(ValueError, match=r"value \(B, S, D\) .* got \(2, 3, 7\), \(2, 11\)"):
        AdditiveAttention(UNITS).build((B, T, Q), (B, K))
    query, keys = inputs()
    with pytest.raises(ValueError, match=r"mask must have shape .*got \(2, 3\)"):
        AdditiveAttention(UNITS)(query, keys, attention_mask=np.ones((B, T), dtype=bool))
