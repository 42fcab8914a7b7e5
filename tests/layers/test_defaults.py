"""The defaults of the layers, which a program that was written yesterday relies on.

Most are the papers': Luong et al. (2015) look D = 10 words to each side, the memory of Graves et
al. (2014) has 128 rows of width 20 and its controller 100 units, Hopfield's β is 1.
"""

import inspect

import pytest

from keras_attention import layers
from keras_attention.layers import scores

DEFAULTS = {
    layers.ContextSensitiveMemory: {
        "score": "scaled_dot",
        "temperature": 1.0,
        "key_dim": None,
        "value_dim": None,
    },
    layers.MonotonicLocalAttention: {"half_width": 10, "score": "scaled_dot"},
    layers.PredictiveLocalAttention: {
        "half_width": 10,
        "score": "scaled_dot",
        "units": None,
        "favour": "weights",
    },
    layers.HardAttention: {
        "score": "scaled_dot",
        "straight_through": False,
        "seed": None,
    },
    layers.Hopfield: {"strength": 1.0, "steps": 3},
    layers.NeuralCoverageAttention: {"coverage_units": 8},
    layers.LocationAwareAttention: {"channels": 8, "taps": 7},
    layers.RecurrentLocationAttention: {"channels": 8, "taps": 7},
    layers.Pooling: {"mode": "last"},
    layers.MultiHeadAttention: {"value_dim": None, "dropout": 0.0, "use_bias": True},
    layers.DenseMultiHeadAttention: {"scale": "head", "use_bias": True},
    layers.GlobalSelfAttention: {"norm_first": False},
    layers.CausalSelfAttention: {"norm_first": False},
    layers.CrossAttention: {"norm_first": False},
    layers.FeedForward: {"dropout": 0.0, "norm_first": False},
    layers.TransformerEncoderLayer: {"dropout": 0.0, "norm_first": False},
    layers.TransformerDecoderLayer: {"dropout": 0.0, "norm_first": False},
    layers.SinusoidalPositions: {"layout": "interleaved"},
    layers.PositionalEmbedding: {
        "positions": "interleaved",
        "max_positions": None,
        "scale": True,
        "dropout": 0.0,
    },
    layers.GlimpseNetwork: {"scales": 1, "hidden": None, "merge": "add"},
    layers.GlimpseRNN: {"locator": None, "policy": "learned", "deviation": 0.15, "seed": None},
    layers.NTMCell: {
        "units": 100,
        "rows": 128,
        "width": 20,
        "read_heads": 1,
        "write_heads": 1,
        "shifts": 3,
        "controller": "feed_forward",
        "learned_memory": False,
        "start": "random",
        "focus": 1.0,
        "gate_bias": 0.0,
        "stay_bias": 0.0,
        "sharp_bias": 0.0,
        "return_attention_scores": False,
    },
    scores.CosineScore: {"strength": 1.0},
    scores.LocationScore: {"longest": 64},
}


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.__name__)
def test_a_default_stays(kind):
    parameters = inspect.signature(kind).parameters.values()
    found = {p.name: p.default for p in parameters if p.default is not p.empty}
    assert found == DEFAULTS[kind]
