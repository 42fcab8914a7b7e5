"""The RNN with attention, and what every model promises: its views, its masks, its files."""

import json
import math
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss
from tests.contract import as_numpy

B, S, T, UNITS, CONTEXT, TARGET = 3, 7, 5, 16, 23, 29
SIZES = {"context_vocabulary": CONTEXT, "target_vocabulary": TARGET, "units": UNITS}
ATTENTIONS = {"multi_head": (B, 1, T, S), "additive": (B, T, S)}


@pytest.fixture(params=ATTENTIONS)
def model(request):
    keras.utils.set_random_seed(1)
    return models.build_rnn_attention(attention=request.param, **SIZES)


def sentences(seed=0):
    rng = np.random.default_rng(seed)
    context, target = rng.integers(4, CONTEXT, (B, S)), rng.integers(4, TARGET, (B, T))
    context[0, 4:] = 0
    target[1, 3:] = 0
    return {"context": context.astype("int32"), "target": target.astype("int32")}


def logits_of(model, inputs):
    return as_numpy(model({name: ops.convert_to_tensor(ids) for name, ids in inputs.items()}))


def test_has_the_tutorial_s_number_of_parameters():
    assert models.build_rnn_attention().count_params() == 5_292_936


def test_an_untrained_model_starts_at_ln_v():
    keras.utils.set_random_seed(0)
    model = models.build_rnn_attention()
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(1, 5000, (64, 11)) for name in ("context", "target")}
    loss = MaskedCrossentropy()(rng.integers(1, 5000, (64, 11)), logits_of(model, inputs))
    assert abs(float(as_numpy(loss)) - math.log(5000)) < 0.02


def test_logits_weights_and_shapes(model, request):
    inputs = sentences()
    assert logits_of(model, inputs).shape == (B, T, TARGET)
    attention = request.node.callspec.params["model"]
    outputs = models.attention(model)(inputs)
    assert set(outputs) == {"logits", "cross_attention"}
    assert tuple(outputs["cross_attention"].shape) == ATTENTIONS[attention]
    np.testing.assert_allclose(as_numpy(outputs["logits"]), logits_of(model, inputs), atol=1e-6)
    weights = as_numpy(outputs["cross_attention"])
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    assert (weights[0, ..., 4:] == 0).all()


def test_padding_the_context_does_not_change_the_logits(model):
    inputs = sentences()
    padded = {**inputs, "context": np.pad(inputs["context"], ((0, 0), (0, 20)))}
    np.testing.assert_allclose(logits_of(model, padded), logits_of(model, inputs), atol=1e-5)


def test_the_future_of_the_target_does_not_change_earlier_logits(model):
    inputs = sentences()
    changed = {**inputs, "target": inputs["target"].copy()}
    changed["target"][:, 3:] = 4
    before, after = logits_of(model, inputs), logits_of(model, changed)
    np.testing.assert_array_equal(after[:, :3], before[:, :3])
    assert abs(after[:, 3:] - before[:, 3:]).max() > 1e-4


def test_one_sentence_does_not_change_another(model):
    inputs = sentences()
    alone = {name: ids[1:2] for name, ids in inputs.items()}
    np.testing.assert_allclose(logits_of(model, alone)[0], logits_of(model, inputs)[1], atol=1e-5)


def test_a_sentence_without_a_token_gives_finite_logits_and_no_weight(model):
    inputs = sentences()
    inputs["context"][2] = 0
    outputs = models.attention(model)(inputs)
    assert np.isfinite(as_numpy(outputs["logits"])).all()
    assert (as_numpy(outputs["cross_attention"])[2] == 0).all()


def test_step_by_step_equals_all_at_once(model):
    inputs = sentences()
    expected = models.attention(model)(inputs)
    encoded = models.encode(model)(ops.convert_to_tensor(inputs["context"]))
    state, step = encoded["state"], models.step(model)
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, weights, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), as_numpy(expected["logits"])[:, t], atol=1e-5)
        np.testing.assert_allclose(
            as_numpy(weights["cross_attention"]),
            as_numpy(expected["cross_attention"])[..., t, :],
            atol=1e-5,
        )


def test_the_views_share_the_layers_of_the_model(model):
    views = (models.encode(model), models.step(model), models.attention(model))
    mine = {id(weight) for weight in model.weights}
    assert {id(weight) for view in views for weight in view.weights} == mine


def test_config_round_trip(model):
    twin = keras.models.model_from_json(model.to_json())
    twin.set_weights(model.get_weights())
    inputs = sentences()
    np.testing.assert_allclose(logits_of(twin, inputs), logits_of(model, inputs), atol=1e-6)
    assert set(models.attention(twin)(inputs)) == {"logits", "cross_attention"}


LOAD = """
import sys, numpy as np, keras, keras_attention
inputs = dict(np.load(sys.argv[1]))
for path in sys.argv[2:]:
    model = keras.saving.load_model(path)
    view = keras_attention.models.attention(model)
    np.savez(path + ".npz", **{k: keras.ops.convert_to_numpy(v) for k, v in view(inputs).items()})
"""


def test_keras_file_round_trip_in_a_fresh_process_without_custom_objects(tmp_path):
    inputs = sentences()
    np.savez(tmp_path / "inputs.npz", **inputs)
    made = {}
    for attention in ATTENTIONS:
        made[attention] = models.build_rnn_attention(attention=attention, **SIZES)
        compile_model(made[attention])
        made[attention].train_on_batch(inputs, inputs["target"])
        made[attention].save(tmp_path / f"{attention}.keras")
    paths = [str(tmp_path / f"{attention}.keras") for attention in ATTENTIONS]
    command = [sys.executable, "-c", LOAD, str(tmp_path / "inputs.npz"), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for attention, model in made.items():
        loaded = np.load(tmp_path / f"{attention}.keras.npz")
        for name, value in models.attention(model)(inputs).items():
            np.testing.assert_allclose(loaded[name], as_numpy(value), atol=1e-6)


def compile_model(model, optimizer="adam"):
    model.compile(
        optimizer,
        loss=MaskedCrossentropy(),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=keras.backend.backend() != "torch",
    )


def test_one_compiled_fit_step_changes_every_weight(model):
    before = model.get_weights()
    compile_model(model, keras.optimizers.SGD(1.0))
    inputs = sentences()
    history = model.fit(inputs, inputs["target"], batch_size=B, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    for old, new, weight in zip(before, model.get_weights(), model.weights, strict=True):
        assert np.isfinite(new).all(), weight.path
        # a bias of the keys moves all scores of a query alike, so its gradient is 0
        assert "key/bias" in weight.path or (old != new).any(), weight.path


def test_learns_to_copy_a_short_sentence():
    keras.utils.set_random_seed(3)
    model = models.build_rnn_attention(**SIZES)
    compile_model(model, keras.optimizers.Adam(0.01))
    rng = np.random.default_rng(0)
    labels = rng.integers(4, CONTEXT, (512, 4)).astype("int32")
    target = np.concatenate([np.full((512, 1), 2, "int32"), labels[:, :-1]], axis=1)
    inputs = {"context": labels, "target": target}
    before = model.evaluate(inputs, labels, return_dict=True, verbose=0)
    model.fit(inputs, labels, batch_size=64, epochs=8, verbose=0)
    after = model.evaluate(inputs, labels, return_dict=True, verbose=0)
    assert before["masked_accuracy"] < 0.15
    assert after["masked_accuracy"] > 0.6


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_trains_and_keeps_float32_weights(policy):
    exact = models.build_rnn_attention(**SIZES)
    keras.config.set_dtype_policy(policy)
    try:
        model = models.build_rnn_attention(**SIZES)
    finally:
        keras.config.set_dtype_policy("float32")
    model.set_weights(exact.get_weights())
    inputs = sentences()
    outputs = models.attention(model)(inputs)
    assert "float32" in str(outputs["cross_attention"].dtype)
    np.testing.assert_allclose(as_numpy(outputs["logits"]), logits_of(exact, inputs), atol=0.1)
    compile_model(model)
    assert np.isfinite(model.train_on_batch(inputs, inputs["target"])).all()
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_bad_arguments_say_what_was_received():
    with pytest.raises(
        ValueError, match="attention must be one of multi_head, additive, got 'dot'"
    ):
        models.build_rnn_attention(attention="dot")
    with pytest.raises(ValueError, match="must be positive, got 5000, 5000 and 0"):
        models.build_rnn_attention(units=0)


def test_the_configuration_is_plain_json_without_code(model):
    text = model.to_json()
    assert json.loads(text)["class_name"] == "Functional"
    assert "Lambda" not in text
