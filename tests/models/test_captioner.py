"""Frames to words: what every model of the package promises, for frames in place of ids."""

import functools
import json
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import decoding, models
from keras_attention.layers import OverFrames
from keras_attention.models.captioner import ATTENTIONS
from tests.models.training import check_a_step_changes_every_weight, each_way
from tests.models.translators import by_name, compile_model
from tests.numerics import as_numpy

B, S, T, HEIGHT, WIDTH, CHANNELS, FEATURES, UNITS, VOCABULARY = 3, 7, 5, 11, 13, 2, 17, 16, 29
SHAPES = {"pictures": (HEIGHT, WIDTH, CHANNELS), "features": (FEATURES,)}
SIZES = {"target_vocabulary_size": VOCABULARY, "units": UNITS, "filters": (3, 5)}


each_attention = pytest.mark.parametrize(
    "attention",
    ["global", *(pytest.param(name, marks=pytest.mark.thorough) for name in ATTENTIONS[1:])],
)


@pytest.fixture(params=["pictures", pytest.param("features", marks=pytest.mark.thorough)])
def frame_shape(request):
    return SHAPES[request.param]


def build(frame_shape, **options):
    keras.utils.set_random_seed(1)
    return models.build_captioner(frame_shape, **{**SIZES, **options})


@functools.cache
def model_of(frame_shape, attention="global"):
    """Build a model, which no test changes."""
    return build(frame_shape, attention=attention)


def clips_of(frame_shape, seed=0):
    rng = np.random.default_rng(seed)
    frames = rng.uniform(-1, 1, (B, S, *frame_shape)).astype("float32")
    target = rng.integers(4, VOCABULARY, (B, T)).astype("int32")
    frames[0, 4:] = 0
    target[1, 3:] = 0
    return {"context": frames, "target": target}


def logits_of(model, inputs):
    return as_numpy(model({name: ops.convert_to_tensor(each) for name, each in inputs.items()}))


def test_logits_and_weights_have_the_documented_shapes(frame_shape):
    model, inputs = model_of(frame_shape), clips_of(frame_shape)
    outputs = by_name(models.attention(model)(inputs))
    assert outputs["logits"].shape == (B, T, VOCABULARY)
    np.testing.assert_allclose(outputs["logits"], logits_of(model, inputs), atol=1e-6)
    assert outputs["cross_attention_1"].shape == (B, T, S)
    np.testing.assert_allclose(outputs["cross_attention_1"].sum(-1), 1, rtol=1e-5)
    np.testing.assert_array_equal(outputs["cross_attention_1"][0, :, 4:], 0)


@each_attention
def test_padding_frames_change_nothing(frame_shape, attention):
    model, inputs = model_of(frame_shape, attention), clips_of(frame_shape)
    padded = np.pad(inputs["context"], [(0, 0), (0, 19), *[(0, 0)] * len(frame_shape)])
    np.testing.assert_allclose(
        logits_of(model, {**inputs, "context": padded}), logits_of(model, inputs), atol=1e-5
    )


def test_a_clip_without_a_frame_gives_finite_logits_and_no_weight(frame_shape):
    model, inputs = model_of(frame_shape), clips_of(frame_shape)
    inputs["context"][2] = 0
    outputs = models.attention(model)(inputs)
    assert np.isfinite(as_numpy(outputs["logits"])).all()
    np.testing.assert_array_equal(as_numpy(outputs["cross_attention"][0])[2], 0)


def test_one_clip_does_not_change_another(frame_shape):
    model, inputs = model_of(frame_shape), clips_of(frame_shape)
    alone = {name: each[1:2] for name, each in inputs.items()}
    np.testing.assert_allclose(logits_of(model, alone)[0], logits_of(model, inputs)[1], atol=1e-5)


def test_the_order_of_the_frames_counts_even_for_a_mean(frame_shape):
    """Without the encoder over time, a clip that runs backwards would look the same."""
    model, inputs = model_of(frame_shape, "mean"), clips_of(frame_shape)
    backwards = {**inputs, "context": inputs["context"][:, ::-1]}
    assert abs(logits_of(model, backwards)[1:] - logits_of(model, inputs)[1:]).max() > 1e-4


@each_attention
def test_step_by_step_equals_all_at_once(frame_shape, attention):
    model, inputs = model_of(frame_shape, attention), clips_of(frame_shape)
    expected = by_name(models.attention(model)(inputs))
    encoded = models.encode(model)(ops.convert_to_tensor(inputs["context"]))
    state, step = encoded["state"], models.step(model)
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, weights, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected["logits"][:, t], atol=1e-5)
        np.testing.assert_allclose(
            as_numpy(weights["cross_attention"][0]), expected["cross_attention_1"][:, t], atol=1e-5
        )


def test_the_generator_writes_the_likeliest_words():
    model, frames = model_of((FEATURES,)), clips_of((FEATURES,))["context"]
    generator = decoding.Generator(models.encode(model), models.step(model), max_length=T)
    written = as_numpy(generator({"context": ops.convert_to_tensor(frames)})["tokens"])
    assert written.shape == (B, T)
    fed = np.concatenate([np.full((B, 1), 2), written[:, :-1]], axis=1).astype("int32")
    logits = logits_of(model, {"context": frames, "target": fed})
    logits[..., [0, 2]] = -np.inf
    np.testing.assert_array_equal(written, np.where(written == 0, 0, logits.argmax(-1)))


def test_json_and_file_round_trips(frame_shape, tmp_path):
    model, inputs = model_of(frame_shape), clips_of(frame_shape)
    twin = keras.models.model_from_json(model.to_json())
    twin.set_weights(model.get_weights())
    np.testing.assert_allclose(logits_of(twin, inputs), logits_of(model, inputs), atol=1e-6)
    assert "Lambda" not in json.dumps(json.loads(model.to_json()))
    model.save(tmp_path / "captioner.keras")
    loaded = keras.saving.load_model(tmp_path / "captioner.keras")
    np.testing.assert_allclose(logits_of(loaded, inputs), logits_of(model, inputs), atol=1e-6)
    assert set(models.attention(loaded)(inputs)) == {"logits", "cross_attention"}


@each_way
def test_one_fit_step_changes_every_weight(how, frame_shape):
    model, inputs = build(frame_shape), clips_of(frame_shape)
    compile_model(model, keras.optimizers.SGD(1e4), how)
    check_a_step_changes_every_weight(model, inputs, inputs["target"])


def test_mixed_precision_keeps_float32_weights(frame_shape):
    exact, inputs = model_of(frame_shape), clips_of(frame_shape)
    model = build(frame_shape, dtype="mixed_bfloat16")
    model.set_weights(exact.get_weights())
    outputs = models.attention(model)(inputs)
    np.testing.assert_allclose(as_numpy(outputs["logits"]), logits_of(exact, inputs), atol=0.1)
    assert keras.backend.standardize_dtype(outputs["cross_attention"][0].dtype) == "float32"


def test_over_frames_is_the_layer_on_every_frame():
    layer = keras.layers.Conv2D(5, 3)
    frames = clips_of(SHAPES["pictures"])["context"]
    outputs = as_numpy(OverFrames(layer)(frames))
    assert outputs.shape == (B, S, HEIGHT - 2, WIDTH - 2, 5)
    for number in range(S):
        np.testing.assert_allclose(
            outputs[:, number], as_numpy(layer(frames[:, number])), atol=1e-6
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(build, (HEIGHT, WIDTH)), r"frame_shape must be .* got \(11, 13\)"),
        (partial(build, (HEIGHT, 0, 1)), r"all positive, got \(11, 0, 1\)"),
        (partial(build, (0,)), r"all positive, got \(0,\)"),
        (partial(build, (FEATURES,), units=0), "units must be positive, got 0"),
        (
            partial(build, (FEATURES,), target_vocabulary_size=0),
            "target_vocabulary_size must be positive",
        ),
        (partial(build, (FEATURES,), filters=(3, 0)), r"filters\[1\] must be positive, got 0"),
        (
            partial(build, (FEATURES,), attention="flow"),
            "attention must be one of global, .*'flow'",
        ),
        (partial(build, (FEATURES,), attention="mean", score="dot"), "leave score out"),
    ],
)
def test_bad_arguments_say_what_was_received(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_frames_of_another_shape_are_an_error(frame_shape):
    model, inputs = model_of(frame_shape), clips_of(frame_shape)
    with pytest.raises(ValueError, match="expected shape"):
        logits_of(model, {**inputs, "context": inputs["context"][:, :, :-1]})
