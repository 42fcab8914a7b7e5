"""The RNN with attention: the tutorial's numbers, and that it learns."""

import math

import keras
import numpy as np
import pytest

from keras_attention import models
from keras_attention.training import MaskedCrossentropy
from tests.models.training import SOME_STEPS
from tests.models.translators import compile_model, logits_of
from tests.numerics import as_numpy


def test_has_the_tutorial_s_number_of_parameters():
    assert models.build_rnn_attention().count_params() == 5_292_936


def test_an_untrained_model_starts_at_ln_v():
    keras.utils.set_random_seed(0)
    model = models.build_rnn_attention()
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(1, 5000, (64, 11)) for name in ("context", "target")}
    loss = MaskedCrossentropy()(rng.integers(1, 5000, (64, 11)), logits_of(model, inputs))
    assert float(as_numpy(loss)) == pytest.approx(math.log(5000), abs=0.02)


@pytest.mark.thorough
def test_learns_to_copy_a_short_sentence():
    keras.utils.set_random_seed(3)
    model = models.build_rnn_attention(11, 11, units=16)
    compile_model(model, keras.optimizers.Adam(0.02), SOME_STEPS)
    rng = np.random.default_rng(0)
    labels = rng.integers(4, 11, (512, 3)).astype("int32")
    target = np.concatenate([np.full((512, 1), 2, "int32"), labels[:, :-1]], axis=1)
    inputs = {"context": labels, "target": target}
    before = (logits_of(model, inputs).argmax(-1) == labels).mean()
    model.fit(inputs, labels, batch_size=64, epochs=6, verbose=0)
    after = (logits_of(model, inputs).argmax(-1) == labels).mean()
    assert before < 0.25
    assert after > 0.6


def test_bad_arguments_say_what_was_received():
    with pytest.raises(
        ValueError, match=r"attention must be one of multi_head, global, .*, got 'dot'"
    ):
        models.build_rnn_attention(attention="dot")
    with pytest.raises(ValueError, match="units must be positive, got 0"):
        models.build_rnn_attention(units=0)
