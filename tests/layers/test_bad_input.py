"""What a user gets wrong is a `ValueError` that names the argument and both shapes.

It comes before anything is computed: when a model is put together, and in an eager call as well.
"""

import re

import keras
import numpy as np
import pytest
from keras import ops
from keras.layers import GRUCell, LSTMCell

from keras_attention import layers
from tests.contract import B, K, Q, S, T

D, UNITS = 17, 13


def memory():
    return layers.ContextSensitiveMemory("general")


MAKE = {
    "memory": memory,
    "location": lambda: layers.ContextSensitiveMemory("location"),
    "additive": lambda: layers.AdditiveAttention(UNITS),
    "hopfield": layers.Hopfield,
    "local_m": lambda: layers.MonotonicLocalAttention(1, "general"),
    "local_p": lambda: layers.PredictiveLocalAttention(1, "general"),
    "hard": lambda: layers.HardAttention("general"),
    "luong": lambda: layers.LuongAttention(memory()),
    "pooling": layers.Pooling,
    "coverage": lambda: layers.CoverageAttention(UNITS),
    "neural_coverage": lambda: layers.NeuralCoverageAttention(UNITS),
    "location_aware": lambda: layers.LocationAwareAttention(UNITS),
    "recurrent_location": lambda: layers.RecurrentLocationAttention(UNITS),
    "attend_then_recur": lambda: layers.AttentionRNN(
        layers.AttendThenRecur(LSTMCell(UNITS), memory())
    ),
    "recur_then_attend": lambda: layers.AttentionRNN(
        layers.RecurThenAttend(GRUCell(UNITS), memory())
    ),
    "multi_head": lambda: layers.MultiHeadAttention(2, UNITS),
    "keras_multi_head": lambda: layers.KerasMultiHeadAttention(2, UNITS),
    "dense_multi_head": lambda: layers.DenseMultiHeadAttention(2, 2 * UNITS),
}


@pytest.fixture(params=MAKE)
def name(request):
    return request.param


def eager(shape, dtype="float32"):
    return ops.ones(shape, dtype)


def symbolic(shape, dtype="float32"):
    return keras.Input(batch_shape=shape, dtype=dtype)


@pytest.fixture(params=[eager, symbolic])
def tensor(request):
    """Return what makes a tensor of a shape and dtype: of ones, or symbolic."""
    return request.param


def widths(name):
    return K if name == "hopfield" else Q


def check_refused(name, *parts, query=None, value=(B, S, K), key=None, mask=None, dtype="bool"):
    """Call a layer with tensors of these shapes; every part is in what the error says.

    A part is a pattern, or a shape as it stands.
    """
    for tensor in (eager, symbolic):
        arguments = [tensor(query or (B, T, widths(name))), tensor(value)]
        if key:
            arguments.append(tensor(key))
        with pytest.raises(ValueError, match=r"\(") as error:
            MAKE[name]()(*arguments, attention_mask=mask and tensor(mask, dtype))
        for part in parts:
            pattern = re.escape(str(part)) if isinstance(part, tuple) else part
            assert re.search(pattern, str(error.value), re.DOTALL), f"no {part} in {error.value}"


@pytest.mark.parametrize("shape", [(B, 1, T, S), (S,)])
def test_a_mask_of_another_rank(name, shape):
    check_refused(name, "mask", r"\(B, S\)", shape, mask=shape)


def test_a_mask_of_another_length(name):
    check_refused(name, r"mask must have shape.*\(B, S\).*\(2, 6\)", mask=(B, S + 1))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mask_of_numbers(name, dtype):
    check_refused(name, f"mask must be boolean.*got dtype.*{dtype}", mask=(B, S), dtype=dtype)


def test_keys_without_as_many_values(name):
    value, key = (B, S - 1, D), (B, S, K)
    check_refused(name, "every key needs a value", value, key, value=value, key=key)


def test_a_value_of_two_axes(name):
    check_refused(name, r"value \(B, S, ", (B, D), value=(B, D))


def test_a_key_of_two_axes(name):
    check_refused(name, r"key \(B, S, ", (B, K), key=(B, K))


def test_a_query_of_four_axes(name):
    shape = (B, 1, T, Q)
    check_refused(name, "(query|sequence) must have shape", shape, query=shape)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "cosine"])
@pytest.mark.parametrize(
    "make",
    [
        layers.ContextSensitiveMemory,
        lambda score: layers.MonotonicLocalAttention(1, score),
        lambda score: layers.PredictiveLocalAttention(1, score),
        layers.HardAttention,
        lambda score: layers.LuongAttention(layers.ContextSensitiveMemory(score)),
    ],
)
def test_widths_that_a_score_cannot_compare(tensor, make, score):
    with pytest.raises(ValueError, match=rf"same width, got query.*, {Q}\) and keys.*, {K}\)"):
        make(score)(tensor((B, T, Q)), tensor((B, S, K)))


def test_widths_inside_a_decoder(tensor):
    decoder = layers.AttentionRNN(
        layers.AttendThenRecur(LSTMCell(UNITS), layers.ContextSensitiveMemory("dot"))
    )
    with pytest.raises(ValueError, match=rf"same width, got query.*, {UNITS}\) and keys.*, {K}\)"):
        decoder(tensor((B, T, Q)), tensor((B, S, K)))


@pytest.mark.parametrize(
    "make",
    [
        layers.ContextSensitiveMemory,
        layers.MonotonicLocalAttention,
        layers.PredictiveLocalAttention,
        layers.HardAttention,
    ],
)
def test_an_unknown_score(make):
    with pytest.raises(ValueError, match=r"score must be one of dot, .* got 'dott'"):
        make(score="dott")


def test_a_block_whose_read_is_not_as_wide_as_its_query(tensor):
    block = layers.CrossAttention(layers.AdditiveAttention(UNITS))
    with pytest.raises(ValueError, match="wide") as error:
        block(tensor((B, T, Q)), tensor((B, S, K)))
    assert str(Q) in str(error.value)
    assert str(K) in str(error.value)


@pytest.mark.parametrize("kind", [layers.GlobalSelfAttention, layers.CausalSelfAttention])
@pytest.mark.parametrize("shape", [(B, Q), (B, 1, T, Q)])
def test_a_sequence_of_another_rank(tensor, kind, shape):
    with pytest.raises(ValueError, match="query must have shape") as error:
        kind(layers.MultiHeadAttention(2, UNITS))(tensor(shape))
    assert str(shape) in str(error.value)


@pytest.mark.parametrize("shape", [(B, T), (B, S, T), (B, S, 1, S)])
def test_a_mask_that_does_not_fit_a_self_attention(tensor, shape):
    block = layers.GlobalSelfAttention(layers.MultiHeadAttention(2, UNITS))
    with pytest.raises(ValueError, match="mask must have shape") as error:
        block(tensor((B, S, Q)), attention_mask=tensor(shape, "bool"))
    assert str(shape) in str(error.value)


@pytest.mark.parametrize(
    "attention", [lambda: layers.AdditiveAttention(UNITS), MAKE["dense_multi_head"], memory]
)
def test_a_causal_block_with_an_attention_that_it_cannot_use(attention):
    message = r"must be a keras_attention\.layers\.MultiHeadAttention, got keras_attention\.\w+"
    with pytest.raises(ValueError, match=message):
        layers.CausalSelfAttention(attention())


@pytest.mark.parametrize("block", [layers.GlobalSelfAttention, layers.CrossAttention])
def test_a_block_takes_attention_of_this_package_alone(block):
    # Keras' own would read a mask (B, S) as (T, S)
    for attention in (keras.layers.MultiHeadAttention(2, 4), keras.layers.Dense(4), None):
        with pytest.raises(ValueError, match=r"or KerasMultiHeadAttention, got \w+\.\w+"):
            block(attention)


def test_a_mask_for_a_memory_that_is_not_there(tensor):
    layer = layers.TransformerDecoderLayer(2, 4, 16)
    with pytest.raises(ValueError, match="attention_mask is for the memory, and there is none"):
        layer(tensor((B, T, Q)), attention_mask=tensor((B, T), "bool"))


def test_a_built_layer_checks_the_next_call_too(name):
    layer = MAKE[name]()
    query, keys = ops.ones((B, T, widths(name))), ops.ones((B, S, K))
    layer(query, keys)
    with pytest.raises(ValueError, match="mask must have shape"):
        layer(query, keys, attention_mask=np.ones((B, T), dtype=bool))


def test_a_built_layer_refuses_other_widths():
    layer = layers.ContextSensitiveMemory("additive")
    query, keys = np.ones((B, T, Q), "float32"), np.ones((B, S, K), "float32")
    layer(query, keys)
    with pytest.raises(ValueError, match=r"\(Q, K\) = \(7, 11\), got query \(2, 3, 11\)"):
        layer(np.ones((B, T, K), "float32"), keys)
    with pytest.raises(ValueError, match=r"\(7, 11\), got query .*11\) and key .*7\)"):
        layer(keras.Input((None, K)), keras.Input((None, Q)))


def test_a_score_that_serves_two_layers_is_checked_by_both():
    score = layers.scores.DotScore()
    layers.ContextSensitiveMemory(score)(np.ones((B, T, K)), np.ones((B, S, K)))
    other = layers.ContextSensitiveMemory(score)
    with pytest.raises(ValueError, match=r"widths \(Q, K\) = \(11, 11\), got query .*7"):
        other(np.ones((B, T, Q)), np.ones((B, S, K)))


def test_batches_of_different_size_are_refused():
    layer = layers.ContextSensitiveMemory("additive")
    with pytest.raises(ValueError, match=r"same batch size B, got \(2, 3, 7\), \(3, 5, 11\)"):
        layer(np.ones((B, T, Q)), np.ones((3, S, K)))


def test_a_score_function_that_could_not_be_loaded_is_not_saved():
    def first_numbers(query, keys):
        return query[:, :, :1] + keys[:, None, :, 0]

    for function in (first_numbers, lambda query, keys: first_numbers(query, keys)):
        layer = layers.ContextSensitiveMemory(function)
        with pytest.raises(ValueError, match="must be registered with keras"):
            layer.get_config()
