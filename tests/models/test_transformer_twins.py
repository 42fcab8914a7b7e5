"""The Transformer against twins with the same weights: Keras' own layers, PyTorch, and itself."""

import math

import numpy as np
import pytest
from keras import layers, ops

from tests.models.transformers import (
    DEPTH,
    HIDDEN,
    LAYERS,
    TARGET,
    UNITS,
    B,
    H,
    S,
    T,
    build,
    called,
    each_order,
    sentences,
    stirred,
)
from tests.numerics import as_numpy


def tutorial_s_positions(length, depth):
    """`positional_encoding` of the TensorFlow tutorial, in NumPy as it stands there."""
    depth = depth / 2
    positions = np.arange(length)[:, np.newaxis]
    depths = np.arange(depth)[np.newaxis, :] / depth
    angle_rads = positions * (1 / 10000**depths)
    return np.concatenate([np.sin(angle_rads), np.cos(angle_rads)], axis=-1)


def embedded(part, side, ids):
    table = as_numpy(part.get_layer(f"{side}_embedding").embedding.embeddings)
    x = table[ids] * math.sqrt(UNITS) + tutorial_s_positions(ids.shape[1], UNITS)
    return x.astype("float32")


def by_keras(model, inputs, key_dim, norm_first):
    """The logits of the tutorial's Transformer out of Keras' own layers."""
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    context, target = inputs["context"], inputs["target"]

    def copy(theirs, ours, *shapes):
        theirs.build(*shapes)
        theirs.set_weights(ours.get_weights())
        return theirs

    def block(ours, x, work):
        norm = copy(layers.LayerNormalization(), ours.norm, x.shape)
        return x + work(norm(x)) if norm_first else norm(x + work(x))

    def attend(ours, x, mask, memory=None):
        def work(query):
            keys = query if memory is None else memory
            attention = layers.MultiHeadAttention(H, key_dim)
            copy(attention, ours.attention, query.shape, keys.shape)
            return attention(query, keys, attention_mask=mask)

        return block(ours, x, work)

    def think(ours, x):
        widen = copy(layers.Dense(HIDDEN, "relu"), ours.widen, x.shape)
        narrow = copy(layers.Dense(UNITS), ours.narrow, (*x.shape[:-1], HIDDEN))
        return block(ours, x, lambda x: narrow(widen(x)))

    def finish(part, x):
        name = f"{part.name}_norm"
        return copy(layers.LayerNormalization(), part.get_layer(name), x.shape)(x)

    is_token = (context != 0)[:, None]
    memory = ops.convert_to_tensor(embedded(encoder, "context", context))
    for n in range(1, LAYERS + 1):
        mask = np.repeat(is_token, S, axis=1)
        layer = encoder.get_layer(f"encoder_layer_{n}")
        memory = think(layer.feed_forward, attend(layer.self_attention, memory, mask))
    memory = finish(encoder, memory) if norm_first else memory
    x = ops.convert_to_tensor(embedded(decoder, "target", target))
    for n in range(1, LAYERS + 1):
        mask = np.repeat(np.tril(np.ones((1, T, T), dtype=bool)), B, axis=0)
        layer = decoder.get_layer(f"decoder_layer_{n}")
        x = attend(layer.self_attention, x, mask)
        mask = np.repeat(is_token, T, axis=1)
        x = think(layer.feed_forward, attend(layer.cross_attention, x, mask, memory))
    x = finish(decoder, x) if norm_first else x
    return as_numpy(copy(layers.Dense(TARGET), decoder.get_layer("logits"), x.shape)(x))


@pytest.mark.parametrize(
    "options", [{}, {"key_dim": UNITS, "norm_first": True}], ids=["paper", "tutorial-pre_norm"]
)
def test_equals_a_stack_of_keras_own_layers(options):
    model, inputs = stirred(**options), sentences()
    expected = by_keras(model, inputs, **{"key_dim": DEPTH, "norm_first": False, **options})
    np.testing.assert_allclose(called(model, inputs), expected, rtol=0, atol=1e-5)


def by_pytorch(torch, model, inputs, norm_first):
    """The logits of `torch.nn.Transformer` between our embeddings and our last layer."""
    nn = torch.nn
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    options = {"dropout": 0.0, "layer_norm_eps": 1e-3, "batch_first": True}  # Keras' epsilon
    options["norm_first"] = norm_first

    def copy(theirs, *ours):
        """Copy NumPy arrays; a kernel of PyTorch is the transpose of one of Keras."""
        for parameter, array in zip(theirs, ours, strict=True):
            parameter.copy_(torch.from_numpy(np.array(array.T)))

    def copy_attention(theirs, ours):
        weights = ours.attention.get_weights()
        *projections, out, out_bias = weights
        kernels = [kernel.reshape(UNITS, UNITS) for kernel in projections[::2]]
        copy(
            [theirs.in_proj_weight, theirs.in_proj_bias],
            np.concatenate(kernels, axis=1),
            np.concatenate([bias.ravel() for bias in projections[1::2]]),
        )
        copy([theirs.out_proj.weight, theirs.out_proj.bias], out.reshape(UNITS, UNITS), out_bias)

    def copy_layer(theirs, part, n, names):
        for place, (name, attention) in enumerate(names.items(), start=1):
            ours = getattr(part.get_layer(f"{part.name}_layer_{n}"), name)
            copy(getattr(theirs, f"norm{place}").parameters(), *ours.norm.get_weights())
            if attention:
                copy_attention(getattr(theirs, attention), ours)
            else:
                copy(theirs.linear1.parameters(), *ours.widen.get_weights())
                copy(theirs.linear2.parameters(), *ours.narrow.get_weights())

    stack = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(UNITS, H, HIDDEN, **options),
        LAYERS,
        nn.LayerNorm(UNITS, 1e-3),
        enable_nested_tensor=False,
    )
    twin = nn.Transformer(UNITS, H, LAYERS, LAYERS, HIDDEN, custom_encoder=stack, **options)
    blocks = {"self_attention": "self_attn", "feed_forward": None}
    more_blocks = {
        "self_attention": "self_attn",
        "cross_attention": "multihead_attn",
        "feed_forward": None,
    }
    with torch.no_grad():
        for n in range(1, LAYERS + 1):
            copy_layer(twin.encoder.layers[n - 1], encoder, n, blocks)
            copy_layer(twin.decoder.layers[n - 1], decoder, n, more_blocks)
        for theirs, part in ((twin.encoder, encoder), (twin.decoder, decoder)):
            if norm_first:
                copy(theirs.norm.parameters(), *part.get_layer(f"{part.name}_norm").get_weights())
            else:
                theirs.norm = None  # PyTorch norms once more what each layer has normed already
        padding = torch.from_numpy(inputs["context"] == 0)  # True: may not be looked at
        outputs = twin(
            torch.from_numpy(embedded(encoder, "context", inputs["context"])),
            torch.from_numpy(embedded(decoder, "target", inputs["target"])),
            tgt_mask=torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
    kernel, bias = decoder.get_layer("logits").get_weights()
    return outputs.numpy() @ kernel + bias


@pytest.mark.extra("torch")
@each_order
def test_equals_pytorch_s_transformer(norm_first):
    import torch

    model, inputs = stirred(norm_first=norm_first), sentences()
    expected = by_pytorch(torch, model, inputs, norm_first)
    np.testing.assert_allclose(called(model, inputs), expected, rtol=0, atol=1e-5)


def copy_halves(model, twin):
    """Copy the weights of the layers that two models share by name."""
    for half in ("encoder", "decoder"):
        for layer in twin.get_layer(half).layers:
            if layer.weights and layer.name != "logits":
                layer.set_weights(model.get_layer(half).get_layer(layer.name).get_weights())


def test_tied_is_a_last_layer_whose_kernel_is_the_target_embedding():
    model, twin = stirred(tied=True, num_layers=1), build(num_layers=1)
    inputs = sentences()
    copy_halves(model, twin)
    (table,) = model.get_layer("decoder").get_layer("target_embedding").get_weights()
    twin.get_layer("decoder").get_layer("logits").set_weights([table.T, np.zeros(TARGET)])
    np.testing.assert_allclose(called(model, inputs), called(twin, inputs), rtol=0, atol=1e-5)


def test_the_scale_is_as_if_the_embedding_were_so_much_larger():
    model, twin = stirred(num_layers=1), build(num_layers=1, scale_embedding=False)
    inputs = sentences()
    copy_halves(model, twin)
    logits = model.get_layer("decoder").get_layer("logits").get_weights()
    twin.get_layer("decoder").get_layer("logits").set_weights(logits)
    for half, name in (("encoder", "context_embedding"), ("decoder", "target_embedding")):
        layer = twin.get_layer(half).get_layer(name)
        layer.set_weights([math.sqrt(UNITS) * table for table in layer.get_weights()])
    np.testing.assert_allclose(called(model, inputs), called(twin, inputs), rtol=0, atol=1e-5)
