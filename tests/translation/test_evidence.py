import math

import keras
import numpy as np
import pytest

from keras_attention import models
from keras_attention.translation import evidence as module
from keras_attention.translation.evidence import Evidence
from keras_attention.translation.inside import Inside
from tests.attributions.sentences import CONTEXT_IDS, TARGET_IDS, log_probabilities
from tests.models.transformers import CONTEXT, TARGET, stirred

HAS_PROGRAMS = pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras compiles nothing on PyTorch"
)


def asked(model, monkeypatch, eager):
    """Return what a model answers, with this many questions before a program, and its `Evidence`.

    The second context is shorter.
    """
    monkeypatch.setattr(module, "EAGER", {keras.backend.backend(): eager})
    evidence = Evidence(model)
    contexts = [np.array(CONTEXT_IDS), np.array(CONTEXT_IDS[:-1])]
    found = [evidence.log_probabilities(contexts, np.array(TARGET_IDS))]
    inside = Inside(model, np.array(CONTEXT_IDS), np.array(TARGET_IDS))
    if inside.decoder_layers:
        found += evidence.relevance(inside)
    return found, evidence


def learned():
    """Build a Transformer that takes fewer tokens than the bucket has."""
    keras.utils.set_random_seed(1)
    return models.build_transformer(
        CONTEXT, TARGET, num_layers=1, units=8, num_heads=2, feed_forward_dim=11,
        positions="learned", max_positions=6,
    )  # fmt: skip


def recurrent():
    keras.utils.set_random_seed(1)
    return models.build_rnn_attention(CONTEXT, TARGET, units=5)


@HAS_PROGRAMS
@pytest.mark.parametrize("build", [stirred, learned, recurrent])
def test_a_program_that_pads_answers_as_the_model_does(monkeypatch, build):
    model = build()
    expected, evidence = asked(model, monkeypatch, math.inf)
    assert evidence.programs == 0
    found, evidence = asked(model, monkeypatch, 0)
    assert evidence.programs == (1 if build is recurrent else 2)
    for array, other in zip(found, expected, strict=True):
        assert array.shape == other.shape
        np.testing.assert_allclose(array, other, atol=1e-5)
    np.testing.assert_allclose(found[0][0], log_probabilities(model), atol=1e-5)


@HAS_PROGRAMS
def test_a_bucket_gets_its_program_once_it_pays(monkeypatch):
    monkeypatch.setattr(module, "EAGER", {keras.backend.backend(): 2})
    evidence = Evidence(recurrent())
    target, programs = np.array(TARGET_IDS), []
    for context in [CONTEXT_IDS] * 4 + [CONTEXT_IDS * 3] * 3:
        evidence.log_probabilities([np.array(context)], target)
        programs.append(evidence.programs)
    assert programs == [0, 0, 1, 1, 1, 1, 2]
