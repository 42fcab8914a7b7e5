"""The crossentropy of TensorFlow on a CPU, against NumPy in float64."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import kernels
from keras_attention.training.losses import crossentropies
from tests.numerics import as_numpy, assert_close, gradient

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the other backends have no such kernel"
)


@pytest.fixture(autouse=True)
def written_out():
    with kernels.gradients_written_out():
        yield


B, T, V = 3, 4, 7
RNG = np.random.default_rng(0)
LOGITS, ANSWERS = RNG.normal(0, 3, (B, T, V)), RNG.integers(0, V, (B, T), dtype="int32")


def by_definition(smoothing, logits=LOGITS):
    """Return −Σ q ln p (B, T), and p − q (B, T, V), its gradient."""
    logarithms = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    wanted = (1 - smoothing) * np.eye(V)[ANSWERS] + smoothing / V
    return -(wanted * logarithms).sum(-1), np.exp(logarithms) - wanted


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_losses_and_gradients_are_those_of_the_definition(smoothing):
    kernel, upstream = kernels.kernel_with_gradient("crossentropy"), RNG.normal(size=(B, T))
    losses, slopes = by_definition(smoothing)
    logits = ops.convert_to_tensor(LOGITS, "float32")
    assert_close(kernel(ANSWERS, logits, smoothing), losses, 1e-6)
    (found,) = gradient(lambda x: ops.sum(upstream * kernel(ANSWERS, x, smoothing)), LOGITS)
    assert_close(found, upstream[..., None] * slopes, 1e-6)


def test_a_certain_and_wrong_model_pays_in_full():
    logits = np.where(np.arange(V) == (ANSWERS[..., None] + 1) % V, 1e4, -1e4)
    losses, _ = by_definition(0, logits)
    assert losses.min() == 2e4
    kernel = kernels.kernel_with_gradient("crossentropy")
    assert_close(kernel(ANSWERS, ops.convert_to_tensor(logits, "float32"), 0.0), losses, 1e-6)


def test_a_loss_is_as_exact_among_large_logits():
    kernel, (losses, _) = (
        kernels.kernel_with_gradient("crossentropy"),
        by_definition(0, LOGITS.round()),
    )
    logits = ops.convert_to_tensor(LOGITS.round() + 10_000, "float32")
    assert_close(kernel(ANSWERS, logits, 0.0), losses, 1e-6)


def test_a_certain_and_right_model_pays_next_to_nothing():
    logits = np.where(np.arange(V) == ANSWERS[..., None], 20.0, 5.0)
    losses, _ = by_definition(0, logits)
    assert losses.max() < 1e-5
    kernel = kernels.kernel_with_gradient("crossentropy")
    found = as_numpy(kernel(ANSWERS, ops.convert_to_tensor(logits, "float32"), 0.0))
    np.testing.assert_allclose(found, losses, atol=1e-7)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_where_there_is_no_kernel_the_numbers_are_the_same(smoothing, monkeypatch):
    def computed():
        losses = crossentropies(ANSWERS, LOGITS, smoothing)
        (slopes,) = gradient(lambda x: ops.sum(crossentropies(ANSWERS, x, smoothing) ** 2), LOGITS)
        return as_numpy(losses), slopes

    losses, slopes = computed()
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [kind])
    assert kernels.kernel_with_gradient("crossentropy") is None
    for found, expected in zip(computed(), (losses, slopes), strict=True):
        assert_close(found, expected, 1e-6)


def test_nobody_gets_a_kernel_who_did_not_ask():
    with kernels.gradients_written_out(False):
        assert kernels.kernel_with_gradient("crossentropy") is None
        assert kernels.kernel_with_gradient("gru") is None
        assert kernels.kernel_with_gradient("layer_norm") is None


def test_under_a_strategy_there_is_no_kernel():
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        assert kernels.kernel_with_gradient("crossentropy") is None


@pytest.mark.parametrize("wrap", [lambda function: function, tf.function], ids=["eager", "graph"])
def test_a_second_gradient_is_the_first(wrap):
    @wrap
    def gradients(logits):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(logits)
            loss = ops.sum(kernels.kernel_with_gradient("crossentropy")(ANSWERS, logits, 0.0))
        return tape.gradient(loss, logits), tape.gradient(loss, logits)

    for found in gradients(ops.convert_to_tensor(LOGITS, "float32")):
        assert_close(found, by_definition(0)[1], 1e-6)
