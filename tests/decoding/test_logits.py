"""Logits to tokens, against NumPy and against the samplers of KerasNLP."""

import numpy as np
import pytest
from keras import ops

from keras_attention.decoding import logits as on_logits


def random_logits(rows, size, seed=0):
    return np.random.default_rng(seed).normal(0, 3, (rows, size)).astype("float32")


@pytest.mark.parametrize("size", [1, 2, 7, 97, 100, 1009])
@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_the_likeliest_are_those_of_a_sort(size, k):
    k = min(k, size)
    logits = random_logits(3, size)
    values, ids = map(ops.convert_to_numpy, on_logits.likeliest(ops.array(logits), k))
    expected = np.argsort(-logits, axis=-1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(logits, expected, axis=-1))


@pytest.mark.parametrize("k", [1, 3, 11])
def test_of_equal_logits_each_is_found_once(k):
    logits = ops.array(np.repeat([[1.0, 5.0, 5.0, 0.0]], 25, axis=1).astype("float32"))
    values, ids = map(ops.convert_to_numpy, on_logits.likeliest(logits, k))
    np.testing.assert_array_equal(values, 5)
    assert len(set(ids[0])) == k


def test_log_probabilities_are_those_of_a_softmax():
    logits, ids = random_logits(3, 11), np.array([[0, 10], [5, 5], [1, 2]])
    found = on_logits.log_probabilities(ops.array(logits), ops.array(ids))
    exact = logits.astype("float64")
    exact -= np.log(np.exp(exact).sum(-1, keepdims=True))
    np.testing.assert_allclose(
        ops.convert_to_numpy(found), np.take_along_axis(exact, ids, axis=1), atol=1e-5
    )


def kept(function, logits, *options):
    return np.isfinite(ops.convert_to_numpy(function(ops.array(logits), *options)))


@pytest.mark.parametrize("k", [1, 2, 5, 101])
def test_top_k_keeps_the_k_largest(k):
    logits = random_logits(13, 101)
    expected = logits >= np.sort(logits)[:, -k][:, None]
    assert (kept(on_logits.keep_top_k, logits, k) == expected).all()
    assert (expected.sum(1) == k).all()


@pytest.mark.parametrize("p", [1e-6, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_top_p_keeps_the_smallest_set_with_that_probability(p, scale):
    logits = scale * random_logits(13, 101)
    found = kept(on_logits.keep_top_p, logits, p)
    for row, mask in zip(logits.astype("float64"), found, strict=True):
        probabilities = np.exp(row - row.max())
        probabilities /= probabilities.sum()
        order = np.argsort(-probabilities)
        count = int((np.cumsum(probabilities[order]) < p).sum()) + 1
        assert set(np.flatnonzero(mask)) == set(order[:count])


def test_top_p_renormalises_what_top_k_left():
    # Of 0.4, 0.3, 0.2, 0.1 the first three are left: 4/9, 3/9, 2/9. Two of them make 0.75.
    logits = np.log(np.array([[0.1, 0.4, 0.2, 0.3]], dtype="float32"))
    both = on_logits.keep_top_p(on_logits.keep_top_k(ops.array(logits), 3), 0.75)
    assert np.isfinite(ops.convert_to_numpy(both)).tolist() == [[False, True, False, True]]
    assert kept(on_logits.keep_top_p, logits, 0.75).sum() == 3  # 0.4 + 0.3 are too few


def test_off_means_off():
    logits = random_logits(3, 7)
    for function, options in ((on_logits.keep_top_k, (None, 0)), (on_logits.keep_top_p, (None, 1))):
        for option in options:
            assert kept(function, logits, option).all()


@pytest.mark.parametrize("size", [1, 2, 7, 101])
def test_draws_invert_the_cumulative_distribution(size):
    row = random_logits(1, size)[0].astype("float64")
    draws = np.linspace(0, 1, 997, endpoint=False)
    ids = on_logits.draw_token(
        ops.array(np.tile(row.astype("float32"), (997, 1))), ops.array(draws.astype("float32"))
    )
    ends = np.cumsum(np.exp(row) / np.exp(row).sum())
    expected = np.searchsorted(ends, draws, side="right").clip(0, size - 1)
    near = np.abs(ends[None] - draws[:, None]).min(1) < 1e-5  # rounding may choose the neighbour
    assert (near | (ops.convert_to_numpy(ids) == expected)).all()


def test_nothing_of_probability_zero_is_drawn():
    logits = np.full((3, 10), -np.inf, dtype="float32")
    logits[:, [4, 6]] = 0
    draws = np.array([0, 0.5, np.nextafter(np.float32(1), np.float32(0))], dtype="float32")
    ids = ops.convert_to_numpy(on_logits.draw_token(ops.array(logits), ops.array(draws)))
    assert ids.tolist() == [4, 6, 6]


@pytest.mark.parametrize("first", [0, 1])
def test_nothing_of_probability_zero_is_drawn_where_rounding_is_worst(first):
    # Every second one is impossible; the draws are as close as can be to where a chunk of 20 ends.
    logits = random_logits(97, 400)
    logits[:, first::2] = -np.inf
    ends = np.exp(logits).cumsum(1)
    edges = (ends / ends[:, -1:])[:, 19:-1:20]
    draws = np.stack([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)], axis=2)
    rows = np.repeat(logits, draws[0].size, axis=0)
    ids = on_logits.draw_token(ops.array(rows), ops.array(draws.reshape(-1)))
    assert (ops.convert_to_numpy(ids) % 2 != first).all()


@pytest.fixture(scope="module")
def samplers():
    return pytest.importorskip("keras_nlp").samplers


def candidates_of(sampler, logits):
    """Return the ids that a sampler of KerasNLP takes, of so many draws that none is missing."""
    probabilities = sampler.compute_probabilities(ops.array(np.tile(logits, (5003, 1))))
    return set(np.unique(ops.convert_to_numpy(sampler.get_next_token(probabilities))))


@pytest.mark.thorough
def test_the_candidates_are_those_of_the_samplers_of_kerasnlp(samplers):
    logits = np.log(np.array([0.05, 0.3, 0.02, 0.25, 0.2, 0.1, 0.08], dtype="float32"))
    for k in (1, 3, 5):
        oracle = candidates_of(samplers.TopKSampler(k=k, seed=0), logits)
        assert oracle == set(np.flatnonzero(kept(on_logits.keep_top_k, logits[None], k)[0]))
    for p in (0.2, 0.6, 0.87):
        oracle = candidates_of(samplers.TopPSampler(p=p, seed=0), logits)
        assert oracle == set(np.flatnonzero(kept(on_logits.keep_top_p, logits[None], p)[0]))
