"""A Transformer of this package as graphs: one encodes, others make a step of W tokens.

    encoder  context (B, S) → memory_bias (B, 1, 1, S); memory_keys_n and memory_values_n
             (B, H, S, K), one per decoder layer
    step     tokens (B, W), positions (W,), bias (B, 1, W, P + W), the memory, the cache, keys_n and
             values_n (B, H, P, K), and a count k → logits (B · W, V or a few more); ids and
             log_probabilities (B · W, k) of the likeliest tokens, never padding or `[START]`; and
             the cache with W more slots, next_keys_n and next_values_n

So a longer cache is a copy. In place, a step of one token takes a cache with C slots, a slot
(B, H, 1, 3), where its token goes, and a bias (1, 1, 1, C), which hides the empty slots after it;
nothing is copied if next_keys_n is where keys_n is.

A bias is 0 where a token may attend and very small elsewhere. All graphs compute what the layers
compute, with the positions of all sentences as the rows of one matrix.
"""

import math

import keras
import numpy as np
from keras import ops

from keras_attention.graphs.graph import Graph, Tensor
from keras_attention.layers import TransformerDecoderLayer, TransformerEncoderLayer
from keras_attention.text import PADDING, START
from keras_attention.types import Array

CACHED = ("keys", "values")
STEPS = SEVERAL, ALONE, IN_PLACE = ("several", "alone", "in place")
NOWHERE = np.float32(-1e9)  # the bias of what a token may not attend to


def encoder_graph(model: keras.Model, int8: bool = False) -> bytes:
    """Return the graph "encoder".

    Args:
        model: a Transformer that `check_transformer` accepts.
        int8: whether products with weights are of integers of eight bits.
    """
    check_transformer(model)
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    graph = Graph(int8)
    ids = graph("Shape", "context")
    length = graph("Gather", ids, np.int64(1))
    places = graph.cast(graph("Range", np.int64(0), length, np.int64(1)), "FLOAT")
    x = _embedded(graph, "context", places, encoder.get_layer("context_embedding"))
    hidden = graph("Equal", "context", np.int32(PADDING))
    biases = graph("Where", hidden, NOWHERE, np.float32(0))
    graph("Unsqueeze", biases, np.array([1, 2]), name="memory_bias")
    for layer in layers_of(encoder, TransformerEncoderLayer):
        block = layer.self_attention
        before = _before(graph, x, block)
        keys, values = (_heads(graph, before, ids, part) for part in _keys_and_values(block))
        query = _query(graph, before, ids, block)
        x = _after(graph, x, _read(graph, query, keys, values, "memory_bias", block), block)
        x = _feed_forward(graph, x, layer.feed_forward)
    x = _last_norm(graph, x, encoder, "encoder_norm")
    outputs = {"memory_bias": Tensor("FLOAT", ("B", 1, 1, "S"))}
    for number, layer in enumerate(layers_of(decoder, TransformerDecoderLayer), start=1):
        for kind, part in zip(CACHED, _keys_and_values(layer.cross_attention), strict=True):
            name = f"memory_{kind}_{number}"
            _heads(graph, x, ids, part, name=name)
        outputs |= _memory(layer, number)
    return graph.serialized({"context": Tensor("INT32", ("B", "S"))}, outputs)


def step_graph(model: keras.Model, int8: bool = False, kind: str = SEVERAL) -> bytes:
    """Return the graph "step".

    Args:
        model: as for `encoder_graph`.
        int8: as for `encoder_graph`.
        kind: `"several"`: W is any number. `"alone"`: W is 1, so that the token may attend to all
            slots, and there is no bias; and (B, 1, H, K) need not be transposed to (B, H, 1, K).
            `"in place"`: W is 1, and the token goes into an empty slot of the cache.

    Raises:
        ValueError: there is no such kind, or the model is another one.
    """
    if kind not in STEPS:
        raise ValueError(f"a step must be one of {', '.join(STEPS)}, got {kind!r}")
    check_transformer(model)
    alone, in_place = kind != SEVERAL, kind == IN_PLACE
    decoder = model.get_layer("decoder")
    graph = Graph(int8)
    ids = graph("Shape", "tokens")
    embedding = decoder.get_layer("target_embedding")
    x = _embedded(graph, "tokens", graph.cast("positions", "FLOAT"), embedding)
    inputs = {
        "tokens": Tensor("INT32", ("B", "W")),
        "positions": Tensor("INT64", ("W",)),
        "count": Tensor("INT64", (1,)),
        "memory_bias": Tensor("FLOAT", ("B", 1, 1, "S")),
    }
    bias = None if kind == ALONE else "bias"
    if bias:
        inputs[bias] = Tensor("FLOAT", (1, 1, 1, "C") if in_place else ("B", 1, "W", "P + W"))
    if in_place:
        inputs["slot"] = Tensor("INT64", ("B", "H", 1, 3))
    outputs = {
        "logits": Tensor("FLOAT", ("B · W", "V or more")),
        "log_probabilities": Tensor("FLOAT", ("B · W", "k")),
        "ids": Tensor("INT32", ("B · W", "k")),
    }
    for number, layer in enumerate(layers_of(decoder, TransformerDecoderLayer), start=1):
        block = layer.self_attention
        before = _before(graph, x, block)
        for cached, part in zip(CACHED, _keys_and_values(block), strict=True):
            name, new = f"{cached}_{number}", _heads(graph, before, ids, part, alone=alone)
            if in_place:
                graph("ScatterND", name, "slot", new, name=f"next_{name}")
            else:
                graph("Concat", name, new, axis=2, name=f"next_{name}")
            inputs[name], outputs[f"next_{name}"] = (
                Tensor("FLOAT", ("B", layer.num_heads, slots, layer.key_dim))
                for slots in (("C", "C") if in_place else ("P", "P + W"))
            )
        query = _query(graph, before, ids, block, alone)
        keys, values = (f"next_{kind}_{number}" for kind in CACHED)
        x = _after(graph, x, _read(graph, query, keys, values, bias, block, alone), block)

        block = layer.cross_attention
        inputs |= _memory(layer, number)
        keys, values = (f"memory_{kind}_{number}" for kind in CACHED)
        query = _query(graph, _before(graph, x, block), ids, block, alone)
        read = _read(graph, query, keys, values, "memory_bias", block, alone)
        x = _after(graph, x, read, block)
        x = _feed_forward(graph, x, layer.feed_forward)
    x = _last_norm(graph, x, decoder, "decoder_norm")
    _choose(graph, x, *_logits_of(decoder))
    return graph.serialized(inputs, outputs)


def rows_graph(count: int) -> bytes:
    """Return a graph that takes the same rows of some tensors of four axes.

    Args:
        count: how many there are: "tensor_1", … → "rows_1", …
    """
    graph, inputs, outputs = Graph(), {"rows": Tensor("INT64", ("R",))}, {}
    for number in range(1, count + 1):
        shape = tuple(f"{axis}{number}" for axis in "CDE")
        inputs[f"tensor_{number}"] = Tensor("FLOAT", ("B", *shape))
        outputs[f"rows_{number}"] = Tensor("FLOAT", ("R", *shape))
        graph("Gather", f"tensor_{number}", "rows", axis=0, name=f"rows_{number}")
    return graph.serialized(inputs, outputs)


def check_transformer(model: keras.Model) -> None:
    """Check that the graphs can compute a model.

    Raises:
        ValueError: it is not a Transformer, or does not compute in float32.
    """
    blocks = layers_of(model.get_layer("encoder"), TransformerEncoderLayer)
    dtypes = {block.dtype_policy.name for block in blocks}
    dtypes |= {weight.dtype for weight in model.weights}  # where they are quantized, integers
    if not blocks or dtypes != {"float32"}:
        got = f"{model.name} with {', '.join(sorted(dtypes))}"
        raise ValueError(f"ONNX Runtime computes a Transformer in float32, got {got}")


def layers_of(side: keras.Model, kind: type) -> list[keras.layers.Layer]:
    """Return the layers of a kind, in order."""
    return [layer for layer in side.layers if isinstance(layer, kind)]


def _memory(layer, number):
    """Describe the projected memory of a decoder layer."""
    shape = ("B", layer.num_heads, "S", layer.key_dim)
    return {f"memory_{kind}_{number}": Tensor("FLOAT", shape) for kind in CACHED}


def _embedded(graph, ids, places, layer):
    """Embed ids (B, T) and add the encodings of their places (T,): rows (B · T, D)."""
    factor = math.sqrt(layer.width) if layer.scale else 1.0
    table = _array(layer.embedding.embeddings) * np.float32(factor)
    x = graph("Add", graph("Gather", table, ids), _encodings(graph, places, layer))
    return graph("Reshape", x, np.array([-1, layer.width]))


def _encodings(graph, places, layer):
    """Return the encodings (T, D) of places (T,)."""
    if layer.positions == "learned":
        return graph("Gather", _array(layer.add_positions.table), graph.cast(places, "INT64"))
    width = layer.width
    rates = (10000.0 ** (-np.arange(0, width, 2) / width)).astype("float32")
    angles = graph("Mul", graph("Unsqueeze", places, np.array([1])), rates)
    waves = graph("Concat", graph("Sin", angles), graph("Cos", angles), axis=1)
    if layer.positions == "concatenated":
        return waves
    return graph("Gather", waves, np.arange(width).reshape(2, -1).T.reshape(-1), axis=1)


def _before(graph, x, block):
    return _norm(graph, x, block.norm) if block.norm_first else x


def _after(graph, x, result, block):
    x = graph("Add", x, result)
    return x if block.norm_first else _norm(graph, x, block.norm)


def _last_norm(graph, x, side, name):
    """Apply the norm at the end of a side, which has one if its blocks begin with theirs."""
    found = [layer for layer in side.layers if layer.name == name]
    return _norm(graph, x, found[0]) if found else x


def _norm(graph, x, norm):
    weights = _array(norm.gamma), _array(norm.beta)
    return graph("LayerNormalization", x, *weights, axis=-1, epsilon=float(norm.epsilon))


def _feed_forward(graph, x, block):
    widen, narrow = (
        (_array(dense.kernel), _array(dense.bias)) for dense in (block.widen, block.narrow)
    )
    wide = graph("Relu", graph.product(_before(graph, x, block), *widen))
    return _after(graph, x, graph.product(wide, *narrow), block)


def _keys_and_values(block):
    return block.attention.project_key, block.attention.project_value


def _query(graph, x, ids, block, alone=False):
    """Project the queries, divided by √K."""
    attention = block.attention
    factor = 1 / math.sqrt(attention.key_dim)
    return _heads(graph, x, ids, attention.project_query, factor, alone=alone)


def _heads(graph, x, ids, projection, factor=1.0, alone=False, name=None):
    """Project rows (B · T, D) for ids (B, T) to (B, H, T, K).

    With `alone`, T is 1.
    """
    kernel, bias = (_array(each) * np.float32(factor) for each in _weights(projection))
    width, heads, depth = kernel.shape
    rows = graph.product(x, kernel.reshape(width, -1), bias.reshape(-1))
    if alone:
        return graph("Reshape", rows, np.array([-1, heads, 1, depth]))
    shape = graph("Concat", ids, np.array([heads, depth]), axis=0)
    return graph("Transpose", graph("Reshape", rows, shape), perm=[0, 2, 1, 3], name=name)


def _read(graph, query, keys, values, bias, block, alone=False):
    """Attend, and project what all heads read: (B, H, T, K) → (B · T, D)."""
    scores = graph("MatMul", query, graph("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = graph("Add", scores, bias) if bias else scores
    read = graph("MatMul", graph("Softmax", scores, axis=-1), values)
    kernel, bias = map(_array, _weights(block.attention.project_read))
    heads, depth, width = kernel.shape
    read = read if alone else graph("Transpose", read, perm=[0, 2, 1, 3])
    rows = graph("Reshape", read, np.array([-1, heads * depth]))
    return graph.product(rows, kernel.reshape(-1, width), bias)


def _weights(projection):
    return projection.kernel, projection.bias


def _logits_of(decoder):
    """Return kernel (D, V) and bias (V,) of the logits; a tied embedding has no bias."""
    if "logits" in {layer.name for layer in decoder.layers}:
        layer = decoder.get_layer("logits")
        return _array(layer.kernel), _array(layer.bias)
    kernel = _array(decoder.get_layer("target_embedding").embedding.embeddings).T
    return kernel, np.zeros(kernel.shape[1], "float32")


def _choose(graph, x, kernel, bias):
    """Write the logits of rows (N, D), and the likeliest ids with their log probabilities.

    The vocabulary is cut into chunks, and only those with the largest maxima are searched, as in
    `keras_attention.decoding.logits.likeliest`. The ids that may not be written are in the first
    chunk, and its maximum may be one of them: so one more chunk is searched than there are ids.
    The last chunk is filled up with logits of −∞.
    """
    words = len(bias)
    size = max(math.isqrt(words), START + 1)
    chunks = -(-words // size)
    missing = chunks * size - words
    kernel = np.pad(kernel, ((0, 0), (0, missing)))
    bias = np.pad(bias, (0, missing), constant_values=-np.inf)
    logits = graph.product(x, kernel, bias, name="logits")
    scores = graph("LogSoftmax", logits, axis=-1)
    scores = graph("Reshape", scores, np.array([-1, chunks, size]))
    maxima = graph("ReduceMax", scores, axes=[2], keepdims=0)
    wanted = graph("Min", graph("Add", "count", np.array([1])), np.array([chunks]))
    _, best = graph.several("TopK", maxima, wanted, names=["maxima", "best_chunks"], axis=1)

    at_best = graph("Unsqueeze", best, np.array([2]))
    found = graph("GatherND", scores, at_best, batch_dims=1)
    allowed = np.zeros((chunks, size), "float32")
    allowed.reshape(-1)[[PADDING, START]] = -np.inf
    found = graph("Add", found, graph("Gather", allowed, best))
    found = graph("Reshape", found, np.array([0, -1]))
    names = ["log_probabilities", "places"]
    _, places = graph.several("TopK", found, "count", names=names, axis=1)
    chunk = graph("GatherElements", best, graph("Div", places, np.int64(size)), axis=1)
    place = graph("Mod", places, np.int64(size))
    ids = graph("Add", graph("Mul", chunk, np.int64(size)), place)
    # A beam as wide as the vocabulary also finds what the last chunk is filled up with
    graph.cast(graph("Min", ids, np.int64(words - 1)), "INT32", name="ids")


def _array(tensor: Array) -> np.ndarray:
    return np.asarray(ops.convert_to_numpy(tensor), dtype="float32")
