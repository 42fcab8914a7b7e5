"""Where the heads of a Neural Turing Machine look, and what they do there.

content        w^c = softmax(β cos(k, M(i)))
interpolation  w^g = g w^c + (1 − g) w_{t−1}
shift          w̃(i) = Σ_j w^g(j) s(i − j mod N)
sharpening     w(i) = w̃(i)^γ / Σ_j w̃(j)^γ
read           r = Σ_i w(i) M(i)
erase          M̃(i) = M(i) ∘ (1 − w(i) e)
add            M(i) = M̃(i) + w(i) a

Section 3 of Graves et al. (2014). A memory is (B, N, M), N rows of width M; H heads have weights
(B, H, N). Everything is float32.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attention.ops.masks import masked_softmax
from keras_attention.ops.scores import cosine

_SMALLEST = 1e-12  # a weight with a logarithm


class Address(NamedTuple):
    """What H heads say of where they want to be.

    `keys` (B, H, M), `strengths` β > 0 (B, H), `gates` g from 0 to 1 (B, H), `shifts` s (B, H, J),
    which sum to 1, and `exponents` γ ≥ 1 (B, H).
    """

    keys: Any
    strengths: Any
    gates: Any
    shifts: Any
    exponents: Any


def address(wanted, memory, previous):
    """Find the rows that heads want: all four stages, figure 2 of Graves et al. (2014).

    Args:
        wanted: an `Address`.
        memory: (B, N, M).
        previous: the weights of the time before, (B, H, N).

    Returns:
        Weights (B, H, N), which sum to 1 over the rows.

    Raises:
        ValueError: there are more shifts than rows.
    """
    by_content = content_weights(wanted.keys, memory, wanted.strengths)
    gated = interpolate(by_content, previous, wanted.gates)
    return sharpen(shift(gated, wanted.shifts), wanted.exponents)


def content_weights(keys, memory, strengths):
    """Look for rows that are like a key: w^c = softmax(β cos(k, M(i))), eq. 5 and 6.

    Args:
        keys: k, (B, H, M).
        memory: (B, N, M).
        strengths: β, (B, H).

    Returns:
        Weights (B, H, N). A key that is 0 is like every row.
    """
    return masked_softmax(cosine(keys, memory, ops.expand_dims(strengths, -1)))


def interpolate(weights, previous, gates):
    """Mix new weights with those of the time before: g w^c + (1 − g) w_{t−1}, eq. 7.

    Args:
        weights: w^c, (B, H, N).
        previous: w_{t−1}, (B, H, N).
        gates: g, (B, H).

    Returns:
        w^g, (B, H, N); the notes call it w^q.
    """
    gates = ops.expand_dims(gates, -1)
    return gates * weights + (1.0 - gates) * previous


def shift(weights, shifts):
    """Move weights along the rows, around the end: w̃(i) = Σ_j w(j) s(i − j mod N), eq. 8.

    A true convolution: all of s on +1 moves what is on row 3 to row 4.

    Args:
        weights: (B, H, N).
        shifts: s, (B, H, J), the shares of J neighbouring moves in rising order, see `moves`.

    Returns:
        w̃, (B, H, N).

    Raises:
        ValueError: there are more shifts than rows.
    """
    rows, number = weights.shape[-1], shifts.shape[-1]
    if number > rows:
        raise ValueError(f"a memory of {rows} rows can be shifted in {rows} ways, got {number}")
    return sum(
        shifts[..., place, None] * ops.roll(weights, move, axis=-1)
        for place, move in enumerate(moves(number))
    )


def moves(number):
    """Return by how many rows each of a number of shifts moves.

    Example:
    >>> list(moves(3)), list(moves(4))
    ([-1, 0, 1], [-1, 0, 1, 2])
    """
    first = -((number - 1) // 2)
    return range(first, first + number)


def sharpen(weights, exponents):
    """Undo the blur of a shift: w(i) = w̃(i)^γ / Σ_j w̃(j)^γ, eq. 9.

    Computed as softmax(γ log w̃): the powers of small weights are 0 in float32, all of them if the
    memory is long, and their sum no divisor.

    Args:
        weights: w̃, (B, H, N).
        exponents: γ ≥ 1, (B, H).

    Returns:
        w, (B, H, N).
    """
    return masked_softmax(ops.expand_dims(exponents, -1) * ops.log(weights + _SMALLEST))


def read(memory, weights):
    """Read the weighted sum of the rows: r = Σ_i w(i) M(i), eq. 2.

    Args:
        memory: (B, N, M).
        weights: (B, H, N).

    Returns:
        Reads (B, H, M).
    """
    return ops.matmul(weights, memory)


def erase(memory, weights, erases):
    """Forget parts of rows: M̃(i) = M(i) ∘ (1 − w(i) e), eq. 3.

    The heads come one after the other, which gives the same in any order.

    Args:
        memory: (B, N, M).
        weights: (B, H, N).
        erases: e, from 0 to 1, (B, H, M).

    Returns:
        M̃, (B, N, M).
    """
    for head in range(weights.shape[1]):
        memory = memory * (1.0 - weights[:, head, :, None] * erases[:, head, None, :])
    return memory


def add(memory, weights, adds):
    """Write onto rows: M(i) = M̃(i) + w(i) a, eq. 4, summed over the heads.

    Args:
        memory: M̃, (B, N, M).
        weights: (B, H, N).
        adds: a, (B, H, M).

    Returns:
        M, (B, N, M).
    """
    return memory + ops.matmul(ops.swapaxes(weights, -1, -2), adds)
