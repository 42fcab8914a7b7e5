"""The TensorFlow path: training and decoding are one XLA program each, static, without the host.

Keras wraps `train_step` and `predict_step` in a `tf.function` with `jit_compile=True`, as here.
"""

import math
import re
from collections import Counter

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

from keras_attention import models
from keras_attention.compiling import hlo
from keras_attention.decoding import Generator
from keras_attention.decoding.loop import FIRST_SLOTS_OF_A_BEAM
from keras_attention.training import compile_for_training

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the programs of Keras on TensorFlow"
)

B, S, T, LIMIT = 3, 5, 7, 11
SIZES = {"context_vocabulary_size": 13, "target_vocabulary_size": 17, "units": 8}
BUILDERS = {
    "rnn": (models.build_rnn_attention, {}),
    "transformer": (
        models.build_transformer,
        {"num_layers": 1, "num_heads": 2, "feed_forward_dim": 19},
    ),
}


def compiled(step, *data, stage="hlo"):
    """Return the program that XLA is given for a step of Keras, or makes of it, as text."""
    return tf.function(step, jit_compile=True).experimental_get_compiler_ir(data)(stage=stage)


def ids(length):
    return tf.constant(np.full((B, length), 4, "int32"))


@pytest.fixture(scope="module", params=BUILDERS)
def model(request):
    build, options = BUILDERS[request.param]
    model = build(**SIZES, **options)
    compile_for_training(model, jit_compile=True)
    return model


@pytest.fixture(scope="module")
def training(model):
    data = {"context": ids(S), "target": ids(T)}, ids(T)
    model.train_step(data)  # makes the variables of the optimizer and the metrics
    return compiled(model.train_step, *data)


@pytest.fixture(scope="module")
def decoding(model):
    encode = models.encode(model, slots=LIMIT)
    generator = Generator(encode, models.step(model), max_length=LIMIT)
    return compiled(generator.predict_step, {"context": ids(S)})


def check_static(text):
    assert text.count("\nENTRY ") == 1
    assert hlo.dynamic_shapes(text) == []
    assert hlo.host_calls(text) == []
    assert f"s32[{B},{S}]" in text  # the sentences, as they are


def test_the_training_step_is_one_program_with_static_shapes_that_needs_no_host(training):
    check_static(training)


def test_decoding_is_one_program_with_static_shapes_that_needs_no_host(decoding):
    check_static(decoding)


def test_what_training_changes_is_changed_in_the_program(model, training):
    written = training.split("\n", 1)[0].split("->")[1]
    counts = Counter(re.findall(r"f32\[[\d,]*\]", written))
    shapes = Counter(f"f32[{','.join(map(str, w.shape))}]" for w in model.trainable_variables)
    for shape, number in shapes.items():
        assert counts[shape] >= 3 * number  # the weight and the two moments of Adam


def test_the_whole_loop_of_decoding_is_in_the_program(decoding):
    found, _ = hlo.computations(decoding)
    loops = [each for body in found.values() for each in body if each.opcode == "while"]
    written = f"s32[{B},{LIMIT}]"  # the tokens that the loop carries
    assert sum(written in loop.type for loop in loops) == 1


@pytest.mark.parametrize(
    ("batch", "heads", "depth", "slots", "beam"),
    [(B, 2, 5, LIMIT, 1), (64, 4, 48, 50, 1), (64, 4, 48, FIRST_SLOTS_OF_A_BEAM, 4)],
)
def test_a_token_is_written_into_the_cache_where_it_is(batch, heads, depth, slots, beam):
    """In each round of the loop an update of all keys and of all values, and no other cache."""
    num_layers = 2
    model = models.build_transformer(
        **SIZES, num_layers=num_layers, num_heads=heads, key_dim=depth, feed_forward_dim=19
    )
    encode, step = models.encode(model, slots=slots), models.step(model)
    generator = Generator(encode, step, max_length=slots, beam=beam)
    data = {"context": tf.constant(np.full((batch, S), 4, "int32"))}
    found, _ = hlo.computations(compiled(generator.predict_step, data, stage="optimized_hlo"))
    loop = next(each for body in found.values() for each in body if each.opcode == "while")
    cache = math.prod((batch, beam, heads, slots, depth))
    made = [
        each
        for each in found[re.search(r"body=%?([\w.\-]+)", loop.rest)[1]]
        if re.match(r"f32\[[\d,]+\]", each.type) and each.opcode != "get-tuple-element"
        if math.prod(map(int, re.findall(r"\d+", each.type.split("]")[0])[1:])) >= cache
    ]
    assert len(made) == 2 * num_layers
    assert all("dynamic-update-slice" in each.name for each in made)


class Shortening(keras.Model):
    """Takes padding off: how many tokens are left is known only when it runs."""

    def call(self, inputs):
        return tf.boolean_mask(inputs, inputs > 0)


class Asking(keras.Model):
    """Asks Python in between."""

    def call(self, inputs):
        return tf.numpy_function(np.negative, [inputs], tf.int32)


def test_a_size_that_is_known_only_when_it_runs_would_be_found():
    assert hlo.dynamic_shapes(compiled(Shortening().predict_step, ids(S))) != []


def test_a_step_that_asks_python_would_not_compile():
    with pytest.raises(ValueError, match="PyFunc"):
        compiled(Asking().predict_step, ids(S))
