import numpy as np
import pytest
from keras import ops

from keras_attention.ops import gaussian, local_lookup, lookup, predicted_centres, window
from tests.contract import MASK, B, Q, S, T
from tests.numerics import as_numpy, assert_close, gradient

D, UNITS = 17, 13


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def oracle(scores, values, centres, half_width, mask, favour):
    """nmt.matlab with positions from 0: the window, the softmax over it, the Gaussian."""
    weights = np.zeros(scores.shape)
    for b, t in np.ndindex(scores.shape[:2]):
        centre, seen = float(centres[b, t]), {}
        for s in range(scores.shape[2]):
            if centre - half_width <= s <= centre + half_width and mask[b, s]:
                favoured = np.exp(-((s - centre) ** 2) / (2 * (half_width / 2) ** 2))
                score = float(scores[b, t, s])
                before = favoured if favour == "scores" else 1
                after = favoured if favour == "weights" else 1
                seen[s] = np.exp(score * before), after
        total = sum(share for share, _ in seen.values())
        for s, (share, after) in seen.items():
            weights[b, t, s] = share / total * after
    return weights @ values.astype(float), weights


def test_the_golden_window_and_gaussian():
    # S = 8, so p = 8 sigmoid(-0.2) = 3.6013280215; D = 2, sigma = 1
    centres = predicted_centres(
        ops.ones((1, 1, 1)), ops.ones((1, 1)), [-0.2 / np.tanh(1)], ops.convert_to_tensor([[8]])
    )
    assert_close(centres, [[3.6013280215]])
    seen = as_numpy(window(centres, 8, 2))[0, 0].astype(bool)
    assert np.flatnonzero(seen).tolist() == [2, 3, 4, 5]
    favoured = as_numpy(gaussian(centres, 8, 2))[0, 0]
    assert_close(favoured[2:6], [0.2774468998, 0.8346041865, 0.9236060295, 0.3760092060])


def test_the_gaussian_of_the_paper_leaves_weights_that_sum_to_less_than_one():
    # four equal scores, of which the golden Gaussian leaves 0.603
    centres = ops.convert_to_tensor([[3.6013280215]])
    _, weights, _ = local_lookup(
        ops.zeros((1, 1, 8)), ops.ones((1, 8, 1)), centres, 2, favour="weights"
    )
    expected = np.array([0.2774468998, 0.8346041865, 0.9236060295, 0.3760092060]) / 4
    assert_close(as_numpy(weights)[0, 0, 2:6], expected)
    np.testing.assert_allclose(as_numpy(weights).sum(), 0.603, atol=5e-4)


def test_predicted_centres_equal_a_loop():
    query, w, v = draw(B, T, Q), draw(Q, UNITS), draw(UNITS)
    lengths = np.array([[3], [5]])
    expected = np.zeros((B, T))
    for b, t in np.ndindex(B, T):
        hidden = v.astype(float) @ np.tanh(query[b, t].astype(float) @ w)
        expected[b, t] = lengths[b, 0] / (1 + np.exp(-hidden))
    assert_close(predicted_centres(*map(ops.convert_to_tensor, (query, w, v, lengths))), expected)


@pytest.mark.parametrize("favour", [None, "weights", "scores"])
@pytest.mark.parametrize("half_width", [0.7, 1, 2, 10])
def test_equals_the_authors_code(favour, half_width):
    scores, values = draw(B, T, S), draw(B, S, D)
    centres = np.array([[0.3, 1.0, 2.6], [4.4, 2.0, 0.0]], dtype="float32")
    expected, expected_weights = oracle(scores, values, centres, half_width, MASK, favour)
    read, weights, _ = local_lookup(
        *map(ops.convert_to_tensor, (scores, values, centres)),
        half_width,
        ops.convert_to_tensor(MASK),
        favour,
    )
    assert_close(weights, expected_weights)
    assert_close(read, expected)


@pytest.mark.parametrize("favour", [None, "weights", "scores"])
def test_a_window_without_end_is_global_attention(favour):
    scores, values = draw(B, T, S), draw(B, S, D)
    centres = np.array([[0.3, 1.0, 2.6], [4.4, 2.0, 0.0]], dtype="float32")
    scores, values, centres = map(ops.convert_to_tensor, (scores, values, centres))
    mask = ops.convert_to_tensor(MASK)
    near = local_lookup(scores, values, centres, 1e6, mask, favour)
    everywhere = lookup(scores, values, mask)
    assert_close(near.weights, as_numpy(everywhere.weights))
    assert_close(near.read, as_numpy(everywhere.read))


@pytest.mark.parametrize("favour", [None, "weights", "scores"])
def test_an_empty_window_reads_zero_with_finite_gradients(favour):
    # nothing lies within 0.1 of 1.5, and a mask that leaves nothing of the second window
    scores, values = draw(2, 1, S), draw(2, S, D)
    centres = np.array([[1.5], [4.0]], dtype="float32")
    mask = ops.convert_to_tensor(np.array([[True] * S, [True] * 3 + [False] * 2]))

    def read_of(scores, values, centres):
        return local_lookup(scores, values, centres, 0.1, mask, favour).read

    np.testing.assert_array_equal(
        as_numpy(read_of(*map(ops.convert_to_tensor, (scores, values, centres)))), 0
    )
    for value in gradient(lambda *x: ops.sum(ops.square(read_of(*x) - 1)), scores, values, centres):
        np.testing.assert_array_equal(value, 0)


def test_positions_count_from_zero_and_both_ends_of_the_window_belong_to_it():
    seen = as_numpy(window(ops.convert_to_tensor([[0.0, 2.0, 4.0]]), S, 1))[0]
    assert seen.tolist() == [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1]]
    favoured = as_numpy(gaussian(ops.convert_to_tensor([[0.0, 2.0, 4.0]]), S, 2))[0]
    assert (favoured.argmax(-1) == [0, 2, 4]).all()
    np.testing.assert_array_equal(favoured.max(-1), 1)


def test_centres_depend_on_the_length_without_padding():
    # v = 0: every query looks at the middle of its own sentence
    centres = predicted_centres(
        ops.ones((2, 3, 7)), ops.ones((7, 1)), [0.0], ops.convert_to_tensor([[4], [10]])
    )
    assert as_numpy(centres).tolist() == [[2, 2, 2], [5, 5, 5]]


def test_only_the_gaussian_passes_a_gradient_to_the_centre():
    scores, values = draw(1, 1, S), draw(1, S, D)
    tensors = ops.convert_to_tensor(scores), ops.convert_to_tensor(values)

    def slope(favour):
        def read(centres):
            return ops.sum(ops.square(local_lookup(*tensors, centres, 2, favour=favour).read))

        return gradient(read, np.array([[2.2]], dtype="float32"))[0]

    np.testing.assert_array_equal(slope(None), 0)
    assert (slope("weights") != 0).all()
    assert (slope("scores") != 0).all()
