"""A part that several layers share is saved once, and shared again when it is loaded."""

import keras
import numpy as np
import pytest

from keras_attention import layers
from tests.contract import B, S, T
from tests.numerics import as_numpy

D = 8


def attention():
    return layers.MultiHeadAttention(2, 4)


def blocks(x, memory):
    part = attention()
    return layers.CrossAttention(part)(layers.CrossAttention(part)(x, memory), memory)


def cells_with_one_attention(x, memory):
    part = attention()
    one, other = (layers.AttendThenRecur(keras.layers.LSTMCell(D), part) for _ in range(2))
    return layers.AttentionRNN(other)(layers.AttentionRNN(one)(x, memory), memory)


def decoders_with_one_cell(x, memory):
    cell = layers.RecurThenAttend(keras.layers.GRUCell(D), layers.AdditiveAttention(5))
    return layers.AttentionRNN(cell)(layers.AttentionRNN(cell)(x, memory), memory)


def luong(x, memory):
    part = attention()
    return layers.LuongAttention(part, D)(layers.LuongAttention(part, D)(x, memory), memory)


def frames(x, memory):
    part = keras.layers.Dense(D)
    return layers.OverFrames(part)(layers.OverFrames(part)(x)) + memory[:, :1]


@pytest.mark.parametrize(
    "build", [blocks, cells_with_one_attention, decoders_with_one_cell, luong, frames]
)
def test_a_shared_part_is_shared_by_a_loaded_model_too(build, tmp_path):
    inputs = keras.Input((T, D)), keras.Input((S, D))
    model = keras.Model(inputs, build(*inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.count_params() == model.count_params()
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(B, length, D)).astype("float32") for length in (T, S)]
    np.testing.assert_array_equal(as_numpy(loaded(arrays)), as_numpy(model(arrays)))
