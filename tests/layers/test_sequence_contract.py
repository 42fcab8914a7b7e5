"""What a layer promises that takes one sequence alone: a block of a Transformer, and positions."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import layers
from tests import contract
from tests.contract import B, Q, S, SequenceCase, as_numpy, model_of

H, DEPTH, WIDTH = 2, 13, 14  # sines and cosines come in pairs


def attention(**kwargs):
    return layers.MultiHeadAttention(H, DEPTH, **kwargs)


def global_self_attention(norm_first, **kwargs):
    return layers.GlobalSelfAttention(attention(**kwargs), norm_first, **kwargs)


def causal_self_attention(norm_first, **kwargs):
    return layers.CausalSelfAttention(attention(**kwargs), norm_first, **kwargs)


def over_frames(**kwargs):
    return layers.OverFrames(keras.layers.Dense(Q, **kwargs), **kwargs)


WEIGHTS = (B, H, S, S)
CASES = [
    *(
        SequenceCase(f"{kind}_{order}", partial(make, norm_first), WEIGHTS, masked)
        for kind, make, masked in (
            ("global_self_attention", global_self_attention, True),
            ("causal_self_attention", causal_self_attention, False),
        )
        for order, norm_first in (("post_norm", False), ("pre_norm", True))
    ),
    SequenceCase("over_frames", over_frames),
    SequenceCase("feed_forward_post_norm", partial(layers.FeedForward, 17)),
    SequenceCase("feed_forward_pre_norm", partial(layers.FeedForward, 17, norm_first=True)),
    SequenceCase("learned_positions", partial(layers.LearnedPositions, S)),
    *(
        SequenceCase(
            f"sinusoids_{layout}", partial(layers.SinusoidalPositions, layout), width=WIDTH
        )
        for layout in ("interleaved", "concatenated")
    ),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    keras.utils.set_random_seed(5)
    return request.param


def outputs_of(model, inputs):
    return {name: as_numpy(value) for name, value in model(inputs).items()}


def test_shapes_are_as_documented_and_weights_sum_to_one(case):
    outputs = outputs_of(*model_of(case))
    assert outputs["output"].shape == (B, S, case.width)
    assert ("weights" in outputs) == (case.weights_shape is not None)
    if case.weights_shape:
        assert outputs["weights"].shape == case.weights_shape
        np.testing.assert_allclose(outputs["weights"].sum(-1), 1, rtol=1e-5)


def test_config_round_trip(case):
    layer = case.make()
    twin = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(twin) is type(layer)
    x = case.array()
    layer(x), twin(x)
    assert [w.shape for w in twin.weights] == [w.shape for w in layer.weights]
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(as_numpy(twin(x)), as_numpy(layer(x)))
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(twin))
    assert again.get_config() == twin.get_config()


def test_json_round_trip_inside_a_model(case):
    contract.check_json_round_trip(case)


def test_symbolic_equals_eager(case):
    model, inputs = model_of(case)
    symbolic = case.call(case.make(), keras.KerasTensor((B, S, case.width)))
    eager, predicted = outputs_of(model, inputs), model.predict_on_batch(inputs)
    for name, value in eager.items():
        assert tuple(symbolic[name].shape) == value.shape
        np.testing.assert_allclose(predicted[name], value, atol=1e-5)


def test_one_sequence_does_not_change_another(case):
    model, inputs = model_of(case)
    alone = {name: value[1:] for name, value in inputs.items()}
    for name, value in outputs_of(model, inputs).items():
        np.testing.assert_allclose(outputs_of(model, alone)[name], value[1:], atol=1e-6)


def test_implicit_masks_change_nothing(case):
    layer = case.make()
    x = keras.layers.Embedding(S + 1, case.width, mask_zero=True)(
        np.array([[1, 2, 3, 0, 0], [1] * S])
    )
    expected = case.call(layer, ops.convert_to_tensor(as_numpy(x)))
    for name, value in case.call(layer, x).items():
        np.testing.assert_allclose(as_numpy(value), as_numpy(expected[name]), atol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(case, policy):
    _, inputs = model_of(case)
    exact, layer = case.make(), case.make(dtype=keras.DTypePolicy(policy))
    inputs = [ops.convert_to_tensor(value) for value in inputs.values()]
    expected, _ = case.call(exact, *inputs), case.call(layer, *inputs)
    layer.set_weights(exact.get_weights())
    outputs = case.call(layer, *inputs)
    assert keras.backend.standardize_dtype(outputs["output"].dtype) == policy[len("mixed_") :]
    np.testing.assert_allclose(as_numpy(outputs["output"]), as_numpy(expected["output"]), atol=0.1)
    if case.weights_shape:
        assert keras.backend.standardize_dtype(outputs["weights"].dtype) == "float32"
        np.testing.assert_allclose(
            as_numpy(outputs["weights"]), as_numpy(expected["weights"]), atol=0.02
        )


def test_one_compiled_fit_step(case):
    model, inputs = model_of(case)
    before = model.get_weights()
    losses = {"output": "mse", "weights": None} if case.weights_shape else {"output": "mse"}
    jit = keras.backend.backend() != "torch"
    model.compile(keras.optimizers.SGD(0.1), loss=losses, jit_compile=jit)
    target = np.random.default_rng(3).normal(size=(B, S, case.width)).astype("float32")
    run = model.train_on_batch if model.trainable_weights else model.test_on_batch
    assert np.isfinite(run(inputs, {"output": target}))
    for old, new, weight in zip(before, model.get_weights(), model.weights, strict=True):
        assert np.isfinite(new).all(), weight.path
        # a bias of the keys moves all scores of a query alike, so its gradient is 0
        assert "key/bias" in weight.path or (old != new).any(), weight.path


def test_zeros_give_finite_values_and_gradients(case):
    layer = case.make()
    x = np.zeros((B, S, case.width), "float32")
    layer(x)

    def loss(x):
        return ops.sum(ops.square(case.call(layer, x)["output"] - 1))

    assert np.isfinite(contract.gradient(loss, x)[0]).all()
    x = ops.convert_to_tensor(x)
    for path, value in contract.gradients_of_weights(layer, lambda: loss(x)).items():
        assert np.isfinite(value).all(), path


def test_saved_layers_are_the_same_in_a_fresh_process(tmp_path):
    contract.check_fresh_process(CASES, tmp_path)
