"""What layers say about the shape of their output, for layers that contain them."""

import keras
import numpy as np
import pytest

from keras_attention import layers
from tests.contract import B, S, T

D, E = 8, 6


def decoder(kind):
    return layers.AttentionRNN(kind(keras.layers.LSTMCell(7), layers.AdditiveAttention(5)))


# A layer, and the shapes of its inputs
CASES = {
    "global": (lambda: layers.GlobalSelfAttention(layers.MultiHeadAttention(2, 4)), (B, S, D)),
    "causal": (lambda: layers.CausalSelfAttention(layers.MultiHeadAttention(2, 4)), (B, S, D)),
    "cross": (
        lambda: layers.CrossAttention(layers.MultiHeadAttention(2, 4)),
        (B, T, D),
        (B, S, E),
    ),
    "encoder": (lambda: layers.TransformerEncoderLayer(2, 4, 16), (B, S, D)),
    "decoder": (lambda: layers.TransformerDecoderLayer(2, 4, 16), (B, T, D), (B, S, E)),
    "feed_forward": (lambda: layers.FeedForward(16), (B, S, D)),
    "sinusoids": (layers.SinusoidalPositions, (B, S, D)),
    "positions": (lambda: layers.LearnedPositions(9), (B, S, D)),
    "embedding": (lambda: layers.PositionalEmbedding(11, D), (B, S)),
    "words": (lambda: layers.BagOfWords(11, D), (B, S, T)),
    "times": (lambda: layers.MemoryTimes(9), (B, S, T)),
    "frames": (lambda: layers.OverFrames(keras.layers.Flatten()), (B, S, 3, 4)),
    "glimpse": (lambda: layers.GlimpseNetwork(9, 4), (B, 8, 9, 1), (B, 2)),
    "attend_then_recur": (lambda: decoder(layers.AttendThenRecur), (B, T, E), (B, S, D)),
    "recur_then_attend": (lambda: decoder(layers.RecurThenAttend), (B, T, E), (B, S, D)),
}


@pytest.mark.parametrize(("make", "shapes"), [(m, s) for m, *s in CASES.values()], ids=CASES)
def test_the_shape_is_that_of_the_output(make, shapes):
    layer = make()
    promised = layer.compute_output_shape(*shapes)
    assert promised == tuple(layer(*(np.ones(shape, "float32") for shape in shapes)).shape)


@pytest.mark.parametrize("name", ["global", "encoder", "feed_forward", "sinusoids", "words"])
def test_a_layer_may_be_distributed_over_time(name):
    make, shape = CASES[name]
    inputs = keras.Input((3, *shape[1:]))
    model = keras.Model(inputs, keras.layers.TimeDistributed(make())(inputs))
    x = np.ones((B, 3, *shape[1:]), "float32")
    assert model(x).shape[1:] == model.output_shape[1:]
