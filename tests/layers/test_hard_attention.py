import warnings

import keras
import numpy as np
import pytest
from keras import ops
from keras.layers import GRUCell

from keras_attention import ops as formulas
from keras_attention.layers import (
    AttendThenRecur,
    AttentionRNN,
    ContextSensitiveMemory,
    HardAttention,
    LuongAttention,
)
from tests.contract import MASK, B, K, Q, S, T, call
from tests.numerics import as_numpy, assert_close, gradients_of_weights

D = 17


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


INPUTS = draw(B, T, Q), draw(B, S, K), draw(B, S, D)


def tensors():
    query, keys, values = (ops.convert_to_tensor(x) for x in INPUTS)
    return query, values, keys


def picked(layer, training, count=1):
    """Return the positions that are looked at in so many calls, (count, B, T)."""
    mask = ops.convert_to_tensor(MASK)
    weights = [
        layer(*tensors(), attention_mask=mask, return_attention_scores=True, training=training)[1]
        for _ in range(count)
    ]
    return np.array([as_numpy(w).argmax(-1) for w in weights])


def test_inference_reads_the_value_of_the_likeliest_key():
    layer = HardAttention("general")
    read, weights = layer(
        *tensors(), attention_mask=ops.convert_to_tensor(MASK), return_attention_scores=True
    )
    w = as_numpy(layer.score.kernel).astype(float)
    for b, t in np.ndindex(B, T):
        scores = np.array([INPUTS[0][b, t] @ w @ key for key in INPUTS[1][b].astype(float)])
        best = np.where(MASK[b], scores, -np.inf).argmax()
        np.testing.assert_array_equal(as_numpy(weights)[b, t], np.eye(S)[best])
        np.testing.assert_array_equal(as_numpy(read)[b, t], INPUTS[2][b, best])


def test_training_draws_and_inference_does_not():
    layer = HardAttention("general", seed=3)
    quiet = picked(layer, training=False, count=3)
    assert (quiet == quiet[0]).all()
    drawn = picked(layer, training=True, count=7)
    assert len({tuple(row.ravel()) for row in drawn}) > 1
    assert (drawn[:, 0] < 3).all()  # what is masked is never drawn


def test_the_draws_follow_the_seed():
    one, same, other = (HardAttention("dot", seed=seed) for seed in (3, 3, 4))
    query = ops.convert_to_tensor(draw(B, 29, K))
    rows = [
        as_numpy(layer(query, tensors()[2], return_attention_scores=True, training=True)[1])
        for layer in (one, same, other)
    ]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert (rows[0] != rows[2]).any()


def test_positions_are_drawn_as_often_as_the_distribution_says():
    count = 20_000
    layer = HardAttention("dot", seed=5)
    query = ops.convert_to_tensor(np.tile(0.3 * draw(1, 1, K), (1, count, 1)))
    keys = ops.convert_to_tensor(draw(1, S, K))
    mask = ops.convert_to_tensor(np.array([[True, True, False, True, True]]))
    _, weights, distribution = layer(
        query, keys, attention_mask=mask, return_distribution=True, training=True
    )
    alpha = as_numpy(distribution)[0, 0].astype(float)
    deviation = np.sqrt(alpha * (1 - alpha) / count)
    frequencies = as_numpy(weights)[0].astype(float).mean(0)
    seen = as_numpy(mask)[0] > 0
    errors = (frequencies - alpha)[seen] / deviation[seen]
    np.testing.assert_allclose(errors, 0, atol=4, err_msg="in standard deviations")
    np.testing.assert_array_equal(frequencies[~seen], 0)


def test_the_distribution_is_the_softmax_of_soft_attention():
    hard = HardAttention("general")
    soft = ContextSensitiveMemory("general")
    mask = ops.convert_to_tensor(MASK)
    read, weights, distribution = hard(*tensors(), attention_mask=mask, return_distribution=True)
    call(soft, *INPUTS[:2], MASK)
    soft.set_weights([as_numpy(w) for w in hard.trainable_weights])
    _, expected = call(soft, *INPUTS[:2], MASK)
    assert_close(distribution, expected)
    plain = HardAttention("general")
    call(plain, *INPUTS[:2], MASK)
    plain.set_weights([as_numpy(w) for w in hard.weights])
    expected_read, expected_weights = plain(
        *tensors(), attention_mask=mask, return_attention_scores=True
    )
    np.testing.assert_array_equal(as_numpy(read), as_numpy(expected_read))
    np.testing.assert_array_equal(as_numpy(weights), as_numpy(expected_weights))


def slopes(layer, training):
    target = ops.convert_to_tensor(draw(B, T, D, seed=1))
    layer(*tensors())
    return gradients_of_weights(
        layer, lambda: ops.sum(target * layer(*tensors(), training=training))
    )


@pytest.mark.parametrize("training", [True, False])
def test_the_score_has_no_gradient_without_help(training):
    (slope,) = slopes(HardAttention("general", seed=3), training).values()
    np.testing.assert_array_equal(slope, 0)


def test_straight_through_trains_the_score_as_soft_attention_would():
    hard = HardAttention("general", straight_through=True, seed=3)
    (slope,) = slopes(hard, training=True).values()
    soft = ContextSensitiveMemory("general")
    soft(*tensors())
    soft.set_weights([as_numpy(w) for w in hard.trainable_weights])
    (expected,) = slopes(soft, training=True).values()
    assert (slope != 0).any()
    assert_close(slope, expected)


@pytest.mark.xla
@pytest.mark.parametrize("straight_through", [True, False])
def test_a_compiled_step_moves_the_score_only_with_straight_through(straight_through):
    layer = HardAttention("general", straight_through=straight_through, seed=3)
    inputs = [keras.Input((None, Q)), keras.Input((None, K))]
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(*inputs)))
    model.compile("sgd", "mse", jit_compile=keras.backend.backend() != "torch")
    before = as_numpy(layer.score.kernel)
    with warnings.catch_warnings():  # Keras may say that there is no gradient
        warnings.filterwarnings("ignore", "Gradients do not exist", UserWarning)
        model.train_on_batch(list(INPUTS[:2]), draw(B, T, 1))
    assert (as_numpy(layer.score.kernel) != before).any() == straight_through


def test_reinforce_trains_what_straight_through_does_not():
    layer = HardAttention("general", seed=3)
    layer(*tensors())
    losses = ops.convert_to_tensor(draw(B, T, seed=2))

    def surrogate():
        _, picks, distribution = layer(*tensors(), return_distribution=True, training=True)
        return ops.sum(
            formulas.reinforce(losses, formulas.log_probability(picks, distribution), 0.1)
        )

    (slope,) = gradients_of_weights(layer, surrogate).values()
    assert np.isfinite(slope).all()
    assert (slope != 0).any()


def test_the_distribution_is_handed_on_by_layers_around_it():
    query, values, keys = tensors()
    single = HardAttention("general")
    _, column, distribution = single(query[:, 0], values, keys, return_distribution=True)
    assert tuple(column.shape) == tuple(distribution.shape) == (B, S, 1)
    for around in (
        LuongAttention(HardAttention("general")),
        AttentionRNN(AttendThenRecur(GRUCell(13), HardAttention("general", seed=3))),
    ):
        _, picks, distribution = around(
            query, values, keys, return_distribution=True, training=True
        )
        assert tuple(picks.shape) == tuple(distribution.shape) == (B, T, S)
        np.testing.assert_array_equal(as_numpy(picks).max(-1), 1)
        np.testing.assert_allclose(as_numpy(distribution).sum(-1), 1, rtol=1e-6)


def test_noise_has_the_precision_of_float32_at_least():
    before = keras.config.floatx()
    keras.config.set_floatx("bfloat16")
    try:
        noise = HardAttention("dot", seed=0).draw_noise((1, 1, 5))
    finally:
        keras.config.set_floatx(before)
    assert keras.backend.standardize_dtype(noise.dtype) == "float32"
