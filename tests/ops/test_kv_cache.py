import numpy as np
import pytest
from keras import ops

from keras_attention.ops import (
    branch_cache,
    cache_mask,
    empty_cache,
    extend_cache,
    follow_cache,
    resize_cache,
)
from tests.numerics import as_numpy

B, H, K, V, T = 2, 3, 5, 7, 9


def draw(*shape):
    return np.random.default_rng([*shape]).normal(size=shape).astype("float32")


def stored(lengths, slots):
    """Store tokens part by part in a cache whose free slots hold noise."""
    keys, values = draw(B, H, K, T), draw(B, H, T, V)
    noise = draw(B, H, K, slots), draw(B, H, slots, V)
    cache, start = empty_cache(draw(B, 1), H, K, V, slots, "float32"), 0
    cache = cache._replace(keys=ops.array(noise[0]), values=ops.array(noise[1]))
    for size in lengths:
        part = slice(start, start + size)
        new = keys[..., part], values[:, :, part]
        cache, start = extend_cache(cache, *map(ops.convert_to_tensor, new)), start + size
    return cache, keys[..., :start], values[:, :, :start], noise


@pytest.mark.parametrize("slots", [9, 13])
@pytest.mark.parametrize("lengths", [(), (1,) * 9, (9,), (2, 1, 5, 1), (3, 4)], ids=str)
def test_tokens_are_stored_one_after_the_other_and_the_other_slots_are_left_alone(lengths, slots):
    cache, keys, values, noise = stored(lengths, slots)
    count = sum(lengths)
    assert as_numpy(cache.length).tolist() == B * [count]
    assert as_numpy(cache.seen).tolist() == B * [[[slot < count for slot in range(slots)]]]
    expected = np.concatenate([keys, noise[0][..., count:]], axis=3)
    np.testing.assert_array_equal(as_numpy(cache.keys), expected)
    expected = np.concatenate([values, noise[1][:, :, count:]], axis=2)
    np.testing.assert_array_equal(as_numpy(cache.values), expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_empty_cache(dtype):
    cache = empty_cache(draw(B, 4), H, K, V, 11, dtype)
    assert cache.keys.shape == (B, H, K, 11)
    assert cache.values.shape == (B, H, 11, V)
    assert dtype in str(cache.keys.dtype)
    assert dtype in str(cache.values.dtype)
    assert as_numpy(cache.length).tolist() == B * [0]
    assert as_numpy(cache.seen).tolist() == B * [[11 * [False]]]


@pytest.mark.parametrize("slots", [4, 9, 16])
def test_another_number_of_slots_keeps_what_is_stored(slots):
    cache, keys, values, _ = stored((4,), 9)
    resized = resize_cache(cache, slots)
    assert resized.keys.shape == (B, H, K, slots)
    assert resized.values.shape == (B, H, slots, V)
    np.testing.assert_array_equal(as_numpy(resized.keys)[..., :4], keys)
    np.testing.assert_array_equal(as_numpy(resized.values)[:, :, :4], values)
    np.testing.assert_array_equal(as_numpy(resized.length), as_numpy(cache.length))
    assert as_numpy(resized.seen).tolist() == B * [[[slot < 4 for slot in range(slots)]]]


def test_a_token_sees_itself_and_all_before_it():
    cache, *_ = stored((3, 2), 7)
    expected = [[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0]]
    assert as_numpy(cache_mask(cache, 2)).astype(int).tolist() == B * [expected]


def test_each_hypothesis_sees_the_tokens_that_lead_to_it():
    hypotheses, steps = 3, 4
    cache, keys, values, _ = stored((2,), 2)
    cache = resize_cache(branch_cache(cache, hypotheses), 6 + steps * hypotheses)
    rng = np.random.default_rng(0)
    lists = [[[*range(2)] for _ in range(hypotheses)] for _ in range(B)]
    for step in range(steps):
        parents = rng.integers(0, hypotheses, (B, hypotheses))
        first = 2 + step * hypotheses
        lists = [
            [[*row[parent], first + w] for w, parent in enumerate(parents[b])]
            for b, row in enumerate(lists)
        ]
        new_keys = rng.normal(size=(B, H, K, hypotheses)).astype("float32")
        new_values = rng.normal(size=(B, H, hypotheses, V)).astype("float32")
        keys = np.concatenate([keys, new_keys], axis=3)
        values = np.concatenate([values, new_values], axis=2)
        cache = follow_cache(cache, ops.convert_to_tensor(parents.astype("int32")))
        cache = extend_cache(cache, *map(ops.convert_to_tensor, (new_keys, new_values)))
        assert as_numpy(cache.length).tolist() == B * [2 + step + 1]
    seen = as_numpy(cache_mask(cache, hypotheses)) > 0
    found = as_numpy(cache.keys), as_numpy(cache.values)
    for b, row in enumerate(lists):
        for w, tokens in enumerate(row):
            np.testing.assert_array_equal(found[0][b][..., seen[b, w]], keys[b][..., tokens])
            np.testing.assert_array_equal(found[1][b][:, seen[b, w]], values[b][:, tokens])
