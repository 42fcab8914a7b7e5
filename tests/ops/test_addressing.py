"""How the heads of a Neural Turing Machine find rows, read and write them."""

import numpy as np
import pytest
from keras import ops

from keras_attention.ops import addressing
from keras_attention.ops.addressing import Address
from tests.contract import B
from tests.numerics import as_numpy, assert_close, gradient

N, M, H = 13, 7, 3  # rows, their width, heads

# A case to do on paper: a memory of four rows
MEMORY = np.array([[[1, 0], [0, 1], [1, 1], [-1, 0]]], "float32")
CONTENT = [0.5846863077, 0.0791286871, 0.3254761020, 0.0107089033]
GATED = [0.2923431538, 0.0395643435, 0.1627380510, 0.5053544516]
SHIFTED = [0.2883664026, 0.0771595953, 0.1846823203, 0.4497916818]
SHARP = [0.255446388, 0.0182890156, 0.1047758256, 0.6214887708]
READ = [-0.2612665572, 0.1230648412]
WRITTEN = [
    [0.7956428896, -0.0766339164],
    [0.0036578031, 0.9853687876],
    [0.9161793395, 0.9161793395],
    [-0.2542134750, -0.1864466313],
]


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def shares(*shape, seed=0):
    """Draw numbers that sum to 1 over the last axis."""
    numbers = np.exp(draw(*shape, seed=seed))
    return numbers / numbers.sum(-1, keepdims=True)


def tensor(values):
    return ops.convert_to_tensor(np.asarray(values, "float32"))


def one_head(values):
    """One sequence, one head."""
    return tensor([[values]])


def number(value):
    return tensor([[value]])


def test_the_chain_from_a_key_to_weights_on_paper():
    memory = tensor(MEMORY)
    content = addressing.content_weights(one_head([1, 0]), memory, number(2))
    assert_close(content[0, 0], CONTENT)
    gated = addressing.interpolate(content, one_head([0, 0, 0, 1]), number(0.5))
    assert_close(gated[0, 0], GATED)
    shifted = addressing.shift(gated, one_head([0.1, 0.8, 0.1]))
    assert_close(shifted[0, 0], SHIFTED)
    assert_close(addressing.sharpen(shifted, number(2))[0, 0], SHARP)
    wanted = Address(one_head([1, 0]), number(2), number(0.5), one_head([0.1, 0.8, 0.1]), number(2))
    weights = addressing.address(wanted, memory, one_head([0, 0, 0, 1]))
    assert_close(weights[0, 0], SHARP)


def test_reading_and_writing_on_paper():
    weights = one_head(SHARP)
    assert_close(addressing.read(tensor(MEMORY), weights)[0, 0], READ)
    memory = addressing.erase(tensor(MEMORY), weights, one_head([1, 0.5]))
    assert_close(addressing.add(memory, weights, one_head([0.2, -0.3]))[0], WRITTEN)


def test_a_shift_is_a_convolution_and_no_correlation():
    shifted = addressing.shift(one_head(GATED), one_head([0, 0.2, 0.8]))[0, 0]
    assert_close(shifted, [0.4627521921, 0.2417873918, 0.0641990850, 0.2312613311])


def oracle(wanted, memory, previous):
    """Equations 5 to 9, a row at a time, in float64."""
    keys, strengths, gates, shifts, exponents = (np.asarray(x, "float64") for x in wanted)
    memory, found = memory.astype("float64"), np.zeros(previous.shape)
    first = -((shifts.shape[-1] - 1) // 2)
    for b, h in np.ndindex(found.shape[:2]):
        key = keys[b, h]
        likeness = [key @ row / np.linalg.norm(key) / np.linalg.norm(row) for row in memory[b]]
        content = np.exp(strengths[b, h] * np.array(likeness))
        content /= content.sum()
        gated = gates[b, h] * content + (1 - gates[b, h]) * previous[b, h].astype("float64")
        for j, s in np.ndindex(len(gated), shifts.shape[-1]):
            found[b, h, (j + first + s) % len(gated)] += gated[j] * shifts[b, h, s]
        found[b, h] **= exponents[b, h]
        found[b, h] /= found[b, h].sum()
    return found


@pytest.mark.parametrize("moves", [1, 2, 3, 4, 5, N])
def test_addresses_equal_a_loop(moves):
    wanted = Address(
        keys=draw(B, H, M),
        strengths=np.exp(draw(B, H)),
        gates=1 / (1 + np.exp(-draw(B, H))),
        shifts=shares(B, H, moves),
        exponents=1 + np.exp(draw(B, H)),
    )
    memory, previous = draw(B, N, M), shares(B, H, N, seed=1)
    weights = addressing.address(Address(*map(tensor, wanted)), tensor(memory), tensor(previous))
    assert_close(weights, oracle(wanted, memory, previous), 2e-6)
    np.testing.assert_allclose(as_numpy(weights).sum(-1), 1, rtol=1e-6)


def test_reading_and_writing_equal_a_loop():
    memory, weights = draw(B, N, M), shares(B, H, N)
    erases, adds = 1 / (1 + np.exp(-draw(B, H, M))), draw(B, H, M, seed=1)
    reads, erased = np.zeros((B, H, M)), memory.astype("float64")
    for b, h, n, m in np.ndindex(B, H, N, M):
        reads[b, h, m] += float(weights[b, h, n]) * memory[b, n, m]
        erased[b, n, m] *= 1 - float(weights[b, h, n]) * erases[b, h, m]
    added = erased.copy()
    for b, h, n, m in np.ndindex(B, H, N, M):
        added[b, n, m] += float(weights[b, h, n]) * adds[b, h, m]
    memory, weights = tensor(memory), tensor(weights)
    assert_close(addressing.read(memory, weights), reads)
    memory = addressing.erase(memory, weights, tensor(erases))
    assert_close(memory, erased)
    assert_close(addressing.add(memory, weights, tensor(adds)), added)


def test_a_closed_gate_and_no_shift_keep_the_weights():
    previous = shares(B, 1, N)
    ones, zeros = np.ones((B, 1)), np.zeros((B, 1))
    stay = np.tile([0.0, 1, 0], (B, 1, 1))
    wanted = Address(*map(tensor, (draw(B, 1, M), 5 * ones, zeros, stay, ones)))
    assert_close(addressing.address(wanted, tensor(draw(B, N, M)), tensor(previous)), previous)


def test_a_large_strength_finds_the_row_itself():
    memory = draw(1, N, M)
    weights = addressing.content_weights(
        tensor(memory), tensor(memory), tensor(np.full((1, N), 1e3))
    )
    np.testing.assert_allclose(as_numpy(weights)[0], np.eye(N), atol=1e-6)


@pytest.mark.parametrize(("place", "move"), list(enumerate(range(-2, 3))))
def test_all_on_one_move_rolls_the_weights(place, move):
    weights = shares(B, H, N)
    only = np.zeros((B, H, 5))
    only[..., place] = 1
    expected = np.roll(weights, move, axis=-1)
    assert_close(addressing.shift(tensor(weights), tensor(only)), expected)


def test_erasing_and_adding_all_overwrites_a_row_and_no_other():
    memory, text = draw(1, N, M), draw(M, seed=1)
    one_hot = np.eye(N)[[[4]]]
    written = addressing.erase(tensor(memory), tensor(one_hot), tensor(np.ones((1, 1, M))))
    written = addressing.add(written, tensor(one_hot), one_head(text))
    expected = memory.copy()
    expected[0, 4] = text
    np.testing.assert_array_equal(as_numpy(written), expected)


def test_two_heads_on_one_row_erase_before_they_add():
    weights, ones = tensor([[[0, 1, 0], [0, 1, 0]]]), np.ones((1, 2, 2))
    memory = addressing.erase(tensor(np.ones((1, 3, 2))), weights, tensor(ones))
    memory = addressing.add(memory, weights, tensor(3 * ones))
    assert as_numpy(memory)[0].tolist() == [[1, 1], [6, 6], [1, 1]]


def test_sharpening_does_not_vanish_where_powers_do():
    blurred = np.full(128, 1e-8)
    blurred[5] = 1e-7
    sharp = as_numpy(addressing.sharpen(one_head(blurred), number(8)))[0, 0]
    np.testing.assert_allclose(sharp[5], 0.9999988, atol=3e-6)
    assert sharp.argmax() == 5


def test_nothing_has_values_and_gradients():
    def address(keys, memory, previous):
        wanted = Address(keys, number(3.0), number(0.5), one_head([0.0, 1, 0]), number(2.0))
        return addressing.address(wanted, memory, previous)

    def loss(*arrays):
        return ops.sum(ops.square(address(*arrays)))

    arrays = np.zeros((1, 1, M)), np.zeros((1, N, M)), np.eye(N)[None, :1]
    # No row is like nothing, each as little as the other: half of 1/13 each, and half stays.
    gated = (np.full(N, 1 / N) + np.eye(N)[0]) / 2
    assert_close(address(*map(tensor, arrays)), [[gated**2 / (gated**2).sum()]], 2e-6)
    for value in gradient(loss, *arrays):
        assert np.isfinite(value).all()


def test_more_shifts_than_rows_are_refused():
    with pytest.raises(ValueError, match="a memory of 2 rows allows at most 2 shifts, got 3"):
        addressing.shift(one_head([0.5, 0.5]), one_head([0.1, 0.8, 0.1]))
