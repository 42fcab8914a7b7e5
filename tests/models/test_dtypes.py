"""Every builder takes a dtype for all its layers, and leaves the policy of the process alone."""

from functools import partial

import keras
import numpy as np
import pytest

from keras_attention import models
from tests.numerics import as_numpy

SMALL = {"units": 8, "context_vocabulary_size": 13, "target_vocabulary_size": 17}
LENGTH = 5
GLIMPSES = {"labels": 3, "units": 8, "size": 4}
BUILD = {
    "bilstm_attention": partial(models.build_bilstm_attention, **SMALL),
    "captioner": partial(
        models.build_captioner, (5, 5, 1), target_vocabulary_size=17, units=8, filters=(2,)
    ),
    "character_lstm": partial(models.build_character_model, 13, "lstm_attention", 8, num_layers=1),
    "character_transformer": partial(
        models.build_character_model, 13, "transformer", 8, num_layers=1
    ),
    "memory_network": partial(models.build_memory_network, 13, 8, hops=2, memory_size=5),
    "neural_turing_machine": partial(models.build_neural_turing_machine, units=8, rows=5, width=3),
    "recurrent_attention": partial(models.build_recurrent_attention, (16, 16, 1), **GLIMPSES),
    "deep_recurrent_attention": partial(
        models.build_deep_recurrent_attention, (16, 16, 1), **GLIMPSES
    ),
    "rnn_attention": partial(models.build_rnn_attention, **SMALL),
    "seq2seq": partial(models.build_seq2seq, **SMALL),
    "transformer": partial(
        models.build_transformer, **SMALL, num_layers=1, num_heads=2, positions="learned"
    ),
}
EVERYDAY = ("rnn_attention", "transformer", "neural_turing_machine")


def policies_in(config):
    """Yield the names of the dtype policies in a serialized model, at whatever depth."""
    if isinstance(config, dict):
        if config.get("class_name") == "DTypePolicy":
            yield config["config"]["name"]
        is_sequence = config.get("class_name") == "Sequential"  # which computes nothing itself
        yield from policies_in(config["config"]["layers"] if is_sequence else [*config.values()])
    elif isinstance(config, (list, tuple)):
        for value in config:
            yield from policies_in(value)


every_builder = pytest.mark.parametrize(
    "build",
    [
        pytest.param(build, marks=[] if name in EVERYDAY else pytest.mark.thorough, id=name)
        for name, build in BUILD.items()
    ],
)


def outputs_of(model, batch=2, length=LENGTH):
    """Call a model with ones; return its outputs, a flat list."""
    fed = {}
    for each in model.inputs:
        shape = (batch, *(length if size is None else size for size in each.shape[1:]))
        fed[each.name] = np.ones(shape, each.dtype)
    alone = None if len(fed) > 1 else next(iter(fed.values()))
    return keras.tree.flatten(model(fed if alone is None else alone))


@every_builder
def test_all_layers_have_the_dtype_that_was_asked_for(build):
    for dtype in ("mixed_bfloat16", None):
        model = build(dtype=dtype)
        found = set(policies_in(keras.saving.serialize_keras_object(model)))
        assert found == {dtype or "float32"}
        assert {weight.dtype for weight in model.weights} == {"float32"}
        assert keras.config.dtype_policy().name == "float32"


# Keras tries every layer, and warns of those without weights.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method implemented")
@every_builder
def test_a_quantized_model_can_be_loaded(build, tmp_path):
    model = build()
    model.quantize("int8")
    expected = outputs_of(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert "int8" in {str(weight.dtype) for weight in loaded.weights}
    for found, wanted in zip(outputs_of(loaded), expected, strict=True):
        np.testing.assert_array_equal(as_numpy(found), as_numpy(wanted))


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX computes in 32 bits by default")
@every_builder
def test_a_model_of_float64_gives_float64(build):
    outputs = outputs_of(build(dtype="float64"))
    assert {keras.backend.standardize_dtype(each.dtype) for each in outputs} == {"float64"}
