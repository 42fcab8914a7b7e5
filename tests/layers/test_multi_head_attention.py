import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import MultiHeadAttention
from keras_attention.ops import causal_mask
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close

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
    np.testing.assert_array_equal(weights[:, :, ~mask[0]], 0)
    assert (weights[:, :, mask[0]] > 0).all()


def test_dropout_only_in_training():
    layer = MultiHeadAttention(H, DEPTH, dropout=0.5)
    query, keys = inputs()
    quiet = [as_numpy(layer(query, keys)) for _ in range(2)]
    np.testing.assert_array_equal(*quiet)
    assert (as_numpy(layer(query, keys, training=True)) != quiet[0]).any()


@pytest.mark.parametrize("scores", [False, True], ids=["plain", "scores"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_causal_mask_holds_with_and_without_dropout_and_scores(dropout, scores):
    """Keras lost its own in three of these four between two releases."""
    layer = MultiHeadAttention(H, DEPTH, dropout)
    x = np.random.default_rng(0).normal(size=(B, S, Q)).astype("float32")
    changed = x.copy()
    changed[:, 3:] = 7
    options = {"attention_mask": causal_mask(S), "return_attention_scores": scores}
    before, after = layer(x, x, **options), layer(changed, changed, **options)
    if scores:
        for each in (before, after):
            np.testing.assert_array_equal(np.triu(as_numpy(each[1]), 1), 0)
        before, after = before[0], after[0]
    np.testing.assert_array_equal(as_numpy(after)[:, :3], as_numpy(before)[:, :3])
    assert (as_numpy(after)[:, 3:] != as_numpy(before)[:, 3:]).any()


def test_to_remember_and_to_look_is_a_call():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    values = 2 * keys[:, ::-1, :3]
    expected = layer(query, keys, values, attention_mask=MASK, return_attention_scores=True)
    remembered = layer.remember(keys, values)
    shapes = [tuple(each.shape) for each in remembered]
    assert shapes == [(B, H, DEPTH, S), (B, H, S, DEPTH)]
    for one, other in zip(layer.look(query, *remembered, MASK), expected, strict=True):
        np.testing.assert_array_equal(as_numpy(one), as_numpy(other))


def test_keys_are_their_own_values_where_no_others_are_given():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    layer(query, keys)
    for one, other in zip(layer.remember(keys), layer.remember(keys, keys), strict=True):
        np.testing.assert_array_equal(as_numpy(one), as_numpy(other))


def test_one_memory_may_be_looked_into_query_by_query():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    remembered = layer.remember(keys)
    for t in range(T):
        one_read, one = layer.look(query[:, t : t + 1], *remembered, MASK)
        np.testing.assert_allclose(as_numpy(one_read)[:, 0], read[:, t], atol=1e-6)
        np.testing.assert_allclose(as_numpy(one)[:, :, 0], weights[:, :, t], atol=1e-6)


def test_a_memory_may_grow():
    """As a cache does: what was remembered of two parts is what is remembered of the whole."""
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    parts = zip(layer.remember(keys[:, :2]), layer.remember(keys[:, 2:]), (3, 2), strict=True)
    remembered = [ops.concatenate([one, other], axis=axis) for one, other, axis in parts]
    one_read, one = layer.look(query, *remembered, MASK)
    np.testing.assert_allclose(as_numpy(one_read), read, atol=1e-6)
    np.testing.assert_allclose(as_numpy(one), weights, atol=1e-6)


def test_what_is_returned_are_the_weights_before_dropout():
    layer = MultiHeadAttention(H, DEPTH, dropout=0.5)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    dropped, same = layer.look(query, *layer.remember(keys), MASK, training=True)
    np.testing.assert_array_equal(as_numpy(same), weights)
    assert (as_numpy(dropped) != read).any()


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="positive integers, got 0 and 13"):
        MultiHeadAttention(0, DEPTH)
    for dropout in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"at least 0 and below 1, got {dropout}"):
            MultiHeadAttention(H, DEPTH, dropout)
    with pytest.raises(ValueError, match=r"query must have shape .*\(2, 7\)"):
        MultiHeadAttention(H, DEPTH).build((B, Q), (B, S, K))
    query, keys = inputs()
    with pytest.raises(ValueError, match=r"mask must have shape"):
        MultiHeadAttention(H, DEPTH)(query, keys, attention_mask=np.ones((B, T), dtype=bool))
