import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import (
    AdditiveAttention,
    CausalSelfAttention,
    CrossAttention,
    DenseMultiHeadAttention,
    GlobalSelfAttention,
    KerasMultiHeadAttention,
    MultiHeadAttention,
)
from keras_attention.ops import KVCache, branch_cache, follow_cache
from tests.contract import MASK, B, K, Q, S, call
from tests.numerics import as_numpy, assert_close, gradient

H, DEPTH, T = 2, 13, 5  # self-attention has as many queries as keys

each_order = pytest.mark.parametrize("norm_first", [False, True], ids=["post_norm", "pre_norm"])
SELF = {"global": GlobalSelfAttention, "causal": CausalSelfAttention}


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def stirred(block, *inputs):
    """Build a block and give it weights of which none is 0 or 1."""
    block(*inputs)
    rng = np.random.default_rng(1)
    block.set_weights([rng.normal(weight, 0.3) for weight in block.get_weights()])
    return block


def make(kind, norm_first=False, dropout=0.0):
    return SELF[kind](MultiHeadAttention(H, DEPTH, dropout=dropout), norm_first)


def by_keras(block, x, memory, mask):
    """The oracle: a block out of Keras' own layers, with its weights; `mask` is (B, T, S)."""
    attend = keras.layers.MultiHeadAttention(H, DEPTH)
    attend.build(x.shape, memory.shape)
    attend.set_weights(block.attention.get_weights())
    norm = keras.layers.LayerNormalization()
    norm.build(x.shape)
    norm.set_weights(block.norm.get_weights())
    is_self_attention, x = memory is x, ops.convert_to_tensor(x)
    query = norm(x) if block.norm_first else x
    keys = query if is_self_attention else memory
    read, weights = attend(query, keys, attention_mask=mask, return_attention_scores=True)
    output = x + read if block.norm_first else norm(x + read)
    return as_numpy(output), as_numpy(weights)


def triangle(size):
    return np.tril(np.ones((size, size), dtype=bool))[None]


@each_order
def test_global_self_attention_equals_keras_own_layers(norm_first):
    x = draw(B, S, Q)
    block = stirred(make("global", norm_first), x)
    expected = by_keras(block, x, x, MASK[:, None] & np.ones((S, 1), dtype=bool))
    output, weights = block(x, attention_mask=MASK, return_attention_scores=True)
    assert_close(output, expected[0], 1e-5)
    assert_close(weights, expected[1], 1e-5)
    assert_close(block(x, attention_mask=MASK), expected[0], 1e-5)


@each_order
def test_causal_self_attention_equals_keras_own_layers(norm_first):
    x = draw(B, T, Q)
    block = stirred(make("causal", norm_first), x)
    expected = by_keras(block, x, x, triangle(T))
    output, weights = block(x, return_attention_scores=True)
    assert_close(output, expected[0], 1e-5)
    assert_close(weights, expected[1], 1e-5)
    assert_close(block(x), expected[0], 1e-5)


@each_order
def test_cross_attention_equals_keras_own_layers(norm_first):
    x, memory = draw(B, 3, Q), draw(B, S, K)
    block = stirred(CrossAttention(MultiHeadAttention(H, DEPTH), norm_first), x, memory)
    expected = by_keras(block, x, memory, MASK[:, None] & np.ones((3, 1), dtype=bool))
    output, weights = call(block, x, memory, MASK)
    assert_close(output, expected[0], 1e-5)
    assert_close(weights, expected[1], 1e-5)
    assert_close(block(x, memory, attention_mask=MASK), expected[0], 1e-5)


@each_order
@pytest.mark.parametrize("sharing", [1, 3])
def test_cross_attention_may_project_its_memory_once_and_share_it(norm_first, sharing):
    x, memory = draw(B * sharing, 2, Q), draw(B, S, K)
    each = [np.repeat(of_all, sharing, axis=0) for of_all in (memory, MASK)]
    block = stirred(CrossAttention(MultiHeadAttention(H, DEPTH), norm_first), x, each[0])
    expected = call(block, x, *each)
    projected = block.project_memory(ops.convert_to_tensor(memory))
    output, weights = block(x, projected, attention_mask=MASK, return_attention_scores=True)
    assert_close(output, expected[0], 1e-6)
    assert_close(weights, expected[1], 1e-6)


def test_only_heads_project_a_memory_beforehand():
    block = CrossAttention(AdditiveAttention(13))
    with pytest.raises(ValueError, match=r"MultiHeadAttention, got \S+\.AdditiveAttention"):
        block.project_memory(ops.convert_to_tensor(draw(B, S, K)))


def test_is_attention_then_residual_then_layer_norm():
    query, memory = draw(B, 3, Q), draw(B, S, K)
    block = CrossAttention(MultiHeadAttention(H, DEPTH))
    output, weights = call(block, query, memory, MASK)
    read, expected_weights = call(block.attention, query, memory, MASK)
    summed = query.astype(float) + read
    centred = summed - summed.mean(-1, keepdims=True)
    expected = centred / np.sqrt(centred.var(-1, keepdims=True) + block.norm.epsilon)
    assert_close(output, expected)
    np.testing.assert_array_equal(weights, expected_weights)


def test_cross_attention_takes_any_attention_whose_read_is_as_wide_as_the_query():
    query, memory = draw(B, 3, Q), draw(B, S, Q)
    block = stirred(CrossAttention(AdditiveAttention(13)), query, memory)
    output, weights = call(block, query, memory, MASK)
    read, expected_weights = call(block.attention, query, memory, MASK)
    assert_close(output, as_numpy(block.norm(query + read)))
    np.testing.assert_array_equal(weights, expected_weights)
    assert_close(block(query, memory, attention_mask=MASK), output)


def test_global_self_attention_takes_any_attention_too():
    x = draw(B, S, Q)
    for attention in (
        AdditiveAttention(13),
        DenseMultiHeadAttention(H, 2 * DEPTH),
        KerasMultiHeadAttention(H, DEPTH),
    ):
        block = stirred(GlobalSelfAttention(attention), x)
        output, weights = block(x, attention_mask=MASK, return_attention_scores=True)
        read, expected_weights = call(attention, x, x, MASK)
        assert_close(output, as_numpy(block.norm(x + read)))
        np.testing.assert_array_equal(as_numpy(weights), expected_weights)
        np.testing.assert_array_equal(as_numpy(weights)[0, ..., 3:], 0)


def test_a_mask_for_each_position_is_heeded():
    x = draw(B, T, Q)
    block = stirred(make("global"), x)
    twin = make("causal")
    twin(x)
    twin.set_weights(block.get_weights())
    mask = np.repeat(triangle(T), B, 0)
    assert_close(block(x, attention_mask=mask), as_numpy(twin(x)), 1e-6)


@each_order
@pytest.mark.parametrize("kind", SELF)
def test_who_sees_whom(kind, norm_first):
    """By the gradients of one position of the output: all positions, or none that comes later."""
    x = draw(B, T, Q)
    block = stirred(make(kind, norm_first), x)
    some = ops.convert_to_tensor(draw(Q))
    sees = np.zeros((T, T), dtype=bool)
    for t in range(T):
        (slope,) = gradient(lambda x, t=t: ops.sum(block(x)[:, t] * some), x)
        sees[t] = abs(slope).max(axis=(0, 2)) > 0
    np.testing.assert_array_equal(sees, triangle(T)[0] if kind == "causal" else sees | True)


@pytest.mark.parametrize("scores", [False, True], ids=["plain", "scores"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_the_future_changes_nothing_with_and_without_dropout_and_scores(dropout, scores):
    x = draw(B, T, Q)
    changed = x.copy()
    changed[:, 3:] = 7
    block = stirred(make("causal", dropout=dropout), x)
    before, after = (block(x, return_attention_scores=scores) for x in (x, changed))
    for one, other in zip(*((each if scores else [each]) for each in (before, after)), strict=True):
        one, other = (as_numpy(each).reshape(B, -1, T, each.shape[-1]) for each in (one, other))
        np.testing.assert_array_equal(one[:, :, :3], other[:, :, :3])
        assert (one[:, :, 3:] != other[:, :, 3:]).any()


@pytest.mark.parametrize("kind", SELF)
def test_dropout_only_in_training(kind):
    x = draw(B, T, Q)
    block = make(kind, dropout=0.5)
    quiet = as_numpy(block(x))
    np.testing.assert_array_equal(as_numpy(block(x, training=False)), quiet)
    assert (as_numpy(block(x, training=True)) != quiet).any()


def test_dropout_of_a_part_in_training_too():
    x, block = draw(B, T, Q), make("causal", dropout=0.5)
    quiet, noisy = (
        as_numpy(block(x, cache=block.empty_cache(x, T), training=training))
        for training in (False, True)
    )
    assert (quiet != noisy).any()


@pytest.mark.parametrize("kind", SELF)
def test_dropout_inside_a_model_in_training_and_not_otherwise(kind, dropouts):
    """Keras takes `training=None` for an answer: a block hands on what it was told."""
    inputs = keras.Input((T, Q))
    x = make(kind, dropout=0.5)(inputs)
    model = keras.Model(
        inputs, CrossAttention(MultiHeadAttention(H, DEPTH, dropout=0.5))(x, inputs)
    )
    dropouts.clear()
    model(draw(B, T, Q), training=True)
    model(draw(B, T, Q), training=False)
    assert dropouts == [0.5, 0.5, 0.0, 0.0]


# A sentence in parts


def noisy_cache(block, slots):
    """Return an empty cache in whose slots there is noise, which must not matter."""
    cache = block.empty_cache(draw(B, T), slots)
    keys, values = (
        ops.convert_to_tensor(1e3 * draw(*each.shape)) for each in (cache.keys, cache.values)
    )
    return cache._replace(keys=keys, values=values)


each_parting = pytest.mark.parametrize(
    "lengths", [(5,), (1, 1, 1, 1, 1), (2, 3), (3, 2), (2, 2, 1), (1, 4)], ids=str
)


@each_order
@each_parting
@pytest.mark.parametrize("slots", [5, 11])
def test_the_parts_of_a_sentence_equal_the_whole(lengths, slots, norm_first):
    x = draw(B, T, Q)
    block = stirred(make("causal", norm_first), x)
    whole, all_weights = block(x, return_attention_scores=True)
    cache, start, outputs, weights = noisy_cache(block, slots), 0, [], []
    for length in lengths:
        part = x[:, start : start + length]
        output, looked, cache = block(
            part, cache=cache, return_attention_scores=True, return_cache=True
        )
        start += length
        assert as_numpy(cache.length).tolist() == B * [start]
        outputs.append(as_numpy(output))
        weights.append(as_numpy(looked))
    assert_close(np.concatenate(outputs, axis=1), as_numpy(whole), 1e-5)
    padding = [(0, 0), (0, 0), (0, 0), (0, slots - T)]  # the first token is in the first slot
    np.testing.assert_allclose(
        np.concatenate(weights, axis=2), np.pad(as_numpy(all_weights), padding), atol=1e-6
    )
    memory = block.attention.project_memory(block.before(ops.convert_to_tensor(x)))
    assert_close(as_numpy(cache.keys)[..., :T], as_numpy(memory.keys), 1e-6)
    assert_close(as_numpy(cache.values)[:, :, :T], as_numpy(memory.values), 1e-6)


def test_a_whole_sentence_leaves_a_full_cache():
    x, block = draw(B, T, Q), make("causal")
    whole, kept = block(x, return_cache=True)
    assert_close(block(x, cache=block.empty_cache(x, T)), as_numpy(whole), 1e-5)
    _, cache = block(x, cache=block.empty_cache(x, T), return_cache=True)
    for one, other in zip(kept, cache, strict=True):
        assert_close(one, as_numpy(other))


@each_order
def test_hypotheses_that_share_a_cache_attend_as_if_each_had_its_own(norm_first):
    hypotheses, slots = 3, 4
    x = draw(B * hypotheses, T, Q)
    block = stirred(make("causal", norm_first), x)
    shared = branch_cache(noisy_cache(block, slots), hypotheses)
    own = block.empty_cache(x, slots)
    options = {"return_attention_scores": True, "return_cache": True}
    for t in range(slots):
        parents = np.random.default_rng(t).integers(0, hypotheses, (B, hypotheses))
        shared = follow_cache(shared, ops.convert_to_tensor(parents.astype("int32")))
        rows = (parents + hypotheses * np.arange(B)[:, None]).reshape(-1)
        own = KVCache(*(ops.take(each, rows, axis=0) for each in own))
        token = x[:, t : t + 1]
        output, looked, shared = block(token, cache=shared, **options)
        expected, expected_looks, own = block(token, cache=own, **options)
        assert_close(output, as_numpy(expected), 1e-5)
        seen = as_numpy(shared.seen).reshape(B * hypotheses, -1) > 0
        for row, slots_of_row in enumerate(seen):
            found = as_numpy(looked)[row, :, 0]
            assert_close(found[:, slots_of_row], as_numpy(expected_looks)[row, :, 0, : t + 1], 1e-6)
            assert (found[:, ~slots_of_row] == 0).all()


def test_hypotheses_that_share_a_cache_have_one_token_each():
    x, block = draw(2 * B, T, Q), make("causal")
    cache = branch_cache(block.empty_cache(draw(B, T), T), 2)
    with pytest.raises(ValueError, match=rf"2 hypotheses .* got x \({2 * B}, {T}, {Q}\)"):
        block(x, cache=cache)


@pytest.mark.parametrize(
    "shape", [(B, DEPTH, H, 3), (B, H - 1, DEPTH, 3), (B, H + 1, DEPTH, 3), (B, H, DEPTH - 1, 3)]
)
@pytest.mark.parametrize("part", ["keys", "values"])
def test_a_cache_of_another_shape_is_refused(shape, part):
    x, block = draw(B, T, Q), make("causal")
    tensor = ops.convert_to_tensor(draw(*shape))
    tensor = tensor if part == "keys" else ops.swapaxes(tensor, 2, 3)
    cache = block.empty_cache(x, 3)._replace(**{part: tensor})
    with pytest.raises(ValueError, match="a cache of this layer has keys"):
        block(x, cache=cache)
