"""What every model promises: its views, its masks, its files. A model joins by a line in `CASES`.

A case names a model, how to build it, and its attention weights: name → shape.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.models import bilstm_attention
from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss
from tests.contract import as_numpy

B, S, T, UNITS, CONTEXT, TARGET = 3, 7, 5, 16, 23, 29
SIZES = {"context_vocabulary": CONTEXT, "target_vocabulary": TARGET, "units": UNITS}


@dataclass(frozen=True)
class ModelCase:
    """A model with the inputs context and target, and the shapes of its weights by name."""

    name: str
    build: Callable
    weights: dict

    def __str__(self):
        return self.name


CASES = [
    ModelCase(
        "rnn_multi_head",
        partial(models.build_rnn_attention, attention="multi_head", **SIZES),
        {"cross_attention": (B, 1, T, S)},
    ),
    *(
        ModelCase(
            f"rnn_{name}",
            partial(models.build_rnn_attention, attention=name, **SIZES),
            {"cross_attention": (B, T, S)},
        )
        for name in ("global", "hard")
    ),
    *(  # without a past, and with one of integers, of three axes, of three tensors
        ModelCase(
            f"bilstm_{name}",
            partial(models.build_bilstm_attention, attention=name, **SIZES),
            {"attention": (B, T, S)},
        )
        for name in ("global", "local_m", "neural_coverage", "recurrent_location")
    ),
    *(
        ModelCase(
            f"seq2seq_{name}",
            partial(models.build_seq2seq, pooling=name, **SIZES),
            {"pooling": (B, T, S)},
        )
        for name in ("last", "max")
    ),
    *(
        ModelCase(
            f"transformer_{name}",
            partial(models.build_transformer, num_layers=2, num_heads=2, **options, **SIZES),
            {
                f"{kind}_{n}": (B, 2, *shape)
                for n in (1, 2)
                for kind, shape in (
                    ("cross_attention", (T, S)),
                    ("decoder_self_attention", (T, T)),
                    ("encoder_self_attention", (S, S)),
                )
            },
        )
        for name, options in (
            ("tutorial", {"key_dim": 11, "feed_forward": 13}),
            (
                "pre_norm",
                {"norm_first": True, "tied": True, "positions": "learned", "feed_forward": 13},
            ),
        )
    ),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture
def model(case):
    keras.utils.set_random_seed(1)
    return case.build()


def sentences(seed=0):
    rng = np.random.default_rng(seed)
    context, target = rng.integers(4, CONTEXT, (B, S)), rng.integers(4, TARGET, (B, T))
    context[0, 4:] = 0
    target[1, 3:] = 0
    return {"context": context.astype("int32"), "target": target.astype("int32")}


def logits_of(model, inputs):
    return as_numpy(model({name: ops.convert_to_tensor(ids) for name, ids in inputs.items()}))


def compile_model(model, optimizer="adam", xla=True):
    model.compile(
        optimizer,
        loss=MaskedCrossentropy(),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=xla and keras.backend.backend() != "torch",
    )


def test_logits_and_weights_have_the_documented_shapes(case, model):
    inputs = sentences()
    assert logits_of(model, inputs).shape == (B, T, TARGET)
    outputs = models.attention(model)(inputs)
    logits = outputs.pop("logits")
    np.testing.assert_allclose(as_numpy(logits), logits_of(model, inputs), atol=1e-6)
    assert {name: tuple(weights.shape) for name, weights in outputs.items()} == case.weights
    for name, weights in outputs.items():
        np.testing.assert_allclose(as_numpy(weights).sum(-1), 1, rtol=1e-5)
        if "decoder_self_attention" in name:
            assert (np.triu(as_numpy(weights), 1) == 0).all()
        else:
            assert (as_numpy(weights)[0, ..., 4:] == 0).all()


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
    assert np.isfinite(as_numpy(outputs.pop("logits"))).all()
    for name, weights in outputs.items():
        assert "decoder_self_attention" in name or (as_numpy(weights)[2] == 0).all()


def test_step_by_step_equals_all_at_once(model):
    check_step_by_step(model)


OTHERS = [
    *(
        (models.build_rnn_attention, {"attention": name})
        for name in ("local_p", "last", "max", "mean")
    ),
    *(
        (models.build_bilstm_attention, {"attention": name})
        for name in ("local_p", "coverage", "location_aware", "last", "max", "mean")
    ),
    (models.build_seq2seq, {"pooling": "mean"}),
]


@pytest.mark.parametrize(("build", "options"), OTHERS)
def test_what_has_no_case_of_its_own_is_the_same_step_by_step_too(build, options):
    check_step_by_step(build(**options, **SIZES))


def check_step_by_step(model):
    inputs = sentences()
    expected = models.attention(model)(inputs)
    logits_at_once = as_numpy(expected.pop("logits"))
    encoded = models.encode(model)(ops.convert_to_tensor(inputs["context"]))
    state, step = encoded["state"], models.step(model)
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, weights, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), logits_at_once[:, t], atol=1e-5)
        of_the_decoder = {name for name in expected if "encoder_self_attention" not in name}
        assert set(weights) == of_the_decoder
        for name in of_the_decoder:
            at_once, now = as_numpy(expected[name])[..., t, :], as_numpy(weights[name])
            if "decoder_self_attention" in name:  # of a cache, whose first token comes first
                at_once = np.pad(at_once, [(0, 0), (0, 0), (0, now.shape[-1] - T)])
            np.testing.assert_allclose(now, at_once, atol=1e-5)


def test_the_views_share_the_layers_of_the_model(model):
    views = (models.encode(model), models.step(model), models.attention(model))
    mine = {id(weight) for weight in model.weights}
    assert {id(weight) for view in views for weight in view.weights} == mine


def test_config_round_trip(case, model):
    twin = keras.models.model_from_json(model.to_json())
    twin.set_weights(model.get_weights())
    inputs = sentences()
    np.testing.assert_allclose(logits_of(twin, inputs), logits_of(model, inputs), atol=1e-6)
    assert set(models.attention(twin)(inputs)) == {"logits", *case.weights}


def test_the_configuration_is_plain_json_without_code(model):
    text = model.to_json()
    assert json.loads(text)["class_name"] == "Functional"
    assert "Lambda" not in text


def test_one_compiled_fit_step_changes_every_weight(model):
    before = model.get_weights()
    # so large that the smallest gradients, those of the first queries, show in float32
    compile_model(model, keras.optimizers.SGD(1e4))
    inputs = sentences()
    history = model.fit(inputs, inputs["target"], batch_size=B, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    for old, new, weight in zip(before, model.get_weights(), model.weights, strict=True):
        assert np.isfinite(new).all(), weight.path
        # what moves all scores of a query alike has no gradient
        still = ("key/bias", "output_bias", "seed_generator")
        assert any(name in weight.path for name in still) or (old != new).any(), weight.path


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others know their shapes")
def test_a_program_for_sentences_of_any_length_gives_the_same(model):
    """Batches of `tf.data` come in several shapes, so that Keras traces without knowing them."""
    import tensorflow as tf

    inputs = sentences()
    ids = {name: tf.TensorSpec((None, None), "int32") for name in inputs}
    program = tf.function(model, input_signature=[ids])
    same = {name: tf.constant(array, "int32") for name, array in inputs.items()}
    np.testing.assert_allclose(program(same), logits_of(model, inputs), atol=1e-5)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tf.data feeds TensorFlow")
@pytest.mark.parametrize("attention", bilstm_attention.ATTENTIONS)
def test_xla_compiles_training_on_sentences_whose_length_is_known_only_then(attention):
    """Within a recurrent loop XLA wants gradients without computed shapes."""
    import tensorflow as tf

    ids = tf.TensorSpec((None, None), "int32")
    model = models.build_bilstm_attention(attention=attention, **SIZES)
    compile_model(model)
    inputs = sentences()
    batches = tf.data.Dataset.from_generator(
        lambda: [(inputs, inputs["target"])],
        output_signature=({"context": ids, "target": ids}, ids),
    )
    history = model.fit(batches, steps_per_epoch=1, shuffle=False, verbose=0).history
    assert np.isfinite(history["loss"]).all()


LOAD = """
import sys, numpy as np, keras, keras_attention
with np.load(sys.argv[1]) as arrays:
    inputs = dict(arrays)
for path in sys.argv[2:]:
    model = keras.saving.load_model(path)
    view = keras_attention.models.attention(model)
    np.savez(path + ".npz", **{k: keras.ops.convert_to_numpy(v) for k, v in view(inputs).items()})
"""


def test_a_saved_model_is_the_same_in_a_fresh_process_on_every_backend(tmp_path):
    inputs = sentences()
    np.savez(tmp_path / "inputs.npz", **inputs)
    expected = {}
    for case in CASES:
        model = case.build()
        model.compile("adam", loss=MaskedCrossentropy(), jit_compile=False)
        model.train_on_batch(inputs, inputs["target"])
        model.save(tmp_path / f"{case.name}.keras")
        outputs = models.attention(model)(inputs)
        expected[case.name] = {key: as_numpy(value) for key, value in outputs.items()}
    installed = [name for name in ("tensorflow", "jax", "torch") if importlib.util.find_spec(name)]
    readers = {}
    for backend in installed:
        shutil.copytree(tmp_path, tmp_path / backend, ignore=shutil.ignore_patterns(*installed))
        paths = [str(tmp_path / backend / f"{name}.keras") for name in expected]
        readers[backend] = subprocess.Popen(
            [sys.executable, "-c", LOAD, str(tmp_path / "inputs.npz"), *paths],
            env={**os.environ, "KERAS_BACKEND": backend},
            stderr=subprocess.PIPE,
            text=True,
        )
    for backend, reader in readers.items():
        _, errors = reader.communicate()
        assert reader.returncode == 0, errors
        for name, outputs in expected.items():
            with np.load(tmp_path / backend / f"{name}.keras.npz") as loaded:
                for key, value in outputs.items():
                    np.testing.assert_allclose(loaded[key], value, atol=1e-5, err_msg=backend)


def test_the_order_of_the_inputs_does_not_matter(model):
    inputs = sentences()
    turned = dict(reversed(inputs.items()))
    np.testing.assert_array_equal(logits_of(model, turned), logits_of(model, inputs))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_trains_and_keeps_float32_weights(case, policy):
    exact = case.build()
    keras.config.set_dtype_policy(policy)
    try:
        model = case.build()
    finally:
        keras.config.set_dtype_policy("float32")
    model.set_weights(exact.get_weights())
    inputs = sentences()
    outputs = models.attention(model)(inputs)
    logits = as_numpy(outputs.pop("logits"))
    np.testing.assert_allclose(logits, logits_of(exact, inputs), atol=0.1)
    for weights in outputs.values():
        assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    compile_model(model, xla=False)  # XLA takes most of the time, and has its own test
    assert np.isfinite(model.train_on_batch(inputs, inputs["target"])).all()
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_every_builder_has_a_case():
    built = {case.build().name for case in CASES}
    assert built == {build(**SIZES).name for build in models.BUILDERS.values()}
