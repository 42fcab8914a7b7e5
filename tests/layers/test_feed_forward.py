import numpy as np
import pytest
from keras import ops

from keras_attention.layers import FeedForward
from tests.numerics import as_numpy, assert_close, gradient

B, T, D, HIDDEN = 2, 5, 7, 13

each_order = pytest.mark.parametrize("norm_first", [False, True], ids=["post_norm", "pre_norm"])


def layer_and_tokens(**options):
    """Return a layer of which no weight is 0 or 1, and something to call it with."""
    rng = np.random.default_rng(0)
    layer, x = FeedForward(HIDDEN, **options), rng.normal(size=(B, T, D)).astype("float32")
    layer(x)
    layer.set_weights([rng.normal(1, 0.5, weight.shape) for weight in layer.weights])
    return layer, x


def normed(x, norm):
    gamma, beta = (as_numpy(weight).astype(float) for weight in (norm.gamma, norm.beta))
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(centred.var(-1, keepdims=True) + norm.epsilon) * gamma + beta


@each_order
def test_equals_equation_2_with_residual_and_norm_in_float64(norm_first):
    layer, x = layer_and_tokens(norm_first=norm_first)
    w1, b1, w2, b2 = (
        as_numpy(weight).astype(float) for weight in (*layer.widen.weights, *layer.narrow.weights)
    )
    expected = np.zeros(x.shape)
    for b, t in np.ndindex(B, T):
        row = x[b, t].astype(float)
        before = normed(row, layer.norm) if norm_first else row
        summed = row + np.maximum(before @ w1 + b1, 0) @ w2 + b2
        expected[b, t] = summed if norm_first else normed(summed, layer.norm)
    assert_close(layer(x), expected, 3e-6)


@each_order
def test_each_position_is_by_itself(norm_first):
    layer, x = layer_and_tokens(norm_first=norm_first)
    changed = x.copy()
    changed[:, 2] += np.arange(D)
    before, after = as_numpy(layer(x)), as_numpy(layer(changed))
    moved = abs(after - before).max(axis=(0, 2)) > 1e-6
    assert moved.tolist() == [False, False, True, False, False]
    for t in range(T):
        (slope,) = gradient(lambda x, t=t: ops.sum(ops.square(layer(x)[:, t])), x)
        assert np.flatnonzero(abs(slope).max(axis=(0, 2))).tolist() == [t]


def test_positions_change_places_as_their_tokens_do():
    layer, x = layer_and_tokens()
    turned = as_numpy(layer(x[:, ::-1]))
    np.testing.assert_allclose(turned[:, ::-1], as_numpy(layer(x)), rtol=1e-5, atol=1e-6)


def test_dropout_only_in_training():
    layer, x = layer_and_tokens(dropout=0.5, norm_first=True)
    quiet = as_numpy(layer(x))
    np.testing.assert_array_equal(as_numpy(layer(x, training=False)), quiet)
    # x itself is kept; of what is added to it, half is dropped and the other half doubled
    added, dropped = quiet - x, as_numpy(layer(x, training=True)) - x
    is_dropped = abs(dropped) < 1e-6
    assert 0.2 < is_dropped.mean() < 0.8
    np.testing.assert_allclose(dropped[~is_dropped], 2 * added[~is_dropped], rtol=1e-4)


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="hidden must be a positive integer, got 0"):
        FeedForward(0)
    with pytest.raises(ValueError, match=r"between 0 and 1.*1\.5"):
        FeedForward(HIDDEN, dropout=1.5)
