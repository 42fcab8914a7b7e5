from functools import partial

import keras
import pytest
from keras.layers import GRUCell, LSTMCell

from keras_attention import layers
from keras_attention.layers import scores
from tests import contract
from tests.contract import B, K, LayerCase, Q, S, T

H, DEPTH = 2, 13
QUERY, ONE_QUERY, SEQUENCE = (B, T, Q), (B, Q), (B, S, Q)
WEIGHTS, ONE_COLUMN, HEADS = (B, T, S), (B, S, 1), (B, H, T, S)


NO_QR = "glorot_uniform"  # Keras' own, an orthogonal matrix, cannot be drawn in half precision


@keras.saving.register_keras_serializable("tests")
def first_numbers(query, keys):
    """A score of one's own: the sum of the first number of query and key."""
    return query[:, :, :1] + keras.ops.swapaxes(keys[:, :, :1], 1, 2)


def memory(score, **kwargs):
    return layers.ContextSensitiveMemory(score, **kwargs)


def decoder(cell, attention, **kwargs):
    """The loop around a cell with an attention; all of one precision."""
    policy = {"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}
    return layers.AttentionRNN(cell(attention=attention(**policy), **policy), **policy)


def attend_then_recur(attention, **kwargs):
    cell = LSTMCell(13, recurrent_initializer=NO_QR, **kwargs)
    return layers.AttendThenRecur(cell, attention, **kwargs)


def recur_then_attend(attention, **kwargs):
    cell = GRUCell(13, recurrent_initializer=NO_QR, **kwargs)
    return layers.RecurThenAttend(cell, attention, **kwargs)


def luong(**kwargs):
    return layers.LuongAttention(memory("general", **kwargs), 13, **kwargs)


def multi_head(**kwargs):
    return layers.MultiHeadAttention(H, DEPTH, **kwargs)


def global_self_attention(norm_first, **kwargs):
    return layers.GlobalSelfAttention(multi_head(**kwargs), norm_first, **kwargs)


def causal_self_attention(norm_first, **kwargs):
    return layers.CausalSelfAttention(multi_head(**kwargs), norm_first, **kwargs)


def cross_attention(**kwargs):
    return layers.CrossAttention(multi_head(**kwargs), **kwargs)


def over_frames(**kwargs):
    return layers.OverFrames(keras.layers.Dense(Q, **kwargs), **kwargs)


def gru(**kwargs):
    return layers.GRU(Q, return_sequences=True, recurrent_initializer=NO_QR, **kwargs)


def turing_machine(controller="feed_forward", dtype=None, units=4, **kwargs):
    """The loop around the cell, with an output as wide as its input."""
    cell = layers.NTMCell(units, 11, 3, controller=controller, dtype=dtype, **kwargs)
    return keras.layers.RNN(cell, return_sequences=True, dtype=dtype)


def alone(name, make, query_shape=SEQUENCE, **options):
    """Name a layer that takes one sequence alone, and no mask if nothing else is said."""
    return LayerCase(name, make, query_shape, **{"memory": False, "masked": False, **options})


# Scores that compare vectors of one width are given a projection to it.
CASES = [
    *(
        LayerCase(f"memory_{name}", partial(memory, name, key_dim=13), QUERY, WEIGHTS)
        for name in scores.SCORES
        if name != "location"  # for which the keys, and so their projection, count for nothing
    ),
    LayerCase("memory_location", partial(memory, "location"), QUERY, WEIGHTS),
    LayerCase("memory_function", partial(memory, first_numbers), QUERY, WEIGHTS, own_code=True),
    LayerCase("memory_unprojected", partial(memory, "general"), QUERY, WEIGHTS),
    LayerCase(
        "memory_projected",
        partial(memory, "dot", temperature=2.0, key_dim=13, value_dim=17),
        QUERY,
        WEIGHTS,
    ),
    LayerCase("memory_single", partial(memory, "concat"), ONE_QUERY, ONE_COLUMN, 1),
    LayerCase("additive", partial(layers.AdditiveAttention, 13), QUERY, WEIGHTS),
    LayerCase("additive_single", partial(layers.AdditiveAttention, 13), ONE_QUERY, ONE_COLUMN, 1),
    LayerCase("hopfield", partial(layers.Hopfield, 0.5, 2), (B, T, K), WEIGHTS),
    LayerCase("memory_hop", partial(layers.MemoryHop, mapped=True), (B, T, K), WEIGHTS),
    LayerCase("local_m", partial(layers.MonotonicLocalAttention, 1, "general"), QUERY, WEIGHTS),
    LayerCase(
        "local_p",
        partial(layers.PredictiveLocalAttention, 3, "general"),
        QUERY,
        WEIGHTS,
        sums_to_one=False,
    ),
    LayerCase(
        "local_p_scores",
        partial(layers.PredictiveLocalAttention, 3, "additive", favour="scores"),
        QUERY,
        WEIGHTS,
        continuous=False,  # rounding may move a position into the window
    ),
    LayerCase(
        "hard",
        partial(layers.HardAttention, "general", straight_through=True, seed=3),
        QUERY,
        WEIGHTS,
        continuous=False,
    ),
    LayerCase("luong", luong, QUERY, WEIGHTS),
    *(
        LayerCase(f"pooling_{mode}", partial(layers.Pooling, mode), QUERY, WEIGHTS)
        for mode in ("last", "max", "mean")
    ),
    LayerCase("coverage", partial(layers.CoverageAttention, 13), QUERY, WEIGHTS),
    LayerCase("neural_coverage", partial(layers.NeuralCoverageAttention, 13, 3), QUERY, WEIGHTS),
    LayerCase("location_aware", partial(layers.LocationAwareAttention, 13, 3, 3), QUERY, WEIGHTS),
    LayerCase(
        "recurrent_location", partial(layers.RecurrentLocationAttention, 13, 3, 3), QUERY, WEIGHTS
    ),
    LayerCase(
        "attend_then_recur",
        partial(decoder, attend_then_recur, partial(memory, "two_layer")),
        QUERY,
        WEIGHTS,
    ),
    LayerCase(
        "attend_then_recur_with_a_state",
        partial(decoder, attend_then_recur, partial(layers.LocationAwareAttention, 13, 3, 3)),
        QUERY,
        WEIGHTS,
    ),
    LayerCase("recur_then_attend", partial(decoder, recur_then_attend, luong), QUERY, WEIGHTS),
    LayerCase(
        "attend_then_recur_with_heads",
        partial(decoder, attend_then_recur, multi_head),
        QUERY,
        HEADS,
    ),
    LayerCase("multi_head", multi_head, QUERY, HEADS),
    LayerCase(
        "keras_multi_head",
        partial(layers.KerasMultiHeadAttention, H, DEPTH),
        QUERY,
        HEADS,
        float32_softmax=False,
    ),
    LayerCase("dense_multi_head", partial(layers.DenseMultiHeadAttention, H, 26), QUERY, HEADS),
    LayerCase("cross_multi_head", cross_attention, QUERY, HEADS),
    *(
        alone(f"{kind}_{order}", partial(make, norm_first), weights_shape=(B, H, S, S), masked=mask)
        for kind, make, mask in (
            ("global_self_attention", global_self_attention, True),
            ("causal_self_attention", causal_self_attention, False),
        )
        for order, norm_first in (("post_norm", False), ("pre_norm", True))
    ),
    alone("over_frames", over_frames),
    alone("gru", gru, implicit_masks=True),
    alone("turing_machine", turing_machine, implicit_masks=True),
    alone(
        "turing_machine_with_many_heads",
        partial(
            turing_machine,
            "lstm",
            units=1,
            read_heads=2,
            write_heads=2,
            learned_memory=True,
            start="first_row",
            stay_bias=1.0,
        ),
        implicit_masks=True,
    ),
    alone("feed_forward_post_norm", partial(layers.FeedForward, 17)),
    alone("feed_forward_pre_norm", partial(layers.FeedForward, 17, norm_first=True)),
    *(
        alone(
            f"transformer_encoder_layer_{order}",
            partial(layers.TransformerEncoderLayer, H, DEPTH, 17, norm_first=norm_first),
            weights_shape=(B, H, S, S),
            masked=True,
        )
        for order, norm_first in (("post_norm", False), ("pre_norm", True))
    ),
    alone("transformer_decoder_layer", partial(layers.TransformerDecoderLayer, H, DEPTH, 17)),
    alone("learned_positions", partial(layers.LearnedPositions, S)),
    *(  # sines and cosines come in pairs
        alone(f"sinusoids_{layout}", partial(layers.SinusoidalPositions, layout), (B, S, 14))
        for layout in ("interleaved", "concatenated")
    ),
]

# These make an LSTM of their own.
OWN_LSTM = (
    "recurrent_location",
    "attend_then_recur_with_a_state",
    "turing_machine_with_many_heads",
)
COMPILED_EVERY_DAY = ("multi_head", "attend_then_recur_with_a_state")
with_memory = pytest.mark.parametrize("case", [c for c in CASES if c.memory], ids=str)
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_attention = pytest.mark.parametrize(
    "case", [c for c in CASES if c.memory and c.name != "cross_multi_head"], ids=str
)


@every_case
def test_shapes_are_as_documented_and_weights_sum_to_one(case):
    contract.check_shapes_and_sums(case)


@every_attention
def test_called_as_keras_calls_attention(case):
    contract.check_called_as_keras_calls_attention(case)


@every_case
def test_config_round_trip(case):
    contract.check_config_round_trip(case)


@every_case
def test_symbolic_equals_eager(case):
    contract.check_symbolic_equals_eager(case)


@every_case
def test_one_sequence_does_not_change_another(case):
    contract.check_one_sequence_does_not_change_another(case)


@with_memory
def test_padding_changes_nothing(case):
    contract.check_padding_changes_nothing(case)


@every_case
def test_implicit_masks_change_nothing(case):
    if case.implicit_masks:
        pytest.skip("Keras' own loop heeds them")
    contract.check_implicit_masks_change_nothing(case)


@with_memory
def test_a_query_with_nothing_to_look_at_gets_weights_zero(case):
    contract.check_nothing_to_look_at(case)


@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.thorough)]
)
@every_case
def test_mixed_precision(case, policy):
    contract.check_mixed_precision(case, policy)


@pytest.mark.parametrize(
    "policy", ["bfloat16", pytest.param("float16", marks=pytest.mark.thorough)]
)
@every_case
def test_half_precision(case, policy):
    contract.check_half_precision(case, policy)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX computes in 32 bits by default")
@every_case
def test_double_precision(case):
    contract.check_double_precision(case)


def why_never_empty(case, axis):
    """Return why an axis of a layer's inputs cannot be empty, or None if it can."""
    if case.implicit_masks and axis == "S":
        return "Keras' own loop takes at least one step"
    classes = contract.classes_in(keras.saving.serialize_keras_object(contract.layer_of(case)))
    lstm = "LSTMCell" in classes or case.name in OWN_LSTM
    if keras.backend.backend() == "tensorflow" and axis == "B" and lstm:
        return "Keras' LSTM cannot take an empty batch on TensorFlow"
    return None


@pytest.mark.parametrize("axis", ["B", "T", "S"])
@every_case
def test_empty_batches_queries_and_memories(case, axis):
    if reason := why_never_empty(case, axis):
        pytest.skip(reason)
    contract.check_empty(case, axis)


@every_case
def test_every_weight_has_a_gradient_with_an_empty_row_too(case):
    contract.check_gradients(case)


# What XLA has to compile is every layer's own; a loop with a past has most of it.
@pytest.mark.xla
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case.name in COMPILED_EVERY_DAY else pytest.mark.thorough)
        for case in CASES
    ],
    ids=str,
)
def test_one_compiled_fit_step_with_an_empty_row(case):
    contract.check_fit_step(case)


@every_case
def test_zero_vectors_give_finite_values_and_gradients(case):
    contract.check_zero_vectors(case)


def test_saved_layers_are_the_same_in_a_fresh_process(tmp_path):
    contract.check_fresh_process([case for case in CASES if not case.own_code], tmp_path)


# They take ids, pictures or a step of a loop; their own files hold what they promise.
OF_OTHER_SHAPES = {
    "BagOfWords",
    "GlimpseNetwork",
    "GlimpseRNN",
    "MemoryTimes",
    "PositionalEmbedding",
    "TokenEmbedding",
}


def test_every_public_layer_has_a_case():
    configs = [keras.saving.serialize_keras_object(case.make()) for case in CASES]
    made = set(contract.classes_in(configs))
    kinds = {name: getattr(layers, name) for name in layers.__all__ if name != "scores"}
    public = {name for name, kind in kinds.items() if issubclass(kind, keras.layers.Layer)}
    assert public - OF_OTHER_SHAPES <= made
    assert {score.__name__ for score in scores.SCORES.values()} <= made


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.BagOfWords(7, 3),
        lambda: layers.MemoryTimes(5),
        lambda: layers.PositionalEmbedding(7, 4),
        lambda: layers.GlimpseRNN(layers.GlimpseNetwork(4, 2), keras.layers.SimpleRNNCell(3), 2),
    ],
    ids=["BagOfWords", "MemoryTimes", "PositionalEmbedding", "GlimpseRNN"],
)
def test_every_argument_of_a_layer_of_another_shape_is_in_its_config(make):
    contract.check_every_argument_is_in_the_config(make())
