import pytest

from keras_attention.layers import AdditiveAttention, CrossAttention, MultiHeadAttention
from tests import contract
from tests.contract import B, LayerCase, Q, S, T

QUERY = (B, T, Q)
CASES = [
    LayerCase("additive", lambda **k: AdditiveAttention(13, **k), QUERY, (B, T, S)),
    LayerCase("additive_single", lambda **k: AdditiveAttention(13, **k), (B, Q), (B, S, 1), 1),
    LayerCase("multi_head", lambda **k: MultiHeadAttention(2, 13, **k), QUERY, (B, 2, T, S)),
    LayerCase(
        "cross_multi_head",
        lambda **k: CrossAttention(MultiHeadAttention(2, 13, **k), **k),
        QUERY,
        (B, 2, T, S),
    ),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
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


def test_every_public_layer_has_a_case():
    from keras_attention import layers

    names = {type(case.make()).__name__ for case in CASES}
    assert names == set(layers.__all__)
