"""The Transformer: what its positions tell, how many parameters it has, and what it refuses."""

import math

import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.layers.positions import POSITIONS
from keras_attention.training import MaskedCrossentropy
from tests.models.transformers import (
    CONTEXT,
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

# Positions


@pytest.mark.parametrize(
    "positions",
    ["concatenated", *(pytest.param(name, marks=pytest.mark.thorough) for name in POSITIONS[1:])],
)
def test_the_order_of_the_context_matters(positions):
    options = {"positions": positions, "max_positions": 11, "num_layers": 1}
    model, inputs = stirred(**options), sentences()
    assert abs(called(model, turned(inputs)) - called(model, inputs))[0].max() > 1e-3


def test_without_positions_the_order_of_the_context_would_not_matter():
    model, inputs = build(positions="learned", max_positions=11, num_layers=1), sentences()
    embedding = model.get_layer("encoder").get_layer("context_embedding")
    embedding.add_positions.set_weights([np.zeros((11, UNITS))])
    logits = called(model, inputs)
    np.testing.assert_allclose(called(model, turned(inputs)), logits, rtol=0, atol=1e-5)


def turned(inputs):
    """Turn the first context around, which has four tokens."""
    context = inputs["context"].copy()
    context[0, :4] = context[0, 3::-1]
    return {**inputs, "context": context}


# Sizes


def test_encoder_and_decoder_may_have_different_numbers_of_layers():
    model = build(num_layers=3, num_decoder_layers=1)
    weights = models.attention(model).output
    assert len(weights["encoder_self_attention"]) == 3
    assert len(weights["cross_attention"]) == len(weights["decoder_self_attention"]) == 1
    assert (
        build(num_layers=1).count_params()
        == build(num_layers=1, num_decoder_layers=1).count_params()
    )
    with pytest.raises(ValueError, match="num_decoder_layers must be positive, got 0"):
        build(num_decoder_layers=0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 1, "key_dim": 17, "positions": "learned", "max_positions": 37},
        {"num_layers": 1, "key_dim": 5, "norm_first": True, "tied": True},
    ],
    ids=str,
)
def test_the_number_of_parameters_is_that_of_the_formula(options):
    norm, heads = 2 * UNITS, H * options.get("key_dim", DEPTH)
    attention = 3 * (UNITS * heads + heads) + heads * UNITS + UNITS + norm
    feed_forward = UNITS * HIDDEN + HIDDEN + HIDDEN * UNITS + UNITS + norm
    expected = (CONTEXT + TARGET) * UNITS
    expected += options.get("num_layers", LAYERS) * (3 * attention + 2 * feed_forward)
    expected += 2 * options.get("max_positions", 0) * UNITS
    if not options.get("tied"):
        expected += UNITS * TARGET + TARGET
    if options.get("norm_first"):
        expected += 2 * norm
    assert stirred(**options).count_params() == expected


def test_has_as_many_parameters_as_the_tutorial_s_model():
    model = models.build_transformer(7765, 7010, key_dim=128)
    assert model.get_layer("encoder").count_params() == 3_632_768
    assert model.count_params() == 10_184_162


@each_order
def test_an_untrained_model_knows_nothing(norm_first):
    # A normed vector, of length √D, and Glorot's kernel give logits of variance 2 D / (D + V).
    loss, words = initial_loss(norm_first=norm_first)
    assert loss == pytest.approx(math.log(words) + UNITS / (UNITS + words), abs=0.05)


@pytest.mark.thorough
def test_an_untrained_model_that_is_tied_starts_higher():
    # Rows of length 1 give logits of variance 1, and the word that was read a larger one still.
    loss, words = initial_loss(tied=True)
    assert loss == pytest.approx(math.log(words) + 1 / 2, abs=0.2)


def initial_loss(**options):
    """Return the loss of an untrained model for labels that are drawn, and the number of words."""
    words, rng = 1009, np.random.default_rng(3)
    context = rng.integers(4, CONTEXT, (101, S), "int32")
    target, labels = rng.integers(1, words, (2, 101, T), "int32")
    model = build(target_vocabulary_size=words, num_layers=1, **options)
    logits = called(model, {"context": context, "target": target})
    return float(MaskedCrossentropy()(labels, logits)), words


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 3}, "multiple of num_heads.*got 22 units for 3 heads"),
        ({"units": 13, "num_heads": 1}, "width must be even and positive.*got 13"),
        ({"num_layers": 0}, "num_layers must be positive, got 0"),
        ({"num_heads": 0}, "num_heads must be positive, got 0"),
        ({"units": 0}, "units must be positive, got 0"),
        ({"feed_forward_dim": -1}, "feed_forward_dim must be positive, got -1"),
        ({"context_vocabulary_size": 0}, "context_vocabulary_size must be positive, got 0"),
        ({"target_vocabulary_size": 0}, "target_vocabulary_size must be positive, got 0"),
        ({"max_positions": 0}, "max_positions must be positive, got 0"),
        ({"key_dim": 0}, "positive integers, got 2, 0 and 0"),
        ({"key_dim": -3}, "positive integers, got 2, -3 and -3"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1, got -0.1"),
        ({"positions": "sideways"}, "one of interleaved, concatenated, learned, got 'sideways'"),
    ],
    ids=str,
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


@pytest.mark.parametrize("side", ["context", "target"])
def test_more_tokens_than_learned_positions(side):
    model, inputs = stirred(positions="learned", max_positions=11, num_layers=1), sentences()
    long = {**inputs, side: np.ones((B, 12), "int32")}
    with pytest.raises(ValueError, match="11 learned positions, got a sentence of 12 tokens"):
        model(long)


def test_more_slots_than_learned_positions():
    model = stirred(positions="learned", max_positions=11, num_layers=1)
    with pytest.raises(ValueError, match=r"11 positions.* got 12 slots"):
        models.encode(model, slots=12)
    with pytest.raises(ValueError, match="slots must be at least 1, got 0"):
        models.encode(model, slots=0)
    models.encode(model, slots=11)


# What it shows


def test_the_weights_of_the_first_layer_come_first():
    model, inputs = stirred(), sentences()
    seen = called(models.attention(model), inputs)
    encoder, decoder = model.get_layer("encoder"), model.get_layer("decoder")
    context, target = (ops.convert_to_tensor(inputs[name]) for name in ("context", "target"))
    x = encoder.get_layer("context_embedding")(context)
    options = {"attention_mask": ops.not_equal(context, 0), "return_attention_scores": True}
    _, first = encoder.get_layer("encoder_layer_1")(x, **options)
    np.testing.assert_allclose(seen["encoder_self_attention"][0], as_numpy(first), atol=1e-6)
    x = decoder.get_layer("target_embedding")(target)
    block = decoder.get_layer("decoder_layer_1").self_attention
    _, first = block(x, return_attention_scores=True)
    np.testing.assert_allclose(seen["decoder_self_attention"][0], as_numpy(first), atol=1e-6)
