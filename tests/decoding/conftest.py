import keras
import numpy as np
import pytest

from keras_attention import models


@pytest.fixture(scope="package", params=["rnn", "transformer"])
def model(request):
    keras.utils.set_random_seed(0)
    if request.param == "rnn":
        return models.build_rnn_attention(23, 29, units=16)
    return models.build_transformer(23, 29, units=16, num_layers=2, num_heads=2, feed_forward=19)


@pytest.fixture(scope="package")
def context():
    """Return 5 sentences of different lengths, 0 behind their ends."""
    ids = np.random.default_rng(0).integers(4, 23, (5, 7))
    ids[1, 5:] = ids[3, 2:] = 0
    return ids
