"""A masked softmax whose gradient is written out gives what the one of `ops` gives."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.kernels import gradients_written_out
from keras_attention.layers import MultiHeadAttention
from keras_attention.ops import masked_softmax
from tests.numerics import as_numpy, assert_close, gradient, gradients

if keras.backend.backend() != "tensorflow":
    pytest.skip("the other backends have no such kernel", allow_module_level=True)

from keras_attention.kernels import masked_softmax as kernels

B, H, T, S = 3, 2, 5, 7
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(B, H, T, S)).astype("float32")
UPSTREAM = RNG.normal(size=(B, H, T, S)).astype("float32")
MASK = np.arange(S) < np.array([[[[S]]], [[[3]]], [[[0]]]])
each_mask = pytest.mark.parametrize("mask", [None, MASK], ids=["everywhere", "a mask"])


def oracle(mask):
    """Weights and the gradient of the scores, in float64."""
    shares = np.exp(SCORES.astype("float64"))
    shares = shares if mask is None else shares * mask
    total = shares.sum(-1, keepdims=True)
    weights = shares / np.where(total > 0, total, 1)
    return weights, weights * (UPSTREAM - (weights * UPSTREAM).sum(-1, keepdims=True))


@each_mask
def test_weights_and_gradients_equal_the_oracle(mask):
    weights, slope = oracle(mask)
    assert_close(kernels.masked_softmax(SCORES, mask), weights)
    (found,) = gradient(lambda s: ops.sum(kernels.masked_softmax(s, mask) * UPSTREAM), SCORES)
    assert_close(found, slope)


def test_padding_has_no_weight_and_a_row_of_padding_none():
    weights = as_numpy(kernels.masked_softmax(SCORES, MASK))
    assert not weights[1, ..., 3:].any()
    assert not weights[2].any()
    np.testing.assert_allclose(weights[:2].sum(-1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")],
)
def test_half_precision_becomes_float32(dtype, expected):
    scores = ops.cast(SCORES, dtype)
    weights = kernels.masked_softmax(scores, MASK)
    assert keras.backend.standardize_dtype(weights.dtype) == expected
    assert_close(weights, as_numpy(masked_softmax(scores, MASK)))


@pytest.mark.parametrize("score", [-np.inf, np.inf, np.nan])
def test_scores_of_padding_may_be_anything(score):
    scores = np.where(MASK, SCORES, score).astype("float32")
    weights, slope = oracle(MASK)
    assert_close(kernels.masked_softmax(scores, MASK), weights)
    (found,) = gradient(lambda s: ops.sum(kernels.masked_softmax(s, MASK) * UPSTREAM), scores)
    assert_close(found, slope)


@each_mask
def test_a_layer_learns_the_same_with_it(mask, monkeypatch):
    layer = MultiHeadAttention(num_heads=H, key_dim=4)
    values = RNG.normal(size=(B, S, 6)).astype("float32")
    queries = RNG.normal(size=(B, T, 6)).astype("float32")
    layer.build(queries.shape, values.shape)
    mask = None if mask is None else mask[:, 0, 0]

    def learned():
        return gradients(
            layer,
            lambda q, v: ops.sum(ops.square(layer(q, v, attention_mask=mask))),
            queries,
            values,
        )

    expected, expected_weights = learned()
    calls, kernel = [], kernels.masked_softmax
    monkeypatch.setattr(kernels, "masked_softmax", lambda *a: calls.append(a) or kernel(*a))
    with gradients_written_out():
        found, weights = learned()
    assert calls
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, tolerance=1e-5)
    for path, other in expected_weights.items():
        assert_close(weights[path], other, tolerance=1e-5)
