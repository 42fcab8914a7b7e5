import numpy as np
import pytest
from keras import ops

from keras_attention.ops import (
    entropy,
    hard_lookup,
    log_probability,
    lookup,
    marginal_log_likelihood,
    masked_softmax,
    reinforce,
)
from tests.contract import MASK, B, S, T
from tests.numerics import as_numpy, assert_close, gradient

D = 17
LOGITS, LOSSES = np.array([0.5, -0.3, 0.1]), np.array([2.0, 1.0, 4.0])
GOLDEN = [-0.19838162, -0.30112133, 0.49950294]  # of E[loss] in the logits


def softmax64(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def test_the_exact_gradient_by_enumeration_is_the_golden_one():
    def expected_loss(logits):
        return ops.sum(masked_softmax(logits) * ops.convert_to_tensor(LOSSES, "float32"))

    alpha = softmax64(LOGITS)
    np.testing.assert_allclose(alpha * (LOSSES - alpha @ LOSSES), GOLDEN, atol=1e-8)
    assert_close(gradient(expected_loss, LOGITS)[0], GOLDEN)


@pytest.mark.parametrize("baseline", [0.0, 2.0, 100.0])
def test_reinforce_is_exact_when_every_pick_is_weighted_by_its_probability(baseline):
    picks, alpha = np.eye(3, dtype="float32"), softmax64(LOGITS)

    def estimate(logits, pick, loss):
        log_probabilities = log_probability(pick[None, None], masked_softmax(logits)[None, None])
        return ops.sum(reinforce(ops.convert_to_tensor([[loss]]), log_probabilities, baseline))

    total = np.zeros(3)
    for pick, probability, loss in zip(picks, alpha, LOSSES.astype("float32"), strict=True):
        total += probability * gradient(
            lambda logits, pick=pick, loss=loss: estimate(
                logits, ops.convert_to_tensor(pick), loss
            ),
            LOGITS,
        )[0].astype(float)
    # with b = 100 numbers near 40 cancel, each of which is rounded in float32
    assert_close(total, GOLDEN, 1e-6 * max(1, baseline))


def estimates(baseline, count=20_000):
    """Draw with `hard_lookup`, differentiate `reinforce`: one gradient a sample, (count, 3)."""
    noise = np.random.default_rng(7).random((count, 1, 3)).astype("float32")
    scores = np.tile(LOGITS.astype("float32"), (count, 1, 1))
    losses = np.tile(LOSSES.astype("float32")[None, :, None], (count, 1, 1))
    mask = None
    read, picks, _ = hard_lookup(
        *map(ops.convert_to_tensor, (scores, losses)), mask, ops.convert_to_tensor(noise)
    )

    def surrogate(scores):
        log_probabilities = log_probability(picks, masked_softmax(scores))
        return ops.sum(reinforce(read[..., 0], log_probabilities, baseline))

    return gradient(surrogate, scores)[0][:, 0].astype(float)


def test_reinforce_is_unbiased_and_varies_least_near_the_expected_loss():
    expected_loss = float(softmax64(LOGITS) @ LOSSES)
    variances = []
    for baseline in (expected_loss, 0.0, 100.0):
        samples = estimates(baseline)
        errors = (samples.mean(0) - GOLDEN) / (samples.std(0) / len(samples) ** 0.5)
        np.testing.assert_allclose(errors, 0, atol=4, err_msg=f"in its deviations, b = {baseline}")
        variances.append(samples.var(0).sum())
    assert variances[0] < variances[1] < variances[2]
    np.testing.assert_allclose(variances, [0.638, 4.34, 6017], rtol=0.05)


def test_the_likeliest_position_is_read_without_noise():
    scores, values = draw(B, T, S), draw(B, S, D)
    mask = ops.convert_to_tensor(MASK)
    read, weights, _ = hard_lookup(*map(ops.convert_to_tensor, (scores, values)), mask)
    best = np.where(MASK[:, None], scores, -np.inf).argmax(-1)
    np.testing.assert_array_equal(as_numpy(weights), np.eye(S)[best])
    for b, t in np.ndindex(B, T):
        np.testing.assert_array_equal(as_numpy(read)[b, t], values[b, best[b, t]])


@pytest.mark.parametrize("number", [0.0, 1e-30, 0.5, 1.0])
def test_no_noise_lifts_a_masked_position(number):
    # whatever the position that is drawn, and however unlikely those that may be seen
    scores, values = draw(B, T, S), draw(B, S, D)
    scores[:, :, 3:] += 1e4
    for lifted in range(S):
        noise = np.full((B, T, S), number, dtype="float32")
        noise[..., lifted] = 1
        weights = as_numpy(
            hard_lookup(*map(ops.convert_to_tensor, (scores, values, MASK, noise))).weights
        )
        np.testing.assert_array_equal(weights[0, :, 3:], 0)
        np.testing.assert_array_equal(weights.sum(-1), 1)


def test_nothing_to_look_at_picks_nothing():
    mask = np.array([[False] * S, [True] * S])
    noise = np.random.default_rng(0).random((B, T, S)).astype("float32")
    for drawn in (None, ops.convert_to_tensor(noise)):
        read, weights, _ = hard_lookup(
            *map(ops.convert_to_tensor, (draw(B, T, S), draw(B, S, D), mask)), drawn
        )
        np.testing.assert_array_equal(as_numpy(weights)[0], 0)
        np.testing.assert_array_equal(as_numpy(read)[0], 0)
        np.testing.assert_array_equal(as_numpy(weights)[1].sum(-1), 1)


def test_positions_are_drawn_as_often_as_their_weights_say():
    count, scores = 30_000, np.array([1.0, -1.0, 0.0, 2.0, 0.5], dtype="float32")
    noise = np.random.default_rng(3).random((1, count, S)).astype("float32")
    mask = np.array([[True, True, True, False, True]])
    tiled = np.tile(scores, (1, count, 1))
    values = np.eye(S, dtype="float32")[None]
    read = hard_lookup(*map(ops.convert_to_tensor, (tiled, values, mask, noise))).read
    frequencies = as_numpy(read)[0].astype(float).mean(0)
    alpha = softmax64(np.where(mask[0], scores, -np.inf))
    deviation = np.sqrt(alpha * (1 - alpha) / count)
    errors = (frequencies - alpha)[mask[0]] / deviation[mask[0]]
    np.testing.assert_allclose(errors, 0, atol=4, err_msg="in standard deviations")
    np.testing.assert_array_equal(frequencies[~mask[0]], 0)


def losses_of(function):
    """A loss of the scores and of the values, through a lookup."""
    mask = ops.convert_to_tensor(MASK)
    target = ops.convert_to_tensor(draw(B, T, D, seed=1))
    return lambda scores, values: ops.sum(target * function(scores, values, mask).read)


def test_the_choice_has_no_gradient_but_what_is_read_has_one():
    to_scores, to_values = gradient(losses_of(hard_lookup), draw(B, T, S), draw(B, S, D))
    np.testing.assert_array_equal(to_scores, 0)
    assert (to_values != 0).any()


def test_straight_through_passes_the_gradient_of_soft_attention_to_the_scores():
    scores, values = draw(B, T, S), draw(B, S, D)
    straight = losses_of(lambda *inputs: hard_lookup(*inputs, straight_through=True))
    assert_close(
        gradient(straight, scores, values)[0], gradient(losses_of(lookup), scores, values)[0]
    )


def test_straight_through_reads_exactly_what_hard_attention_reads():
    inputs = [ops.convert_to_tensor(x) for x in (draw(B, 97, S), draw(B, S, D), MASK)]
    hard, straight = hard_lookup(*inputs), hard_lookup(*inputs, straight_through=True)
    np.testing.assert_array_equal(as_numpy(straight.weights), as_numpy(hard.weights))
    np.testing.assert_array_equal(as_numpy(straight.read), as_numpy(hard.read))


def test_the_marginal_equals_a_sum_over_all_positions():
    weights, likelihoods = softmax64(draw(B, T, S).astype(float)), draw(B, T, S) - 5
    expected = np.zeros((B, T))
    for b, t in np.ndindex(B, T):
        expected[b, t] = np.log(
            sum(weights[b, t, s] * np.exp(float(likelihoods[b, t, s])) for s in range(S))
        )
    assert_close(
        marginal_log_likelihood(
            ops.convert_to_tensor(weights, "float32"), ops.convert_to_tensor(likelihoods)
        ),
        expected,
    )


def test_the_marginal_is_at_least_the_bound_that_sampling_optimises():
    weights = softmax64(2 * draw(B, T, S).astype(float)).astype("float32")
    likelihoods = 3 * draw(B, T, S, seed=1) - 5
    marginal = as_numpy(
        marginal_log_likelihood(*map(ops.convert_to_tensor, (weights, likelihoods)))
    )
    assert (marginal > (weights * likelihoods).sum(-1)).all()
    # and equal to it where all positions explain equally well
    same = marginal_log_likelihood(ops.convert_to_tensor(weights), ops.full((B, T, S), -5.0))
    assert_close(same, np.full((B, T), -5.0))


def test_the_gradient_of_the_marginal_is_the_posterior():
    weights, likelihoods = softmax64(draw(1, 1, S).astype(float)), draw(1, 1, S, seed=1)
    joint = weights * np.exp(likelihoods.astype(float))
    weights = ops.convert_to_tensor(weights, "float32")
    slope = gradient(lambda x: ops.sum(marginal_log_likelihood(weights, x)), likelihoods)[0]
    assert_close(slope, joint / joint.sum())


def test_a_position_of_weight_zero_explains_nothing_however_well_it_would():
    # log p of a long sentence; the second position is masked
    marginal = marginal_log_likelihood(
        ops.convert_to_tensor([1.0, 0.0]), ops.convert_to_tensor([-100.0, -5.0])
    )
    assert_close(marginal, -100.0)


def test_the_marginal_without_any_weight_is_very_small_with_a_finite_gradient():
    zeros = np.zeros((1, S), dtype="float32")
    assert as_numpy(marginal_log_likelihood(ops.zeros((1, S)), ops.zeros((1, S))))[0] < -60
    for value in gradient(lambda *x: ops.sum(marginal_log_likelihood(*x)), zeros, zeros):
        assert np.isfinite(value).all()


def test_entropy_equals_a_loop_and_is_zero_for_a_certain_choice():
    weights = softmax64(draw(B, T, S).astype(float))
    expected = np.array([[-(row * np.log(row)).sum() for row in rows] for rows in weights])
    assert_close(entropy(ops.convert_to_tensor(weights, "float32")), expected)
    np.testing.assert_array_equal(as_numpy(entropy(ops.one_hot([[2, 0, 4]], S))), 0)
    assert_close(entropy(ops.full((1, 1, S), 1 / S)), [[np.log(S)]])


def test_entropy_has_a_finite_gradient_where_a_position_is_masked():
    mask = ops.convert_to_tensor(np.array([[True] * 3 + [False] * 2, [False] * S])[:, None])
    slope = gradient(lambda x: ops.sum(entropy(masked_softmax(x, mask))), draw(B, T, S))[0]
    assert np.isfinite(slope).all()
    np.testing.assert_array_equal(slope[1], 0)


def test_log_probability_is_that_of_the_pick():
    weights = softmax64(draw(B, T, S).astype(float))
    wanted = np.array([[4, 0, 2], [1, 1, 3]])
    picks = np.eye(S, dtype="float32")[wanted]
    expected = np.log(np.take_along_axis(weights, wanted[..., None], -1)[..., 0])
    weights = ops.convert_to_tensor(weights, "float32")
    assert_close(log_probability(ops.convert_to_tensor(picks), weights), expected)


def test_reinforce_passes_no_gradient_through_loss_and_baseline():
    losses, log_probabilities, baseline = draw(B, T), draw(B, T, seed=1), draw(B, T, seed=2)
    slopes = gradient(lambda *x: ops.sum(reinforce(*x)), losses, log_probabilities, baseline)
    np.testing.assert_array_equal(slopes[0], 0)
    assert_close(slopes[1], losses.astype(float) - baseline)
    np.testing.assert_array_equal(slopes[2], 0)
