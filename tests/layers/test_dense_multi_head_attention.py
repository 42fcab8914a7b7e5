import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import ops as formulas
from keras_attention.layers import DenseMultiHeadAttention, MultiHeadAttention
from tests.contract import MASK, B, K, Q, S, T
from tests.numerics import as_numpy, assert_close

H, DEPTH, D = 2, 13, 17
WIDTH = H * DEPTH


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


INPUTS = draw(B, T, Q), draw(B, S, K), draw(B, S, D)


def filled(scale="head"):
    """Make a layer and give every weight, biases too, numbers of its own."""
    layer = DenseMultiHeadAttention(H, WIDTH, scale)
    layer.build(*(INPUTS[place].shape for place in (0, 2, 1)))
    rng = np.random.default_rng(1)
    layer.set_weights([rng.normal(0, 0.3, w.shape).astype("float32") for w in layer.weights])
    return layer


def ask(layer, *inputs, mask=MASK, **kwargs):
    query, keys, values = map(ops.convert_to_tensor, inputs or INPUTS)
    read, weights = layer(
        query,
        values,
        keys,
        attention_mask=None if mask is None else ops.convert_to_tensor(mask),
        return_attention_scores=True,
        **kwargs,
    )
    return as_numpy(read), as_numpy(weights)


def kernels_of(layer):
    """Return kernel and bias of a dense layer, float64."""
    return as_numpy(layer.kernel).astype(float), as_numpy(layer.bias).astype(float)


def transplant(dense):
    """Return its weights in the order and the shapes of Keras' layer."""
    weights = []
    for part in (dense.to_query, dense.to_key, dense.to_value):
        kernel, bias = as_numpy(part.kernel), as_numpy(part.bias)
        weights += [kernel.reshape(-1, H, DEPTH), bias.reshape(H, DEPTH)]
    kernel, bias = as_numpy(dense.to_read.kernel), as_numpy(dense.to_read.bias)
    return [*weights, kernel.reshape(H, DEPTH, Q), bias]


@pytest.mark.parametrize("scale", ["head", "total"])
def test_equals_a_loop_over_the_heads(scale):
    layer = filled(scale)
    (wq, bq), (wk, bk), (wv, bv), (wo, bo) = map(
        kernels_of, (layer.to_query, layer.to_key, layer.to_value, layer.to_read)
    )
    root = np.sqrt(DEPTH if scale == "head" else WIDTH)
    reads, weights = np.tile(bo, (B, T, 1)), np.zeros((B, H, T, S))
    for b, h, t in np.ndindex(B, H, T):
        part, seen = slice(h * DEPTH, (h + 1) * DEPTH), MASK[b]
        query = INPUTS[0][b, t].astype(float) @ wq[:, part] + bq[part]
        keys = INPUTS[1][b].astype(float)[seen] @ wk[:, part] + bk[part]
        values = INPUTS[2][b].astype(float)[seen] @ wv[:, part] + bv[part]
        shares = np.exp(keys @ query / root)
        weights[b, h, t, seen] = shares / shares.sum()
        reads[b, t] += weights[b, h, t, seen] @ values @ wo[part]
    read, alpha = ask(layer)
    assert_close(alpha, weights)
    assert_close(read, reads)


def test_the_two_scales_differ_by_the_root_of_the_number_of_heads():
    head, total = filled("head"), filled("total")
    assert abs(ask(head)[1] - ask(total)[1]).max() > 0.01
    # dividing once more by √H: the same as a query that is shorter by √H
    for weight in (head.to_query.kernel, head.to_query.bias):
        weight.assign(as_numpy(weight) / np.float32(np.sqrt(H)))
    for one, other in zip(ask(head), ask(total), strict=True):
        assert_close(one, other)


def test_with_the_same_weights_it_equals_the_wrapper_of_keras_layer():
    dense, wrapper = filled(), MultiHeadAttention(H, DEPTH)
    wrapper.build(*(INPUTS[place].shape for place in (0, 2, 1)))
    names = ["query", "key", "value", "attention_output"]
    order = ["/".join(w.path.split("/")[-2:]) for w in wrapper.weights]
    by_name = dict(
        zip(
            [f"{name}/{part}" for name in names for part in ("kernel", "bias")],
            transplant(dense),
            strict=True,
        )
    )
    wrapper.set_weights([by_name[name] for name in order])
    for one, other in zip(ask(dense), ask(wrapper), strict=True):
        assert_close(one, other)


def test_with_the_same_weights_it_equals_keras_own_layer():
    dense, theirs = filled(), keras.layers.MultiHeadAttention(H, DEPTH, value_dim=DEPTH)
    theirs.build(INPUTS[0].shape, INPUTS[2].shape, INPUTS[1].shape)
    theirs.set_weights(transplant(dense))
    query, keys, values = map(ops.convert_to_tensor, INPUTS)
    expected, expected_weights = theirs(
        query,
        values,
        keys,
        attention_mask=ops.convert_to_tensor(MASK[:, None]),
        return_attention_scores=True,
    )
    read, weights = ask(dense)
    assert_close(weights, as_numpy(expected_weights))
    assert_close(read, as_numpy(expected))


def test_one_head_with_identity_kernels_is_scaled_dot_attention():
    layer = DenseMultiHeadAttention(1, K)
    inputs = draw(B, T, K), draw(B, S, K), draw(B, S, K, seed=1)
    layer.build(*(inputs[place].shape for place in (0, 2, 1)))
    layer.set_weights([np.eye(K) if len(w.shape) == 2 else np.zeros(K) for w in layer.weights])
    query, keys, values, mask = map(ops.convert_to_tensor, (*inputs, MASK))
    expected = formulas.lookup(formulas.scaled_dot(query, keys), values, mask)
    read, weights = ask(layer, *inputs)
    assert_close(weights[:, 0], as_numpy(expected.weights))
    assert_close(read, as_numpy(expected.read))


@pytest.mark.extra("jax")
def test_the_lookup_equals_the_one_of_jax():
    import jax

    query, keys, values = draw(B, T, H, K), draw(B, S, H, K), draw(B, S, H, D)
    values = values[..., :K]  # JAX wants values as wide as the keys
    expected = jax.nn.dot_product_attention(query, keys, values, mask=MASK[:, None, None])
    heads = [ops.convert_to_tensor(x.transpose(0, 2, 1, 3)) for x in (query, keys, values)]
    read = formulas.lookup(
        formulas.scaled_dot(*heads[:2]), heads[2], ops.convert_to_tensor(MASK)
    ).read
    assert_close(as_numpy(read).transpose(0, 2, 1, 3), np.asarray(expected, "float64"))


def test_a_query_with_nothing_to_look_at_reads_the_bias():
    layer = filled()
    read, weights = ask(layer, mask=np.array([[False] * S, [True] * S]))
    np.testing.assert_array_equal(weights[0], 0)
    assert_close(read[0], np.tile(as_numpy(layer.to_read.bias), (T, 1)))


def test_bad_arguments_say_what_was_received():
    for numbers in ((0, 26), (2, 0), (3, 26), (-2, 26)):
        with pytest.raises(ValueError, match=f"multiple of num_heads, got {numbers[0]} and"):
            DenseMultiHeadAttention(*numbers)
    with pytest.raises(ValueError, match="scale must be one of head, total, got 'none'"):
        DenseMultiHeadAttention(H, WIDTH, "none")
