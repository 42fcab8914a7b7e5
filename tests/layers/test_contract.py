from functools import partial

import keras
import pytest
from keras.layers import GRUCell, LSTMCell

from keras_attention import layers
from keras_attention.layers import scores
from tests import contract
from tests.contract import B, K, LayerCase, Q, S, T
from tests.layers.test_sequence_contract import CASES as SEQUENCE_CASES

QUERY, ONE_QUERY = (B, T, Q), (B, Q)
WEIGHTS, ONE_COLUMN = (B, T, S), (B, S, 1)


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
    return layers.AttendThenRecur(LSTMCell(13, **kwargs), attention, **kwargs)


def recur_then_attend(attention, **kwargs):
    return layers.RecurThenAttend(GRUCell(13, **kwargs), attention, **kwargs)


def luong(**kwargs):
    return layers.LuongAttention(memory("general", **kwargs), 13, **kwargs)


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
        "attend_then_recur_with_a_past",
        partial(decoder, attend_then_recur, partial(layers.LocationAwareAttention, 13, 3, 3)),
        QUERY,
        WEIGHTS,
    ),
    LayerCase("recur_then_attend", partial(decoder, recur_then_attend, luong), QUERY, WEIGHTS),
    LayerCase("multi_head", partial(layers.MultiHeadAttention, 2, 13), QUERY, (B, 2, T, S)),
    LayerCase(
        "dense_multi_head", partial(layers.DenseMultiHeadAttention, 2, 26), QUERY, (B, 2, T, S)
    ),
    LayerCase(
        "cross_multi_head",
        lambda **k: layers.CrossAttention(layers.MultiHeadAttention(2, 13, **k), **k),
        QUERY,
        (B, 2, T, S),
    ),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    keras.utils.set_random_seed(5)
    return request.param


def test_shapes_are_as_documented_and_weights_sum_to_one(case):
    contract.check_shapes_and_sums(case)


def test_config_round_trip(case):
    contract.check_config_round_trip(case)


def test_json_round_trip_inside_a_model(case):
    contract.check_json_round_trip(case)


def test_symbolic_equals_eager(case):
    contract.check_symbolic_equals_eager(case)


def test_padding_changes_nothing(case):
    contract.check_padding_changes_nothing(case)


def test_implicit_masks_change_nothing(case):
    contract.check_implicit_masks_change_nothing(case)


def test_a_query_with_nothing_to_look_at_gets_weights_zero(case):
    contract.check_nothing_to_look_at(case)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(case, policy):
    contract.check_mixed_precision(case, policy)


def test_one_compiled_fit_step_with_an_empty_row(case):
    contract.check_fit_step(case)


def test_zero_vectors_give_finite_values_and_gradients(case):
    contract.check_zero_vectors(case)


def test_saved_layers_are_the_same_in_a_fresh_process(tmp_path):
    contract.check_fresh_process([case for case in CASES if not case.own_code], tmp_path)


# They take ids, pictures or a step of a loop; their own files hold what they promise.
OF_OTHER_SHAPES = {"BagOfWords", "MemoryTimes", "GlimpseNetwork", "GlimpseRNN", "NTMCell"}


def test_every_public_layer_has_a_case():
    made = set()

    def visit(layer):
        made.add(type(layer).__name__)
        for part in layer._flatten_layers(include_self=False):
            made.add(type(part).__name__)

    for case in [*CASES, *SEQUENCE_CASES]:
        visit(case.make())
    kinds = {name: getattr(layers, name) for name in layers.__all__ if name != "scores"}
    public = {name for name, kind in kinds.items() if issubclass(kind, keras.layers.Layer)}
    assert public - OF_OTHER_SHAPES <= made
    assert {score.__name__ for score in scores.SCORES.values()} <= made
