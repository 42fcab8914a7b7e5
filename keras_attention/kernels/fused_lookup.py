"""A lookup as one kernel of a GPU: the weights of a head never leave its registers.

read = softmax(query keysᵀ / √K) values

For a sentence of 64 tokens and heads of depth 64 the scores are as large as the queries. A training
step that stores them reads or writes scores, weights and their gradients a dozen times, and that
takes longer than the products. Here one program of the GPU has one head of one sentence. It reads
queries, keys and values, and writes what was read; for the gradients it computes the weights a
second time. This is the idea of FlashAttention (Dao et al., 2022), for sentences so short that all
scores of a head fit at once.

The kernels are written in Pallas, JAX's language for them. On a CPU Pallas interprets them.

References:
    Dao et al. (2022), FlashAttention: fast and memory-efficient exact attention with IO-awareness,
    arXiv:2205.14135.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas
from jax.experimental.pallas import triton

from keras_attention.ops.masks import LOWEST
from keras_attention.types import Array

_SMALLEST = 16  # rows and columns of a product of matrices
_FEW = 64  # tokens for which 128 threads are enough


def fused_lookup(
    query: Array,
    keys: Array,
    values: Array,
    mask: Array | None = None,
    factors: Array | None = None,
) -> Array:
    """Read a memory softly by the scores query·key / √K, as `scaled_dot` and `lookup` do.

    Args:
        query: (B, T, H, K), T at most 128.
        keys: (B, S, H, K), S at most 128.
        values: (B, S, H, V).
        mask: booleans (B, S) or (B, T, S), or (1, T, S) for all sentences; True where a query may
            attend. None: everywhere.
        factors: (B, T, H, S), with which the weights are multiplied before they read: those of
            dropout. They get no gradient. None: all 1.

    Returns:
        The read (B, T, H, V). A query with nothing to attend to reads 0.
    """
    if mask is None:
        mask = jnp.ones((1, 1, keys.shape[1]), "bool")
    mask = jnp.expand_dims(mask, 1) if mask.ndim == 2 else mask
    mask = jnp.broadcast_to(mask, (*mask.shape[:2], keys.shape[1]))
    return _lookup((query, keys, values), factors, mask.astype("int8"))


@jax.custom_vjp
def _lookup(inputs, factors, mask):
    query, _, values = inputs
    read = jax.ShapeDtypeStruct((*query.shape[:3], values.shape[3]), query.dtype)
    return _launch(_read, (*inputs, factors), mask, [read])[0]


def _forward(inputs, factors, mask):
    return _lookup(inputs, factors, mask), (inputs, factors, mask)


def _backward(stored, gradient):
    inputs, factors, mask = stored
    gradients = _launch(_gradients, (*inputs, factors, gradient), mask, inputs)
    return tuple(gradients), None, None


_lookup.defvjp(_forward, _backward)


def _read(query, keys, values, factors, mask, depth):
    """Return what the queries (T, K) of one head read."""
    weights = _weights(query, keys, mask, depth)
    return [_product(_multiplied(weights, factors).astype(values.dtype), values)]


def _gradients(query, keys, values, factors, gradient, mask, depth):
    """Return the gradients of query, keys and values, given that of the read, (T, V)."""
    weights = _weights(query, keys, mask, depth)
    of_weights = _multiplied(_product(gradient, values, (1, 1)), factors)
    of_scores = weights * (of_weights - jnp.sum(weights * of_weights, axis=1, keepdims=True))
    of_dots = (of_scores / math.sqrt(depth)).astype(query.dtype)
    weights = _multiplied(weights, factors).astype(gradient.dtype)
    return [
        _product(of_dots, keys),
        _product(of_dots, query, (0, 0)),
        _product(weights, gradient, (0, 0)),
    ]


def _weights(query, keys, mask, depth):
    """Return the weights (T, S), float32, 0 where the mask is."""
    scores = _product(query, keys, (1, 1)) / math.sqrt(depth)
    scores = jnp.where(mask, scores, LOWEST)
    shares = jnp.where(mask, jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True)), 0.0)
    total = jnp.sum(shares, axis=1, keepdims=True)
    return shares / jnp.where(total > 0, total, 1.0)


def _multiplied(weights, factors):
    return weights if factors is None else weights * factors


def _product(left, right, axes=(1, 0)):
    """Multiply two matrices, and sum over these axes, in float32."""
    summed = tuple((axis,) for axis in axes)
    return lax.dot_general(left, right, (summed, ((), ())), preferred_element_type="float32")


def _launch(compute, inputs, mask, outputs):
    """Compute with one head of one sentence at a time.

    Args:
        compute: a function of matrices (length, depth), one for each input, of the mask (T, S), and
            of the depth K of the first input.
        inputs: arrays (B, length, H, depth), or None.
        mask: (B or 1, T or 1, S).
        outputs: what has the shapes and dtypes of the arrays that `compute` returns.
    """
    batch, length, heads, depth = inputs[0].shape
    tile = _tile(length), _tile(mask.shape[2])
    arrays = [each for each in inputs if each is not None]

    def kernel(*references):
        matrices = iter(map(_load, references, [*arrays, mask]))
        given = [None if each is None else next(matrices) for each in inputs]
        is_seen = jnp.broadcast_to(next(matrices) != 0, tile)
        results = compute(*given, is_seen, depth)
        for result, reference, array in zip(
            results, references[-len(outputs) :], outputs, strict=True
        ):
            inside = _inside(reference, array)
            triton.store(reference, result.astype(array.dtype), mask=inside)

    return pallas.pallas_call(
        kernel,
        out_shape=[jax.ShapeDtypeStruct(each.shape, each.dtype) for each in outputs],
        grid=(batch, heads),
        in_specs=[*map(_block, arrays), _block_of_mask(mask)],
        out_specs=[*map(_block, outputs)],
        compiler_params=triton.CompilerParams(num_warps=4 if max(tile) <= _FEW else 8),
        interpret=jax.default_backend() == "cpu",
        name=compute.__name__.strip("_"),
    )(*arrays, mask)


def _tile(length):
    """Return the power of two in which a program computes so many rows or columns."""
    return max(_SMALLEST, 1 << (length - 1).bit_length())


def _block(array):
    """Say which part of an array (B, length, H, depth) a program has: a head of a sentence."""
    shape = None, _tile(array.shape[1]), None, _tile(array.shape[3])
    return pallas.BlockSpec(shape, lambda sentence, head: (sentence, 0, head, 0))


def _block_of_mask(mask):
    """Say which part of a mask (B or 1, T or 1, S) a program has."""
    sentences, queries, keys = mask.shape
    shape = None, 1 if queries == 1 else _tile(queries), _tile(keys)
    return pallas.BlockSpec(shape, lambda sentence, _: (sentence if sentences > 1 else 0, 0, 0))


def _load(reference, array):
    """Read a program's part of an array, as a matrix; what is outside of the array is 0."""
    return triton.load(reference, mask=_inside(reference, array), other=0)


def _inside(reference, array):
    """Return which rows and columns of a program's part are inside the array."""
    rows, columns = (jnp.arange(size) for size in reference.shape)
    return (rows < array.shape[1])[:, None] & (columns < array.shape[-1])[None, :]
