"""The two layers of a Transformer; that stacks of them equal others' is in models/."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import (
    PositionalEmbedding,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from tests.contract import MASK, B, K, Q, S
from tests.numerics import as_numpy, assert_close

H, DEPTH, HIDDEN, T = 2, 13, 17, 5


def draw(*shape):
    return np.random.default_rng([*shape]).normal(size=shape).astype("float32")


def test_an_encoder_layer_is_its_parts_one_after_the_other():
    layer, x = TransformerEncoderLayer(H, DEPTH, HIDDEN), draw(B, S, Q)
    output, weights = layer(x, attention_mask=MASK, return_attention_scores=True)
    attended, expected = layer.self_attention(x, attention_mask=MASK, return_attention_scores=True)
    assert_close(output, as_numpy(layer.feed_forward(attended)))
    np.testing.assert_array_equal(as_numpy(weights), as_numpy(expected))


def test_a_decoder_layer_is_its_parts_one_after_the_other():
    layer, x, memory = TransformerDecoderLayer(H, DEPTH, HIDDEN), draw(B, T, Q), draw(B, S, K)
    options = {"attention_mask": MASK, "return_attention_scores": True}
    output, weights = layer(x, memory, **options)
    own, own_weights = layer.self_attention(x, return_attention_scores=True)
    across, cross_weights = layer.cross_attention(own, memory, **options)
    assert_close(output, as_numpy(layer.feed_forward(across)))
    assert set(weights) == {"self_attention", "cross_attention"}
    np.testing.assert_array_equal(as_numpy(weights["self_attention"]), as_numpy(own_weights))
    np.testing.assert_array_equal(as_numpy(weights["cross_attention"]), as_numpy(cross_weights))


@pytest.mark.parametrize("with_memory", [True, False])
@pytest.mark.parametrize("lengths", [(1, 1, 1, 1, 1), (2, 3), (5,)], ids=str)
def test_a_decoder_layer_reads_a_sentence_in_parts(lengths, with_memory):
    layer, x = TransformerDecoderLayer(H, DEPTH, HIDDEN, norm_first=True), draw(B, T, Q)
    given = [draw(B, S, K)] if with_memory else []
    options = {"attention_mask": MASK} if with_memory else {}
    whole, cache, start, outputs = layer(x, *given, **options), layer.empty_cache(x, T), 0, []
    for length in lengths:
        part = x[:, start : start + length]
        output, cache = layer(part, *given, cache=cache, return_cache=True, **options)
        outputs.append(as_numpy(output))
        start += length
    assert_close(np.concatenate(outputs, axis=1), as_numpy(whole), 1e-5)


def kinds(outputs):
    """Return structure, shapes and dtypes of outputs."""
    return keras.tree.map_structure(
        lambda each: (tuple(each.shape), keras.backend.standardize_dtype(each.dtype)), outputs
    )


def symbol(tensor):
    """Return a symbolic tensor of the same kind."""
    if tensor is None:  # a memory without a mask
        return None
    return keras.KerasTensor(tensor.shape, keras.backend.standardize_dtype(tensor.dtype))


IS_JAX = keras.backend.backend() == "jax"
FLOAT64 = pytest.param("float64", marks=pytest.mark.skipif(IS_JAX, reason="JAX is told to use it"))


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", FLOAT64])
@pytest.mark.parametrize("is_asked", [False, True])
def test_symbolic_outputs_are_as_the_real_ones(dtype, is_asked):
    """Keras would find them by tracing `call`."""
    encoder = TransformerEncoderLayer(H, DEPTH, HIDDEN, dtype=dtype)
    decoder = TransformerDecoderLayer(H, DEPTH, HIDDEN, dtype=dtype)
    alone = TransformerDecoderLayer(H, DEPTH, HIDDEN, dtype=dtype)
    x, memory, weights = draw(B, T, Q), draw(B, S, K), {"return_attention_scores": is_asked}
    all_of_it = {**weights, "return_cache": is_asked}
    decoder(x, memory)
    projected, cache = decoder.project_memory(memory), decoder.empty_cache(x, T + 2)
    cases = [
        (encoder, (x,), weights),
        (decoder, (x, memory), {**all_of_it, "attention_mask": MASK}),
        (decoder, (x, projected), {**all_of_it, "cache": cache}),
        (alone, (x,), all_of_it),
    ]
    for layer, real, options in cases:
        flags = {name: each for name, each in options.items() if isinstance(each, bool)}
        tensors = {name: each for name, each in options.items() if name not in flags}
        inputs, tensors = keras.tree.map_structure(symbol, (real, tensors))
        found = layer(*inputs, **tensors, **flags)
        assert kinds(found) == kinds(layer(*real, **options))
    assert kinds(decoder.symbolic_memory(symbol(memory))[:2]) == kinds(projected[:2])


def test_a_decoder_layer_is_called_as_it_was_built():
    layer, x, memory = TransformerDecoderLayer(H, DEPTH, HIDDEN), draw(B, T, Q), draw(B, S, K)
    layer(x)
    with pytest.raises(ValueError, match="with no memory, got one of shape"):
        layer(x, memory)
    other = TransformerDecoderLayer(H, DEPTH, HIDDEN)
    other(x, memory)
    with pytest.raises(ValueError, match="with no memory, got one of shape"):
        layer(x, other.project_memory(ops.convert_to_tensor(memory)))
    with pytest.raises(ValueError, match=r"without a memory to project, got one of shape"):
        layer.project_memory(memory)
    with pytest.raises(ValueError, match=r"with a memory \(B, S, E\), got None"):
        other(x)


def test_a_student_stacks_them(tmp_path):
    context, target = (keras.Input((None,), dtype="int32", name=n) for n in ("context", "target"))
    memory = PositionalEmbedding(11, Q + 1)(context)
    for _ in range(2):
        memory = TransformerEncoderLayer(H, DEPTH, HIDDEN)(memory)
    x = PositionalEmbedding(11, Q + 1)(target)
    for _ in range(2):
        x = TransformerDecoderLayer(H, DEPTH, HIDDEN)(x, memory)
    model = keras.Model([context, target], keras.layers.Dense(11)(x))
    inputs = [ops.convert_to_tensor(np.arange(1, B * n + 1).reshape(B, n) % 11) for n in (S, T)]
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(twin(inputs), as_numpy(model(inputs)))


def test_an_embedding_is_a_table_times_the_root_of_its_width_and_positions():
    embed, ids = PositionalEmbedding(11, 4), np.array([[3, 1, 4], [1, 5, 9]])
    table = draw(11, 4)
    embed.build(ids.shape)
    embed.set_weights([table])
    angles = np.arange(3)[:, None] / np.array([1.0, 100.0])
    positions = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(3, 4)
    x = embed(ids)
    assert_close(x, 2 * table[ids] + positions)
    later = embed(ids[:, 1:], start=ops.convert_to_tensor([1, 1]))
    assert_close(later, as_numpy(x)[:, 1:])
    assert_close(embed(x, reverse=True), as_numpy(x) @ table.T, 1e-5)


def test_logits_are_computed_in_the_precision_of_the_layer():
    embed, x = PositionalEmbedding(11, 4, dtype="mixed_bfloat16"), draw(B, T, 4)
    table = draw(11, 4)
    embed.build((B, T))
    embed.set_weights([table])
    logits = embed(x, reverse=True)
    assert keras.backend.standardize_dtype(logits.dtype) == "bfloat16"
    assert_close(ops.cast(logits, "float32"), x @ table.T, 0.05)


def test_learned_positions_are_told_how_many():
    with pytest.raises(ValueError, match="learned positions need max_positions"):
        PositionalEmbedding(11, 4, positions="learned")
    with pytest.raises(ValueError, match="positions must be one of"):
        PositionalEmbedding(11, 4, positions="secret")
