import numpy as np
import pytest
from keras import ops

from keras_attention.layers import Pooling
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close

D = 17
POOL = {
    "last": lambda rows: rows[-1],
    "max": lambda rows: rows.max(0),
    "mean": lambda rows: rows.mean(0),
}


def draw(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype("float32")


@pytest.mark.parametrize("mode", POOL)
def test_equals_a_loop_for_every_query(mode):
    values = draw(B, S, D)
    expected = [POOL[mode](values[b].astype(float)[MASK[b]]) for b in range(B)]
    read, weights = Pooling(mode)(
        *map(ops.convert_to_tensor, (draw(B, T, Q), values, draw(B, S, K))),
        attention_mask=ops.convert_to_tensor(MASK),
        return_attention_scores=True,
    )
    assert_close(read, np.repeat(np.array(expected)[:, None], T, axis=1))
    np.testing.assert_allclose(as_numpy(weights).sum(-1), 1, rtol=1e-6)


def test_the_shares_say_where_the_summary_comes_from():
    keys = draw(B, S, K)
    shares = {mode: call(Pooling(mode), draw(B, T, Q), keys, MASK)[1][:, 0] for mode in POOL}
    assert shares["last"].tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]
    assert_close(shares["mean"], [[1 / 3] * 3 + [0] * 2, [1 / 5] * 5])
    expected = np.zeros((B, S))
    for b, d in np.ndindex(B, K):
        expected[b, np.where(MASK[b], keys[b, :, d], -np.inf).argmax()] += 1 / K
    assert_close(shares["max"], expected)


def test_equal_maxima_share_theirs():
    values = np.array([[[2.0], [1.0], [2.0]]], dtype="float32")
    read, weights = call(Pooling("max"), np.zeros((1, 1, Q)), values, None)
    assert read.tolist() == [[[2]]]
    assert weights.tolist() == [[[0.5, 0, 0.5]]]


def test_a_maximum_below_zero_is_not_taken_from_the_padding():
    keys = -abs(draw(B, S, K)) - 1
    read, _ = call(Pooling("max"), draw(B, T, Q), np.where(MASK[..., None], keys, 0), MASK)
    assert (read <= -1).all()


@pytest.mark.parametrize("mode", POOL)
def test_the_query_counts_for_nothing(mode):
    keys = draw(B, S, K)
    one = call(Pooling(mode), draw(B, T, Q), keys, MASK)
    other = call(Pooling(mode), 7 * draw(B, T, Q), keys, MASK)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", POOL)
def test_without_a_mask_everything_is_pooled_and_without_anything_nothing(mode):
    keys = draw(B, S, K)
    expected = [POOL[mode](keys[b].astype(float)) for b in range(B)]
    assert_close(call(Pooling(mode), draw(B, Q), keys, None)[0], expected)
    read, weights = call(Pooling(mode), draw(B, T, Q), keys, np.zeros((B, S), dtype=bool))
    np.testing.assert_array_equal(read, 0)
    np.testing.assert_array_equal(weights, 0)


def test_an_unknown_mode_lists_those_that_exist():
    with pytest.raises(ValueError, match="mode must be one of last, max, mean, got 'sum'"):
        Pooling("sum")
