"""Sequence to sequence without attention: all that the decoder knows is one vector."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from tests.models.translators import CONTEXT, SIZES, TARGET, B, sentences
from tests.numerics import as_numpy

UNITS = SIZES["units"]


def test_has_as_many_parameters_as_two_lstms_and_what_is_around_them():
    lstm = 4 * (2 * UNITS * UNITS + UNITS)
    around = CONTEXT * UNITS + TARGET * UNITS + UNITS * TARGET + TARGET
    assert models.build_seq2seq(**SIZES).count_params() == 2 * lstm + around


@pytest.mark.parametrize("pooling", ["last", "max", "mean"])
def test_the_decoder_starts_from_the_pooled_annotations(pooling):
    model = models.build_seq2seq(pooling=pooling, **SIZES)
    context = sentences()["context"]
    encoder = models.encode(model)
    rnn, embedding = encoder.get_layer("context_rnn"), encoder.get_layer("context_embedding")
    hidden, cell = map(as_numpy, encoder(ops.convert_to_tensor(context))["state"])
    for row in range(B):
        length = (context[row] != 0).sum()
        x = embedding(ops.convert_to_tensor(context[row : row + 1, :length]))
        outputs, _, last_cell = map(as_numpy, rnn(x))
        pooled = {"last": outputs[0, -1], "max": outputs[0].max(0), "mean": outputs[0].mean(0)}
        np.testing.assert_allclose(hidden[row], pooled[pooling], atol=1e-6)
        expected = last_cell[0] if pooling == "last" else np.zeros(UNITS)
        np.testing.assert_allclose(cell[row], expected, atol=1e-6)


def test_shows_the_same_shares_for_every_word():
    model = models.build_seq2seq(pooling="last", **SIZES)
    inputs = sentences()
    shares = as_numpy(models.attention(model)(inputs)["cross_attention"][0])
    last = (inputs["context"] != 0).sum(axis=1) - 1
    for row in range(B):
        assert (shares[row].argmax(-1) == last[row]).all()
        np.testing.assert_array_equal(shares[row].max(-1), 1)


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match="mode must be one of last, max, mean, got 'sum'"):
        models.build_seq2seq(pooling="sum")
    with pytest.raises(ValueError, match="units must be positive, got 0"):
        models.build_seq2seq(units=0)
    assert isinstance(models.build_seq2seq(**SIZES), keras.Model)
