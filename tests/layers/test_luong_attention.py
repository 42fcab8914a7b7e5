import numpy as np
import pytest
from keras import ops

from keras_attention.layers import (
    AdditiveAttention,
    ContextSensitiveMemory,
    KerasMultiHeadAttention,
    LuongAttention,
    MonotonicLocalAttention,
)
from tests.contract import MASK, B, K, Q, S, T
from tests.numerics import as_numpy, assert_close

D, UNITS = 17, 13


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


INPUTS = draw(B, T, Q), draw(B, S, K), draw(B, S, D)


def ask(layer, query=INPUTS[0]):
    query, keys, values = map(ops.convert_to_tensor, (query, *INPUTS[1:]))
    output, weights = layer(
        query,
        values,
        keys,
        attention_mask=ops.convert_to_tensor(MASK),
        return_attention_scores=True,
    )
    return as_numpy(output), as_numpy(weights)


def test_equals_a_loop_with_the_general_score():
    layer = LuongAttention(ContextSensitiveMemory("general"), UNITS)
    output, weights = ask(layer)
    w_a, w_c = (as_numpy(w).astype(float) for w in (layer.attention.score.kernel, layer.kernel))
    expected, expected_weights = np.zeros((B, T, UNITS)), np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        h, seen = INPUTS[0][b, t].astype(float), MASK[b]
        shares = np.exp(np.array([h @ w_a @ key for key in INPUTS[1][b].astype(float)[seen]]))
        alpha = shares / shares.sum()
        c = alpha @ INPUTS[2][b].astype(float)[seen]
        expected_weights[b, t, seen] = alpha
        expected[b, t] = np.tanh(np.concatenate([c, h]) @ w_c)
    assert_close(weights, expected_weights)
    assert_close(output, expected, 3e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AdditiveAttention(UNITS),
        lambda: MonotonicLocalAttention(1, "general"),
        lambda: ContextSensitiveMemory("dot", key_dim=19, value_dim=23),
        lambda: LuongAttention(ContextSensitiveMemory("location"), 29),
    ],
)
def test_joins_the_read_of_any_attention_with_its_query(make):
    check_join(LuongAttention(make(), UNITS), UNITS)


def check_join(layer, width):
    output, weights = ask(layer)
    read, expected_weights = ask(layer.attention)
    joined = np.concatenate([read, INPUTS[0]], axis=-1).astype(float)
    assert output.shape == (B, T, width)
    assert_close(output, np.tanh(joined @ as_numpy(layer.kernel).astype(float)))
    np.testing.assert_array_equal(weights, expected_weights)


def test_is_as_wide_as_the_query_where_nothing_else_is_said():
    check_join(LuongAttention(AdditiveAttention(UNITS)), Q)


def test_a_single_query_equals_that_query_among_several():
    layer = LuongAttention(ContextSensitiveMemory("general"), UNITS)
    outputs, weights = ask(layer)
    output, column = ask(layer, INPUTS[0][:, 2])
    assert_close(output, outputs[:, 2])
    assert_close(column[..., 0], weights[:, 2])


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match=r"layers\.base\.Attention, .* got <KerasMultiHead"):
        LuongAttention(KerasMultiHeadAttention(2, UNITS))
    with pytest.raises(ValueError, match="units must be a positive integer, got 0"):
        LuongAttention(AdditiveAttention(UNITS), 0)
