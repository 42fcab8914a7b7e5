import inspect
import re

import keras
import pytest

from keras_attention import models
from keras_attention.compiling import programs

SMALL = {"batch_size": 6, "length": 5, "units": 16, "vocabulary": 101}
ON_JAX = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="these programs are of Keras on JAX"
)


def test_every_builder_has_its_programs():
    builders = {name for name in models.__all__ if name.startswith("build_")}
    named = set(re.findall(r"models\.(build_\w+)", inspect.getsource(programs)))
    assert builders == named | {build.__name__ for build in models.BUILDERS.values()}


@ON_JAX
@pytest.mark.parametrize("name", programs.MODELS)
def test_a_model_has_a_training_step_and_a_use_and_both_can_be_traced(name):
    import jax

    training, use = programs.programs_of(name, programs.Sizes(**SMALL))
    assert (training.model, training.step) == (name, "training")
    assert use.step in ("decoding", "writing", "forward")
    assert {array.shape[0] for array in jax.tree.leaves((training.data, use.data))} == {6}
    outputs, state = jax.eval_shape(training.function, training.state, training.data)
    assert "loss" in outputs
    shapes = jax.tree.map(lambda array: (array.shape, array.dtype), training.state)
    assert jax.tree.map(lambda array: (array.shape, array.dtype), state) == shapes
    outputs, _ = jax.eval_shape(use.function, use.state, use.data)
    assert {array.shape[0] for array in jax.tree.leaves(outputs)} == {6}


@ON_JAX
def test_the_dtype_policy_is_that_of_the_programs_alone():
    import jax

    sizes = programs.Sizes(**SMALL, dtype_policy="mixed_bfloat16")
    training, _ = programs.programs_of("seq2seq", sizes)
    assert keras.config.dtype_policy().name == "float32"
    program = str(jax.make_jaxpr(training.function)(training.state, training.data))
    assert "bf16[6,16]" in program
    assert {array.dtype.name for array in training.state[0]} == {"float32"}


@ON_JAX
def test_a_transformer_has_the_sizes_that_are_asked_for_and_an_rnn_ignores_them():
    asked = {"num_layers": 3, "num_heads": 2, "feed_forward_dim": 24, "optimizer": "adam"}
    sizes = programs.Sizes(**SMALL, **asked)
    shapes = [array.shape for array in programs.programs_of("transformer", sizes)[0].state[0]]
    assert shapes.count((16, 24)) == 6  # of three encoder layers and three decoder layers
    assert shapes.count((16, 2, 8)) == 3 * 3 * 3  # query, key and value of three attentions
    assert programs.programs_of("rnn", sizes)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="here Keras is on JAX")
def test_another_backend_is_refused():
    backend = keras.backend.backend()
    with pytest.raises(ValueError, match=f"its JAX backend, got {backend}: set KERAS_BACKEND=jax"):
        programs.programs_of("rnn", programs.Sizes())


@ON_JAX
def test_a_model_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"model must be all or one of rnn, .*, got 'horse'"):
        programs.programs_of("horse", programs.Sizes())


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"batch_size": 0}, "batch_size must be positive, got 0"),
        ({"length": -1}, "length must be positive, got -1"),
        ({"units": 0}, "units must be positive, got 0"),
        ({"vocabulary": 0}, "vocabulary must be positive, got 0"),
        ({"num_layers": 0}, "num_layers must be positive, got 0"),
        ({"feed_forward_dim": -1}, "feed_forward_dim must be positive, got -1"),
        ({"dtype_policy": "int8"}, "one of float32, mixed_bfloat16, got 'int8'"),
    ],
)
def test_a_size_out_of_range_is_refused(size, message):
    with pytest.raises(ValueError, match=message):
        programs.Sizes(**size)
