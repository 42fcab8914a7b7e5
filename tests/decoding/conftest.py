import numpy as np
import pytest

from keras_attention import models


@pytest.fixture(
    scope="package", params=[pytest.param("rnn", marks=pytest.mark.thorough), "transformer"]
)
def model(request):
    """Build a model of a sure opinion, of whose sentences some end, at different places."""
    if request.param == "rnn":
        model, seed = models.build_rnn_attention(23, 7, units=16), 1
    else:
        options = {"num_layers": 1, "num_heads": 2, "feed_forward_dim": 19}
        model, seed = models.build_transformer(23, 7, units=16, **options), 39
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=weight.shape) for weight in model.get_weights()])
    return model


@pytest.fixture(scope="package")
def context():
    """Return 5 sentences of different lengths, 0 behind their ends."""
    ids = np.random.default_rng(0).integers(4, 23, (5, 7))
    ids[1, 5:] = ids[3, 2:] = 0
    return ids
