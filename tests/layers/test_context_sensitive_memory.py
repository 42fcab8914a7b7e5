import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import ContextSensitiveMemory, scores
from keras_attention.layers.scores import LocationScore
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close

D, WIDTH, VALUE_WIDTH = 17, 13, 19


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def oracle(score, query, keys, values, mask, temperature=1.0):
    """The lecture notes' lookup(q, M): one query at a time, in float64."""
    weights = np.zeros((len(query), query.shape[1], keys.shape[1]))
    for b, t in np.ndindex(weights.shape[:2]):
        shares = [
            np.exp(score(query[b, t].astype(float), key.astype(float)) / temperature) * seen
            for key, seen in zip(keys[b], mask[b], strict=True)
        ]
        weights[b, t] = np.array(shares) / sum(shares)
    return weights @ values.astype(float), weights


def scaled_dot(query, key):
    return query @ key / np.sqrt(len(key))


def ask(memory, query, keys, values=None, mask=None):
    mask = None if mask is None else ops.convert_to_tensor(mask)
    values = keys if values is None else values
    query, keys, values = (ops.convert_to_tensor(x, "float32") for x in (query, keys, values))
    read, weights = memory(query, values, keys, attention_mask=mask, return_attention_scores=True)
    return as_numpy(read), as_numpy(weights)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_equals_a_loop_over_queries_and_keys(temperature):
    query, keys, values = draw(B, T, K), draw(B, S, K), draw(B, S, D)
    read, weights = ask(
        ContextSensitiveMemory(temperature=temperature), query, keys, values, mask=MASK
    )
    expected, expected_weights = oracle(scaled_dot, query, keys, values, MASK, temperature)
    assert_close(weights, expected_weights)
    assert_close(read, expected)


def test_equals_a_loop_with_projections():
    query, keys, values = draw(B, T, Q), draw(B, S, K), draw(B, S, D)
    memory = ContextSensitiveMemory(key_dim=WIDTH, value_dim=VALUE_WIDTH, temperature=2.0)
    read, weights = ask(memory, query, keys, values, mask=MASK)
    w_query, w_key, w_value = (
        as_numpy(kernel).astype(float)
        for kernel in (memory.query_kernel, memory.key_kernel, memory.value_kernel)
    )
    expected, expected_weights = oracle(
        scaled_dot, query @ w_query, keys @ w_key, values @ w_value, MASK, 2.0
    )
    assert read.shape == (B, T, VALUE_WIDTH)
    assert_close(weights, expected_weights)
    assert_close(read, expected)


@pytest.mark.parametrize(("beta", "weight"), [(1, 0.576), (2, 0.787), (5, 0.987), (10, 0.99991)])
def test_the_sharper_the_more_it_is_a_python_dict(beta, weight):
    keys, values = np.eye(3)[None], np.array([[[1.0], [10.0], [100.0]]])
    _, weights = ask(ContextSensitiveMemory("dot", temperature=1 / beta), keys, keys, values)
    expected = np.exp(beta) / (np.exp(beta) + 2)
    assert weight == pytest.approx(expected, abs=5e-4 if beta < 10 else 5e-6)
    assert_close(np.diagonal(weights[0]), [expected] * 3)


def test_in_the_limit_it_equals_a_python_dict():
    keys, values = np.eye(S)[None], 10.0 ** np.arange(S)[None, :, None]
    dictionary = {tuple(key): value for key, value in zip(keys[0], values[0, :, 0], strict=True)}
    queries = keys[:, [3, 0, 4]]
    read, _ = ask(ContextSensitiveMemory("dot", temperature=0.01), queries, keys, values)
    assert read[0, :, 0].tolist() == [dictionary[tuple(query)] for query in queries[0]]


def test_equal_keys_give_the_mean_of_their_values():
    keys = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    values = np.array([[[10.0], [20.0], [1000.0]]])
    read, _ = ask(ContextSensitiveMemory("dot", temperature=0.01), keys[:, :1], keys, values)
    assert read[0, 0, 0] == 15


def test_the_order_of_the_pairs_does_not_matter_and_that_of_the_queries_is_kept():
    memory = ContextSensitiveMemory("general")
    query, keys, values = draw(B, T, Q), draw(B, S, K), draw(B, S, D)
    read, weights = ask(memory, query, keys, values, mask=MASK)
    order, turn = np.array([3, 0, 4, 1, 2]), np.array([2, 0, 1])
    other, other_weights = ask(memory, query, keys[:, order], values[:, order], mask=MASK[:, order])
    assert_close(other, read)
    assert_close(other_weights, weights[..., order])
    assert_close(ask(memory, query[:, turn], keys, values, mask=MASK)[0], read[:, turn])


def test_what_is_read_lies_between_the_values():
    values = draw(B, S, D)
    read, weights = ask(ContextSensitiveMemory("dot"), 5 * draw(B, T, K), draw(B, S, K), values)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
    assert (read >= values.min(1, keepdims=True) - 1e-6).all()
    assert (read <= values.max(1, keepdims=True) + 1e-6).all()


def test_the_read_is_linear_in_the_values():
    memory = ContextSensitiveMemory("dot")
    query, keys, one, other = draw(B, T, K), draw(B, S, K), draw(B, S, D), draw(B, S, D, seed=1)
    reads = [ask(memory, query, keys, values)[0] for values in (one, other, 2 * one - 3 * other)]
    assert_close(reads[2], 2 * reads[0].astype(float) - 3 * reads[1], 2e-6)  # three roundings


@pytest.mark.parametrize("score", scores.SCORES)
def test_several_queries_at_once_equal_one_at_a_time(score):
    memory = ContextSensitiveMemory(score, key_dim=None if score == "location" else WIDTH)
    query, keys, values = draw(B, T, Q), draw(B, S, K), draw(B, S, D)
    reads, weights = ask(memory, query, keys, values, mask=MASK)
    for t in range(T):
        read, column = ask(memory, query[:, t], keys, values, mask=MASK)
        assert column.shape == (B, S, 1)
        assert_close(read, reads[:, t])
        assert_close(column[..., 0], weights[:, t])


def test_it_always_returns_a_value_even_where_no_key_matches():
    keys, values = np.eye(3)[None], np.array([[[1.0], [10.0], [100.0]]])
    for query in (np.zeros((1, 1, 3)), -np.ones((1, 1, 3)), np.full((1, 1, 3), 1e6)):
        read, _ = ask(ContextSensitiveMemory("dot", temperature=0.01), query, keys, values)
        assert_close(read, [[[37.0]]])  # equally far from all: the mean


def test_the_noisier_the_query_the_less_is_recalled():
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(1, 31, 29))
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    noise = rng.normal(size=(97, 31, 29))
    memory = ContextSensitiveMemory("dot", temperature=0.05)
    recalls = []
    for level in (0.0, 0.1, 0.2, 0.4, 0.8):
        _, weights = ask(memory, keys + level * noise, np.repeat(keys, 97, 0))
        recalls.append((weights.argmax(-1) == np.arange(31)).mean())
    assert recalls[0] == 1
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[-1] < 0.7


def test_equals_keras_own_layer_with_the_dot_score():
    query, keys, values = draw(B, T, K), draw(B, S, K), draw(B, S, D)
    read, weights = ask(ContextSensitiveMemory("dot"), query, keys, values, mask=MASK)
    expected, expected_weights = keras.layers.Attention()(
        [ops.convert_to_tensor(x) for x in (query, values, keys)],
        mask=[None, ops.convert_to_tensor(MASK)],
        return_attention_scores=True,
    )
    assert_close(weights, as_numpy(expected_weights))
    assert_close(read, as_numpy(expected))


def test_a_mask_for_each_query_is_heeded():
    mask = np.tril(np.ones((T, S), dtype=bool))[None].repeat(B, 0)
    query, keys, values = draw(B, T, K), draw(B, S, K), draw(B, S, D)
    read, weights = ask(ContextSensitiveMemory("dot"), query, keys, values, mask=mask)
    np.testing.assert_array_equal(weights[~mask], 0)
    assert (weights[mask] > 0).all()
    assert_close(read[:, 0], values[:, 0])


def test_values_default_to_the_keys():
    memory = ContextSensitiveMemory("dot")
    query, keys = draw(B, T, K), draw(B, S, K)
    np.testing.assert_array_equal(
        call(memory, query, keys, MASK)[0], ask(memory, query, keys, keys, mask=MASK)[0]
    )


def test_bad_numbers_say_which_and_what_was_received():
    for name in ("temperature", "key_dim", "value_dim"):
        for number in (0, -2):
            with pytest.raises(ValueError, match=f"{name} must be positive, got {number}"):
                ContextSensitiveMemory(**{name: number})


def test_a_very_low_temperature_takes_the_best_key_even_if_all_scores_are_negative():
    query = ops.convert_to_tensor(np.array([[[1.0]]], "float32"))
    keys = ops.convert_to_tensor(np.array([[[-60.0], [-2.0], [-3.0]]], "float32"))
    memory = ContextSensitiveMemory("dot", temperature=1e-9)
    _, weights = memory(query, keys, return_attention_scores=True)
    np.testing.assert_array_equal(as_numpy(weights), [[[0, 1, 0]]])


def test_a_position_beyond_the_reach_of_a_location_score_is_never_seen_whatever_the_temperature():
    memory = ContextSensitiveMemory(LocationScore(longest=2), temperature=3.0)
    query = ops.ones((1, 1, 3))
    memory.build((1, 1, 3), (1, None, 3))
    mask = ops.convert_to_tensor(np.array([[False, False, True, True]]))
    _, weights = memory(
        query, ops.ones((1, 4, 3)), attention_mask=mask, return_attention_scores=True
    )
    np.testing.assert_array_equal(as_numpy(weights), np.zeros((1, 1, 4)))


def test_the_reach_of_a_location_score_joins_a_mask_for_each_query():
    memory = ContextSensitiveMemory(LocationScore(longest=2))
    memory.build((B, T, Q), (B, None, K))
    query, keys = draw(B, T, Q), draw(B, S, K)
    seen = np.random.default_rng(0).random((B, T, S)) < 0.6
    for mask in (None, seen):
        _, weights = ask(memory, query, keys, mask=mask)
        expected = np.ones((B, T, S), bool) if mask is None else seen.copy()
        expected[..., 2:] = False
        np.testing.assert_array_equal(weights > 0, expected)
