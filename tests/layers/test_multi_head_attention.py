import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import MultiHeadAttention
from tests.contract import MASK, B, K, Q, S, T, as_numpy, assert_close, call

H, DEPTH = 2, 13


def inputs():
    rng = np.random.default_rng(0)
    query, keys = rng.normal(size=(B, T, Q)), rng.normal(size=(B, S, K))
    return query.astype("float32"), keys.astype("float32")


def test_equals_a_loop_over_the_heads_in_float64():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    names = {"/".join(w.path.split("/")[-2:]): as_numpy(w).astype(float) for w in layer.weights}
    expected = np.zeros((B, T, Q)) + names["attention_output/bias"]
    expected_weights = np.zeros((B, H, T, S))
    for b, h, t in np.ndindex(B, H, T):
        project = lambda x, part, h=h: (  # noqa: E731
            x.astype(float) @ names[f"{part}/kernel"][:, h] + names[f"{part}/bias"][h]
        )
        seen = MASK[b]
        scores = project(keys[b], "key") @ project(query[b, t], "query") / np.sqrt(DEPTH)
        shares = np.where(seen, np.exp(scores - scores[seen].max()), 0)
        alpha = shares / shares.sum()
        expected_weights[b, h, t] = alpha
        expected[b, t] += alpha @ project(keys[b], "value") @ names["attention_output/kernel"][h]
    assert_close(weights, expected_weights)
    assert_close(read, expected)


def test_has_the_weights_and_the_result_of_keras_own_layer():
    ours, theirs = MultiHeadAttention(H, DEPTH), keras.layers.MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    read, weights = call(ours, query, keys, MASK)
    theirs.build(query.shape, keys.shape)
    theirs.set_weights(ours.get_weights())
    expected, expected_weights = theirs(
        query, keys, attention_mask=MASK[:, None], return_attention_scores=True
    )
    assert_close(read, as_numpy(expected))
    assert_close(weights, as_numpy(expected_weights))


def test_the_output_is_the_same_whether_or_not_weights_are_returned():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    mask = np.array([MASK[0], [False] * S])
    with_weights, _ = call(layer, query, keys, mask)
    without = layer(query, keys, attention_mask=ops.convert_to_tensor(mask))
    np.testing.assert_array_equal(as_numpy(without), with_weights)


def test_a_mask_for_each_query_is_heeded():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    mask = np.tril(np.ones((T, S), dtype=bool))[None].repeat(B, 0)
    _, weights = call(layer, query, keys, mask)
    assert (weights[:, :, ~mask[0]] == 0).all()
    assert (weights[:, :, mask[0]] > 0).all()


def test_dropout_only_in_training():
    layer = MultiHeadAttention(H, DEPTH, dropout=0.5)
    query, keys = inputs()
    quiet = [as_numpy(layer(query, keys)) for _ in range(2)]
    np.testing.assert_array_equal(*quiet)
    assert (as_numpy(layer(query, keys, training=True)) != quiet[0]).any()


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="positive integers, got 0 and 13"):
        MultiHeadAttention(0, DEPTH)
    with pytest.raises(ValueError, match=r"query must have shape .*\(2, 7\)"):
        MultiHeadAttention(H, DEPTH).build((B, Q), (B, S, K))
    query, keys = inputs()
    with pytest.raises(ValueError, match=r"mask must have shape"):
        MultiHeadAttention(H, DEPTH)(query, keys, attention_mask=np.ones((B, T), dtype=bool))
