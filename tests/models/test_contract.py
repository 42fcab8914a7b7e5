"""What every translator promises: its views, its masks, its files.

A model joins by a line in `tests/models/translators.py`.
"""

import functools
import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.training import MaskedCrossentropy
from tests.models.training import ONE_STEP, XLA, check_a_step_changes_every_weight
from tests.models.translators import (
    CASES,
    ONE_OF_EACH_BUILDER,
    ONE_OF_EACH_KIND,
    SIZES,
    TARGET,
    B,
    S,
    T,
    by_name,
    compile_model,
    each_case,
    logits_of,
    model_of,
    outputs_of,
    sentences,
    tensors,
)
from tests.numerics import as_numpy


@each_case()
def test_logits_and_weights_have_the_documented_shapes(case):
    outputs = dict(outputs_of(case))
    logits = outputs.pop("logits")
    assert logits.shape == (B, T, TARGET)
    np.testing.assert_allclose(logits, logits_of(model_of(case), sentences()), atol=1e-6)
    assert {name: weights.shape for name, weights in outputs.items()} == case.weights
    for name, weights in outputs.items():
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5, err_msg=name)
        if "decoder_self_attention" in name:
            assert (np.triu(weights, 1) == 0).all()
        else:
            assert (weights[0, ..., 4:] == 0).all()


@each_case()
def test_padding_the_context_does_not_change_the_logits(case):
    inputs = sentences()
    padded = {**inputs, "context": np.pad(inputs["context"], ((0, 0), (0, 20)))}
    expected = outputs_of(case)["logits"]
    np.testing.assert_allclose(logits_of(model_of(case), padded), expected, atol=1e-5)


@each_case()
def test_the_future_of_the_target_does_not_change_earlier_logits(case):
    inputs = sentences()
    before = logits_of(model_of(case), inputs)
    inputs["target"][:, 3:] = 4
    after = logits_of(model_of(case), inputs)
    np.testing.assert_array_equal(after[:, :3], before[:, :3])
    assert abs(after[:, 3:] - before[:, 3:]).max() > 1e-4


@each_case()
def test_one_sentence_does_not_change_another(case):
    alone = {name: ids[1:2] for name, ids in sentences().items()}
    expected = outputs_of(case)["logits"][1:2]
    np.testing.assert_allclose(logits_of(model_of(case), alone), expected, atol=1e-5)


@each_case()
def test_a_sentence_without_a_token_gives_finite_logits_and_no_weight(case):
    inputs = sentences()
    inputs["context"][2] = 0
    outputs = by_name(models.attention(model_of(case))(tensors(inputs)))
    assert np.isfinite(outputs.pop("logits")).all()
    for name, weights in outputs.items():
        assert "decoder_self_attention" in name or (weights[2] == 0).all()


@each_case()
def test_the_order_of_the_inputs_does_not_matter(case):
    turned = dict(reversed(sentences().items()))
    expected = outputs_of(case)["logits"]
    np.testing.assert_allclose(logits_of(model_of(case), turned), expected, atol=1e-6)


@each_case()
def test_step_by_step_equals_all_at_once(case):
    check_step_by_step(model_of(case), outputs_of(case))


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


@pytest.mark.thorough
@pytest.mark.parametrize(("build", "options"), OTHERS)
def test_what_has_no_case_of_its_own_is_the_same_step_by_step_too(build, options):
    model = build(**options, **SIZES)
    check_step_by_step(model, by_name(models.attention(model)(tensors(sentences()))))


def check_step_by_step(model, expected):
    inputs = sentences()
    encoded = models.encode(model)(ops.convert_to_tensor(inputs["context"]))
    state, step = encoded["state"], models.step(model)
    of_the_decoder = {name for name in expected if "encoder" not in name} - {"logits"}
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, weights, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected["logits"][:, t], atol=1e-5)
        weights = by_name(weights)
        assert set(weights) == of_the_decoder
        for name, now in weights.items():
            at_once = expected[name][..., t, :]
            if "decoder_self_attention" in name:  # of a cache, whose first token comes first
                at_once = np.pad(at_once, [(0, 0), (0, 0), (0, now.shape[-1] - T)])
            np.testing.assert_allclose(now, at_once, atol=1e-5, err_msg=name)


@each_case()
def test_the_views_share_the_layers_of_the_model(case):
    model = model_of(case)
    views = (models.encode(model), models.step(model), models.attention(model))
    mine = {id(weight) for weight in model.weights}
    assert {id(weight) for view in views for weight in view.weights} == mine


@each_case()
def test_the_configuration_is_plain_json_that_gives_the_model_again(case):
    text = model_of(case).to_json()
    assert json.loads(text)["class_name"] in ("Functional", "DividedModel")
    assert json.loads(text)["config"]["layers"]
    assert "Lambda" not in text
    twin = keras.models.model_from_json(text)
    twin.set_weights(model_of(case).get_weights())
    found = by_name(models.attention(twin)(tensors(sentences())))
    assert set(found) == {"logits", *case.weights}
    np.testing.assert_allclose(found["logits"], outputs_of(case)["logits"], atol=1e-6)


# Training


@each_case()
def test_one_fit_step_changes_every_weight(case):
    check_fit_step(case, ONE_STEP)


@pytest.mark.xla
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX compiles in any case")
@each_case(["transformer_pre_norm"], ONE_OF_EACH_BUILDER)
def test_xla_compiles_a_fit_step(case):
    check_fit_step(case, XLA)


def check_fit_step(case, how):
    keras.utils.set_random_seed(1)
    model, inputs = case.build(), sentences()
    # so large that the smallest gradients, those of the first queries, show in float32
    compile_model(model, keras.optimizers.SGD(1e4), how)
    # what moves all scores of a query alike has no gradient
    still = ("key/bias", "output_bias", "seed_generator")
    check_a_step_changes_every_weight(model, inputs, inputs["target"], still)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others know their shapes")
@each_case(ONE_OF_EACH_KIND, ONE_OF_EACH_BUILDER)
def test_a_program_for_sentences_of_any_length_gives_the_same(case):
    """Batches of `tf.data` come in several shapes, so that Keras traces without knowing them."""
    import tensorflow as tf

    ids = {name: tf.TensorSpec((None, None), "int32") for name in sentences()}
    program = tf.function(model_of(case), input_signature=[ids])
    expected = outputs_of(case)["logits"]
    np.testing.assert_allclose(program(tensors(sentences())), expected, atol=1e-5)


@pytest.mark.thorough
@pytest.mark.xla
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tf.data feeds TensorFlow")
def test_xla_compiles_training_on_sentences_whose_length_is_known_only_then():
    import tensorflow as tf

    ids = tf.TensorSpec((None, None), "int32")
    model = models.build_bilstm_attention(**SIZES)
    compile_model(model, "adam", XLA)
    inputs = sentences()
    batches = tf.data.Dataset.from_generator(
        lambda: [(inputs, inputs["target"])],
        output_signature=({"context": ids, "target": ids}, ids),
    )
    expected = MaskedCrossentropy()(inputs["target"], model(tensors(inputs)))
    before = model.get_weights()
    history = model.fit(batches, steps_per_epoch=1, shuffle=False, verbose=0).history
    assert history["loss"] == [pytest.approx(float(expected), rel=1e-5)]
    assert all((old != new).any() for old, new in zip(before, model.get_weights(), strict=True))


@pytest.mark.thorough
@pytest.mark.xla
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others know their shapes")
@pytest.mark.parametrize(  # no state, and a state of integers, of numbers, of several tensors
    "attention", ["global", "local_m", "neural_coverage", "recurrent_location"]
)
def test_xla_compiles_the_gradients_of_a_decoder_for_any_length(attention):
    """Within a recurrent loop XLA wants gradients without computed shapes."""
    import tensorflow as tf

    model, inputs = models.build_bilstm_attention(attention=attention, **SIZES), sentences()
    decoder, encoded = model.get_layer("decoder"), model.get_layer("encoder")(inputs["context"])
    given = {**encoded, "target": tf.constant(inputs["target"])}

    def of_any_length(tensor):
        sizes = [None if size in (B, S, T) else size for size in tensor.shape]
        return tf.TensorSpec(sizes, tensor.dtype)

    def gradients(given):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(decoder(given)["logits"]))
        return list(map(tf.convert_to_tensor, tape.gradient(loss, decoder.trainable_weights)))

    signature = [tf.nest.map_structure(of_any_length, given)]
    compiled = tf.function(gradients, jit_compile=True, input_signature=signature)(given)
    for weight, one, other in zip(
        decoder.trainable_weights, compiled, gradients(given), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5, err_msg=weight.path)


@each_case(ONE_OF_EACH_KIND, ONE_OF_EACH_BUILDER)
@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.thorough)]
)
def test_mixed_precision_trains_and_keeps_float32_weights(case, policy):
    model = case.build(dtype=policy)
    model.set_weights(model_of(case).get_weights())
    outputs = models.attention(model)(tensors(sentences()))
    logits = as_numpy(outputs.pop("logits"))
    np.testing.assert_allclose(logits, outputs_of(case)["logits"], atol=0.1)
    for weights in keras.tree.flatten(outputs):
        assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    compile_model(model, "adam", ONE_STEP)
    inputs = sentences()
    assert np.isfinite(model.train_on_batch(inputs, inputs["target"])).all()
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


# Files

LOAD = """
import sys, numpy as np, keras, keras_attention
with np.load(sys.argv[1]) as arrays:
    inputs = dict(arrays)
for path in sys.argv[2:]:
    model = keras.saving.load_model(path)
    view = keras_attention.models.attention(model)
    found = keras.tree.flatten_with_path(view(inputs))
    arrays = {"/".join(map(str, k)): keras.ops.convert_to_numpy(v) for k, v in found}
    np.savez(path + ".npz", **arrays)
"""


@functools.cache
def trained(case):
    """Return a model after a step of training, and what it gives for `sentences()`."""
    model, inputs = case.build(), sentences()
    compile_model(model, "adam", ONE_STEP)
    model.train_on_batch(inputs, inputs["target"])
    found = keras.tree.flatten_with_path(models.attention(model)(tensors(inputs)))
    return model, {"/".join(map(str, path)): as_numpy(value) for path, value in found}


# With a loop, a past and a score; with heads and norms.
READ_ELSEWHERE = ("bilstm_recurrent_location", "transformer_pre_norm")
HERE = keras.backend.backend()
ELSEWHERE = {
    "tensorflow": pytest.mark.thorough,
    "jax": pytest.mark.extra("jax"),
    "torch": pytest.mark.extra("torch"),
}


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(name, marks=pytest.mark.thorough if name == HERE else marker)
        for name, marker in ELSEWHERE.items()
    ],
)
def test_a_saved_model_is_the_same_in_a_fresh_process(backend, tmp_path):
    np.savez(tmp_path / "inputs.npz", **sentences())
    names = ONE_OF_EACH_KIND if backend == HERE else READ_ELSEWHERE
    cases = [case for case in CASES if case.name in names]
    paths = [str(tmp_path / f"{case.name}.keras") for case in cases]
    for case, path in zip(cases, paths, strict=True):
        trained(case)[0].save(path)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "inputs.npz"), *paths],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for case, path in zip(cases, paths, strict=True):
        with np.load(f"{path}.npz") as loaded:
            assert set(loaded) == set(trained(case)[1])
            for name, expected in trained(case)[1].items():
                np.testing.assert_allclose(loaded[name], expected, atol=1e-5, err_msg=case.name)


def test_every_builder_has_a_case():
    assert {case.build.func for case in CASES} == set(models.BUILDERS.values())
