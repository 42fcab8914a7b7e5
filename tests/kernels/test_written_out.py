"""Steps of training with gradients that are written out learn what the others do."""

import keras
import numpy as np
import pytest

from keras_attention import models
from keras_attention.kernels import choice
from keras_attention.training import MaskedCrossentropy

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the other backends have no such kernels"
)
WORDS = 11
BUILDERS = {
    "rnn": (models.build_rnn_attention, {"units": 8}),
    "pre-norm": (
        models.build_transformer,
        {"units": 8, "num_layers": 2, "num_heads": 2, "feed_forward_dim": 12, "norm_first": True},
    ),
}


def trained(name):
    """Return what a model, its steps traced for all shapes, learns from batches of two shapes."""
    keras.utils.set_random_seed(3)
    build, sizes = BUILDERS[name]
    model = build(WORDS, WORDS, **sizes, **({} if name == "rnn" else {"dropout": 0.0}))
    # Not Adam, which would make large steps of rounding where a gradient is 0
    loss = MaskedCrossentropy(label_smoothing=0.1)
    model.compile(keras.optimizers.SGD(0.3), loss=loss, jit_compile=False)
    rng, losses = np.random.default_rng(5), []
    for rows, tokens in ((5, 4), (3, 6), (5, 4)):
        context, target, labels = rng.integers(1, WORDS, (3, rows, tokens), dtype="int32")
        context[1, 2:] = target[2, 3:] = labels[2, 3:] = 0
        losses.append(model.train_on_batch({"context": context, "target": target}, labels))
    return losses, model.get_weights()


@pytest.mark.parametrize("name", BUILDERS)
def test_they_learn_the_same(name, monkeypatch):
    losses, weights = trained(name)
    asked = []
    monkeypatch.setattr(choice, "_writes_out", lambda: bool(asked.append(1)))
    expected = trained(name)
    assert asked  # so the first model had kernels
    np.testing.assert_allclose(losses, expected[0], rtol=1e-6)
    for one, other in zip(weights, expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
