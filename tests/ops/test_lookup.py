import numpy as np
from keras import ops

from keras_attention.ops import lookup

B, T, S, D = 2, 3, 5, 7


def test_a_certain_lookup_returns_the_row():
    values = np.arange(B * S * D, dtype="float32").reshape(B, S, D)
    wanted = np.array([[4, 0, 2], [1, 1, 3]])
    scores = 100 * np.eye(S, dtype="float32")[wanted]
    found = lookup(ops.convert_to_tensor(scores), ops.convert_to_tensor(values))
    for b, t in np.ndindex(B, T):
        np.testing.assert_allclose(
            ops.convert_to_numpy(found.read)[b, t], values[b, wanted[b, t]], atol=1e-6
        )


def test_equal_scores_read_the_mean_of_what_is_seen():
    values = np.random.default_rng(0).normal(size=(B, S, D)).astype("float32")
    mask = np.array([[True, True, False, False, False], [True, True, True, True, False]])
    read, weights, _ = lookup(
        ops.zeros((B, T, S)), ops.convert_to_tensor(values), ops.convert_to_tensor(mask)
    )
    expected = [values[0, :2].mean(0), values[1, :4].mean(0)]
    for t in range(T):
        np.testing.assert_allclose(ops.convert_to_numpy(read)[:, t], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(weights)[0, 0], [0.5, 0.5, 0, 0, 0], rtol=1e-6)


def test_nothing_to_look_at_reads_zero():
    mask = ops.convert_to_tensor([[False] * S, [True] * S])
    read, weights, _ = lookup(ops.ones((B, T, S)), ops.ones((B, S, D)), mask)
    assert (ops.convert_to_numpy(read)[0] == 0).all()
    assert (ops.convert_to_numpy(weights)[0] == 0).all()
    np.testing.assert_allclose(ops.convert_to_numpy(read)[1], 1, rtol=1e-6)


def test_the_read_keeps_the_dtype_of_the_values_and_the_weights_are_float32():
    read, weights, scores = lookup(ops.ones((B, T, S)), ops.ones((B, S, D), dtype="bfloat16"))
    assert "bfloat16" in str(read.dtype)
    assert "float32" in str(weights.dtype)
    assert "float32" in str(scores.dtype)
