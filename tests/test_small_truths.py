"""Truths about attention that fit on a page: the numbers of the lecture notes and of its exercises.

Everything that has a gradient is checked against a formula in NumPy float64, and that formula
against finite differences.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import DenseMultiHeadAttention
from keras_attention.layers.scores import TwoLayerScore
from keras_attention.ops import dot, lookup, masked_softmax, scaled_dot
from tests.contract import B, K, Q, S, T
from tests.numerics import as_numpy, assert_close, gradient, gradients_of_weights

D = 17


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def tensor(x):
    return ops.convert_to_tensor(x, "float32")


# "Thinking" and "Machines": keys of width 64 whose dot products with the query are 112 and 96.
QUERY = np.ones((1, 1, 64))
KEYS = np.stack([np.full(64, 112 / 64), np.full(64, 96 / 64)])[None]


def test_112_and_96_become_14_and_12_and_then_88_and_12_percent():
    assert as_numpy(dot(tensor(QUERY), tensor(KEYS))).tolist() == [[[112, 96]]]
    scores = scaled_dot(tensor(QUERY), tensor(KEYS))
    assert as_numpy(scores).tolist() == [[[14, 12]]]
    assert_close(masked_softmax(scores), [[[0.880797078, 0.119202922]]])


def test_without_the_scale_everything_goes_to_one_word():
    weights = as_numpy(masked_softmax(dot(tensor(QUERY), tensor(KEYS))))[0, 0]
    np.testing.assert_allclose(weights, [0.99999989, 1.125e-7], rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize(("score", "expected"), [(scaled_dot, 0.1050), (dot, 1.125e-7)])
def test_the_softmax_of_large_scores_has_hardly_a_gradient(score, expected):
    # dα₁ / ds₁ = α₁ (1 − α₁) = α₁ α₂
    scores = as_numpy(score(tensor(QUERY), tensor(KEYS)))
    slope = gradient(lambda s: masked_softmax(s)[0, 0, 0], scores)[0][0, 0]
    shares = np.exp(scores[0, 0].astype(float) - scores.max())
    shares /= shares.sum()
    assert slope[1] == pytest.approx(-shares[0] * shares[1], rel=1e-5)
    np.testing.assert_allclose(-slope[1], expected, rtol=2e-3)


def test_a_softmax_over_the_wrong_axis_is_all_ones():
    column = tensor(draw(B, S, 1))
    np.testing.assert_array_equal(as_numpy(masked_softmax(column)), 1)
    np.testing.assert_allclose(as_numpy(masked_softmax(column, axis=1)).sum(1), 1, rtol=1e-6)
    # in Keras the same trap: a softmax over the one unit of a dense layer
    layer = keras.layers.Dense(1, activation="softmax")
    with pytest.warns(UserWarning, match="softmax over axis -1"):
        trapped = layer(tensor(draw(B, S, K)))
    np.testing.assert_allclose(as_numpy(trapped), 1, rtol=1e-6)


def test_the_last_bias_of_the_two_layer_score_learns_nothing():
    query, keys, values = (tensor(draw(*shape)) for shape in ((B, T, Q), (B, S, K), (B, S, D)))
    score = TwoLayerScore(13)
    score(query, keys)
    slopes = gradients_of_weights(
        score, lambda: ops.sum(ops.square(lookup(score(query, keys), values).read))
    )
    largest = max(abs(slope).max() for slope in slopes.values())
    for path, slope in slopes.items():
        # 0 but for the rounding of a sum that cancels
        silent = path.split("/")[-1] == "output_bias"
        assert (abs(slope).max() / largest < 1e-6) == silent, (path, abs(slope).max() / largest)


# Self-attention of one sentence: A = softmax(X W_Q (X W_K)ᵀ / √d), Y = A X W_V, L = Σ Y ⊙ G.
WIDTH = 13
X, G = draw(S, K), draw(S, D)
W_Q, W_K, W_V = draw(K, WIDTH), draw(K, WIDTH, seed=1), draw(K, D)


def loss64(w_q, w_k, w_v, x=X):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(WIDTH)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return ((shares / shares.sum(-1, keepdims=True)) @ x @ w_v * G).sum()


def analytic():
    """dS = A ⊙ (dA − rowsum(dA ⊙ A)), dQ = dS K / √d, dW_Q = Xᵀ dQ, and so on."""
    q, k, v = X @ W_Q, X @ W_K, X @ W_V
    scores = q @ k.T / np.sqrt(WIDTH)
    a = np.exp(scores - scores.max(-1, keepdims=True))
    a /= a.sum(-1, keepdims=True)
    d_a = G @ v.T
    d_s = a * (d_a - (d_a * a).sum(-1, keepdims=True))
    d_q, d_k = d_s @ k / np.sqrt(WIDTH), d_s.T @ q / np.sqrt(WIDTH)
    return X.T @ d_q, X.T @ d_k, X.T @ a.T @ G, d_q


def attention_loss(w_q, w_k, w_v):
    x = tensor(X)[None]
    scores = scaled_dot(ops.matmul(x, w_q), ops.matmul(x, w_k))
    return ops.sum(lookup(scores, ops.matmul(x, w_v)).read * tensor(G))


def test_the_gradient_of_shared_weights_equals_finite_differences():
    weights, step = [W_Q, W_K, W_V], 1e-5
    for n, slope in enumerate(analytic()[:3]):
        for index in np.ndindex(slope.shape):
            nudge = np.zeros(slope.shape)
            nudge[index] = step
            ahead, behind = (
                loss64(*(w + sign * nudge if m == n else w for m, w in enumerate(weights)))
                for sign in (1, -1)
            )
            found = (ahead - behind) / (2 * step)
            tolerance = 1e-6 * abs(slope).max()
            assert found == pytest.approx(slope[index], rel=0, abs=tolerance), (n, index)


def test_the_gradient_of_shared_weights_is_that_of_the_backend():
    for slope, expected in zip(
        gradient(attention_loss, W_Q, W_K, W_V), analytic()[:3], strict=True
    ):
        assert_close(slope, expected)


def test_shared_weights_learn_the_sum_of_what_each_position_wants():
    # dL/dW_Q = Σ_t x_t (dq_t)ᵀ: a product for each position, and a sum over them
    d_w_q, _, _, d_q = analytic()
    by_position = [np.outer(x, d) for x, d in zip(X, d_q, strict=True)]
    np.testing.assert_allclose(sum(by_position), d_w_q, atol=1e-12)

    def untied(copies):  # a W_Q of its own at each position
        queries = ops.matmul(tensor(X)[:, None], copies)[:, 0]
        x = tensor(X)[None]
        scores = scaled_dot(queries[None], ops.matmul(x, tensor(W_K)))
        return ops.sum(lookup(scores, ops.matmul(x, tensor(W_V))).read * tensor(G))

    (slopes,) = gradient(untied, np.repeat(W_Q[None], S, axis=0))
    assert_close(slopes, by_position)
    assert_close(slopes.sum(0), d_w_q)


@pytest.mark.parametrize("width", [4, 64, 512])
def test_dot_products_vary_with_their_width_and_scaled_ones_do_not(width):
    query, keys = (tensor(draw(1, 400, width, seed=seed)) for seed in (1, 2))
    np.testing.assert_allclose(as_numpy(dot(query, keys)).var(), width, rtol=0.05)
    np.testing.assert_allclose(as_numpy(scaled_dot(query, keys)).var(), 1, rtol=0.05)


def test_cutting_heads_with_one_reshape_mixes_times_and_heads():
    heads, depth = 2, 13
    x = draw(B, T, heads * depth)
    layer = DenseMultiHeadAttention(heads, heads * depth)
    layer(tensor(x), tensor(x))
    for part in (layer.to_query, layer.to_key):
        part.set_weights([np.eye(heads * depth), np.zeros(heads * depth)])
    _, found = layer(tensor(x), tensor(x), return_attention_scores=True)
    cut = np.stack([x[..., h * depth : (h + 1) * depth] for h in range(heads)], axis=1)
    mixed = x.reshape(B, heads, T, depth)
    weights, mixed_weights = (
        as_numpy(masked_softmax(scaled_dot(tensor(each), tensor(each)))) for each in (cut, mixed)
    )
    assert_close(found, weights, 2e-6)
    assert abs(mixed_weights - weights).max() > 0.1
    # head 0 of the reshape holds numbers of the first two times only
    assert set(mixed[0, 0].ravel()) <= set(x[0, :2].ravel())
