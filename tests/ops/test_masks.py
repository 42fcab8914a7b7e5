import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.ops import align_mask, causal_mask, masked_softmax, padding_mask
from tests.numerics import assert_close

B, T, S = 2, 3, 5


def softmax64(scores, mask, axis):
    """The oracle: plain float64, one row at a time."""
    scores, mask = np.moveaxis(scores, axis, -1), np.moveaxis(mask, axis, -1)
    weights = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        seen = mask[index]
        if seen.any():
            shares = np.exp(scores[index][seen] - scores[index][seen].max())
            weights[index][seen] = shares / shares.sum()
    return np.moveaxis(weights, -1, axis)


def some_scores(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, (B, T, S)), rng.random((B, T, S)) < 0.6


def to_numpy(tensor):
    return ops.convert_to_numpy(tensor)


def test_padding_is_id_zero():
    mask = to_numpy(padding_mask(np.array([[7, 3, 0], [2, 0, 0]])))
    assert mask.tolist() == [[True, True, False], [True, False, False]]


def drawn(mask):
    """Draw a mask: a row of 1 and 0 for each query."""
    return [["".join(map(str, row)) for row in each] for each in to_numpy(mask).astype(int)]


def test_a_query_sees_itself_and_what_stands_before_it():
    assert drawn(causal_mask(3)) == [["100", "110", "111"]]
    assert drawn(causal_mask(1)) == [["1"]]


@pytest.mark.parametrize("axis", [-1, 1])
def test_masked_softmax_equals_the_float64_oracle(axis):
    scores, mask = some_scores()
    mask[0, 1] = False  # a query with nothing to look at
    weights = to_numpy(
        masked_softmax(ops.cast(scores, "float32"), ops.convert_to_tensor(mask), axis)
    )
    assert_close(weights, softmax64(scores, mask, axis))


def test_weights_sum_to_one_or_to_zero_where_there_is_nothing():
    scores, mask = some_scores()
    mask[1, 2] = False
    sums = to_numpy(masked_softmax(ops.cast(scores, "float32"), ops.convert_to_tensor(mask))).sum(
        -1
    )
    np.testing.assert_allclose(sums, mask.any(-1).astype(float), atol=1e-6)


def test_what_is_masked_takes_no_weight_however_low_or_flat_the_scores_are():
    mask = ops.convert_to_tensor([[True, True, False]])
    low = ops.convert_to_tensor([[-2e9, -3e9, 5.0]])
    assert_close(masked_softmax(low, mask), [[1, 0, 0]])
    flat = masked_softmax(ops.ones((1, 3)), mask, temperature=1e9)
    assert_close(flat, [[0.5, 0.5, 0]])


def test_the_note_s_worked_example():
    # 112/8 = 14 and 96/8 = 12, so 0.88 and 0.12
    weights = to_numpy(masked_softmax(ops.convert_to_tensor([14.0, 12.0])))
    np.testing.assert_allclose(weights, [0.880797078, 0.119202922], rtol=1e-6)


def test_softmax_over_the_wrong_axis_is_all_ones():
    scores = ops.convert_to_tensor(np.random.default_rng(1).normal(size=(B, S, 1)), dtype="float32")
    np.testing.assert_array_equal(to_numpy(masked_softmax(scores, axis=-1)), 1)
    np.testing.assert_allclose(to_numpy(masked_softmax(scores, axis=1)).sum(1), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_large_scores_and_empty_rows_are_finite_in_every_dtype(dtype):
    scores = ops.cast([[-60000.0, -60000.0], [60000.0, -60000.0], [-20.0, -30.0]], dtype)
    mask = ops.convert_to_tensor([[False, False], [True, True], [False, False]])
    weights = masked_softmax(scores, mask)
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    np.testing.assert_allclose(to_numpy(weights), [[0, 0], [1, 0], [0, 0]])


@pytest.mark.parametrize("axis", [-1, 1])
def test_a_tiny_temperature_finds_the_largest_score(axis):
    scores = np.zeros((B, T, S), "float32")
    scores[:, 1, 2] = 3e4
    mask = ops.ones((B, T, S), "bool")
    weights = to_numpy(masked_softmax(ops.convert_to_tensor(scores), mask, axis, temperature=1e-36))
    largest = np.isclose(scores, scores.max(axis, keepdims=True))
    assert_close(weights, largest / largest.sum(axis, keepdims=True))


def test_a_model_over_memories_of_one_slot_trains_without_a_warning():
    memory = keras.Input((1, 3))
    scores = keras.layers.Dense(1)(memory)
    read = ops.sum(masked_softmax(scores, axis=1) * memory, axis=1)
    model = keras.Model(memory, read)
    model.compile(loss="mse")  # Keras warns of weights without a gradient
    assert model.train_on_batch(np.ones((B, 1, 3)), np.zeros((B, 3))) == pytest.approx(1.0)


def test_mask_gets_the_rank_of_the_scores():
    scores, heads = ops.zeros((B, T, S)), ops.zeros((B, 7, T, S))
    _, each = some_scores()  # (B, T, S)
    shared = each[:, 0]
    for mask, of, expected in (
        (shared, scores, shared[:, None]),
        (each, scores, each),
        (shared, heads, shared[:, None, None]),
        (each, heads, each[:, None]),
    ):
        aligned = to_numpy(align_mask(ops.convert_to_tensor(mask), of))
        np.testing.assert_array_equal(aligned, expected, strict=True)


@pytest.mark.parametrize("shape", [(B, T), (B, S, T), (S,), (B, 1, T, S), (7, S)])
def test_a_mask_of_another_shape_is_refused_with_both_shapes(shape):
    with pytest.raises(ValueError, match="mask must have shape") as error:
        align_mask(ops.ones(shape, "bool"), ops.zeros((B, T, S)))
    assert str(shape) in str(error.value)
    assert str((B, T, S)) in str(error.value)


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(ValueError, match=r"boolean.*float32"):
        align_mask(ops.ones((B, S)), ops.zeros((B, T, S)))
