import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import KerasMultiHeadAttention, MultiHeadAttention
from keras_attention.layers.base import Memory
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


@pytest.mark.parametrize("options", [{}, {"value_dim": 3, "use_bias": False}], ids=str)
def test_weights_go_from_keras_own_layer_and_back(options):
    """Also in a call by position: its order is Keras', query, value, key."""
    query, keys = inputs()
    values = 2 * keys[:, ::-1, :5]
    ours = MultiHeadAttention(H, DEPTH, **options)
    theirs = keras.layers.MultiHeadAttention(H, DEPTH, **options)
    expected, expected_weights = theirs(
        query, values, keys, attention_mask=MASK[:, None], return_attention_scores=True
    )
    ours.build(query.shape, values.shape, keys.shape)
    names = [["/".join(w.path.split("/")[-2:]) for w in layer.weights] for layer in (ours, theirs)]
    assert names[0] == names[1]
    ours.set_weights(theirs.get_weights())
    read, weights = ours(query, values, keys, attention_mask=MASK, return_attention_scores=True)
    assert_close(read, as_numpy(expected))
    assert_close(weights, as_numpy(expected_weights))
    theirs.set_weights([2 * weight for weight in ours.get_weights()])
    ours.set_weights(theirs.get_weights())
    options = {"return_attention_scores": True}  # without them Keras on JAX wants equal widths
    for one, other in zip(
        ours(query, values, keys, **options), theirs(query, values, keys, **options), strict=True
    ):
        assert_close(one, as_numpy(other))


def test_the_wrapper_is_keras_own_layer_but_for_masks():
    query, keys = inputs()
    values = 2 * keys[:, ::-1, :5]
    wrapper, ours = KerasMultiHeadAttention(H, DEPTH), MultiHeadAttention(H, DEPTH)
    mask = ops.convert_to_tensor(np.array([MASK[0], [False] * S]))
    options = {"attention_mask": mask, "return_attention_scores": True}
    read, weights = wrapper(query, values, keys, **options)
    ours.build(query.shape, values.shape, keys.shape)
    ours.set_weights(wrapper.get_weights())
    expected, expected_weights = ours(query, values, keys, **options)
    assert_close(as_numpy(weights), as_numpy(expected_weights))
    assert_close(as_numpy(read)[0], as_numpy(expected)[0])
    np.testing.assert_array_equal(as_numpy(read)[1], 0)


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
    layer = MultiHeadAttention(H, DEPTH, dropout=dropout)
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


def test_a_call_projects_the_memory_and_attends_to_it():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    values = 2 * keys[:, ::-1, :3]
    expected = layer(query, values, keys, attention_mask=MASK, return_attention_scores=True)
    memory = layer.project_memory(values, keys, MASK)
    assert tuple(memory.keys.shape) == (B, H, DEPTH, S)
    assert tuple(memory.values.shape) == (B, H, S, DEPTH)
    found = layer.attend(query, memory, [])
    assert found[2] == []
    for one, other in zip(found[:2], expected, strict=True):
        np.testing.assert_array_equal(as_numpy(one), as_numpy(other))


def test_one_memory_may_be_read_query_by_query():
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    memory = layer.project_memory(keys, attention_mask=MASK)
    for t in range(T):
        one_read, one, _ = layer.attend(query[:, t : t + 1], memory, [])
        np.testing.assert_allclose(as_numpy(one_read)[:, 0], read[:, t], atol=1e-6)
        np.testing.assert_allclose(as_numpy(one)[:, :, 0], weights[:, :, t], atol=1e-6)


def test_a_memory_may_grow():
    """As a cache does: two parts that were projected apart are the whole."""
    layer = MultiHeadAttention(H, DEPTH)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    first, second = layer.project_memory(keys[:, :2]), layer.project_memory(keys[:, 2:])
    memory = Memory(
        ops.concatenate([first.keys, second.keys], axis=3),
        ops.concatenate([first.values, second.values], axis=2),
        MASK,
    )
    one_read, one, _ = layer.attend(query, memory, [])
    np.testing.assert_allclose(as_numpy(one_read), read, atol=1e-6)
    np.testing.assert_allclose(as_numpy(one), weights, atol=1e-6)


def test_what_is_returned_are_the_weights_before_dropout():
    layer = MultiHeadAttention(H, DEPTH, dropout=0.5)
    query, keys = inputs()
    read, weights = call(layer, query, keys, MASK)
    dropped, same = layer(
        query, keys, attention_mask=MASK, return_attention_scores=True, training=True
    )
    np.testing.assert_array_equal(as_numpy(same), weights)
    assert (as_numpy(dropped) != read).any()


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="positive integers, got 0, 13 and 13"):
        MultiHeadAttention(0, DEPTH)
    for dropout in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"at least 0 and below 1, got {dropout}"):
            MultiHeadAttention(H, DEPTH, dropout=dropout)
    with pytest.raises(ValueError, match=r"query must have shape .*\(2, 7\)"):
        MultiHeadAttention(H, DEPTH).build((B, Q), (B, S, K))
    query, keys = inputs()
    with pytest.raises(ValueError, match=r"mask must have shape"):
        MultiHeadAttention(H, DEPTH)(query, keys, attention_mask=np.ones((B, T), dtype=bool))


# Keras tries every layer, and warns of those without weights.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method implemented")
def test_all_four_kernels_are_quantized():
    query, keys = inputs()
    tensors = keras.Input(query.shape[1:]), keras.Input(keys.shape[1:])
    model = keras.Model(tensors, MultiHeadAttention(H, DEPTH)(*tensors))
    expected = as_numpy(model([query, keys]))
    model.quantize("int8")
    assert [str(weight.dtype) for weight in model.weights].count("int8") == 4
    np.testing.assert_allclose(as_numpy(model([query, keys])), expected, atol=0.05)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="of TensorFlow's operations")
def test_a_projection_is_one_product_for_all_sentences():
    """Keras' einsum is a product for each sentence; so are those of queries with keys, by head."""
    import tensorflow as tf

    layer, (query, keys) = MultiHeadAttention(H, DEPTH), inputs()
    layer(query, keys)
    sizes = [tf.TensorSpec((None, None, each.shape[-1])) for each in (query, keys)]
    graph = tf.function(layer).get_concrete_function(*sizes).graph
    kinds = [operation.type for operation in graph.get_operations() if "MatMul" in operation.type]
    assert sorted(kinds) == 2 * ["BatchMatMulV2"] + 4 * ["MatMul"]
