"""How the heads of a Neural Turing Machine address, read and write the rows of its memory.

content        w^c = softmax(β cos(k, M(i)))
interpolation  w^g = g w^c + (1 − g) w_{t−1}
shift          w̃(i) = Σ_j w^g(j) s(i − j mod N)
sharpening     w(i) = w̃(i)^γ / Σ_j w̃(j)^γ
read           r = Σ_i w(i) M(i)
erase          M̃(i) = M(i) ∘ (1 − w(i) e)
add            M(i) = M̃(i) + w(i) a

From section 3 of Graves et al. (2014). A memory (B, N, M) has N rows of width M; the weights of
H heads are (B, H, N). All numbers are at least float32.
"""

from typing import NamedTuple

from keras import ops

from keras_attention.ops.masks import masked_softmax
from keras_attention.ops.precision import matmul
from keras_attention.ops.scores import cosine
from keras_attention.types import Array

_SMALLEST = 1e-12  # keeps the logarithm of a weight finite


class Address(NamedTuple):
    """The addressing parameters of H heads.

    `keys` (B, H, M), `strengths` β > 0 (B, H), `gates` g from 0 to 1 (B, H), `shifts` s (B, H, J),
    which sum to 1, and `exponents` γ ≥ 1 (B, H).
    """

    keys: Array
    strengths: Array
    gates: Array
    shifts: Array
    exponents: Array


def address(wanted: Address, memory: Array, previous: Array) -> Array:
    """Compute the weights of the heads in four stages, figure 2 of Graves et al. (2014).

    Args:
        wanted: the parameters of the heads.
        memory: (B, N, M).
        previous: the weights of the previous step, (B, H, N).

    Returns:
        Weights (B, H, N), which sum to 1 over the rows.

    Raises:
        ValueError: if there are more shifts than rows.
    """
    by_content = content_weights(wanted.keys, memory, wanted.strengths)
    gated = interpolate(by_content, previous, wanted.gates)
    return sharpen(shift(gated, wanted.shifts), wanted.exponents)


def content_weights(keys: Array, memory: Array, strengths: Array) -> Array:
    """Weight rows by their similarity to a key: w^c = softmax(β cos(k, M(i))), eq. 5 and 6.

    Args:
        keys: k, (B, H, M).
        memory: (B, N, M).
        strengths: β, (B, H).

    Returns:
        Weights (B, H, N). A key of zeros gives every row the same weight.
    """
    return masked_softmax(cosine(keys, memory, ops.expand_dims(strengths, -1)))


def interpolate(weights: Array, previous: Array, gates: Array) -> Array:
    """Mix new weights with those of the previous step: g w^c + (1 − g) w_{t−1}, eq. 7.

    Args:
        weights: w^c, (B, H, N).
        previous: w_{t−1}, (B, H, N).
        gates: g, (B, H).

    Returns:
        w^g, (B, H, N); the notes call it w^q.
    """
    gates = ops.expand_dims(gates, -1)
    return gates * weights + (1.0 - gates) * previous


def shift(weights: Array, shifts: Array) -> Array:
    """Shift weights cyclically along the rows: w̃(i) = Σ_j w(j) s(i − j mod N), eq. 8.

    This is a true convolution: if s is 1 at +1, the weight of row 3 moves to row 4.

    Args:
        weights: (B, H, N).
        shifts: s, (B, H, J), the fraction of the weight for each of the J offsets of `moves`.

    Returns:
        w̃, (B, H, N).

    Raises:
        ValueError: if there are more shifts than rows.
    """
    rows, number = weights.shape[-1], shifts.shape[-1]
    if number > rows:
        raise ValueError(f"a memory of {rows} rows allows at most {rows} shifts, got {number}")
    return sum(
        shifts[..., place, None] * ops.roll(weights, move, axis=-1)
        for place, move in enumerate(moves(number))
    )


def moves(number: int) -> range:
    """Return the offsets, in rows and in ascending order, of a number of shifts.

    Example:
    >>> list(moves(3)), list(moves(4))
    ([-1, 0, 1], [-1, 0, 1, 2])
    """
    first = -((number - 1) // 2)
    return range(first, first + number)


def sharpen(weights: Array, exponents: Array) -> Array:
    """Undo the blur of a shift: w(i) = w̃(i)^γ / Σ_j w̃(j)^γ, eq. 9.

    Computed as softmax(γ log w̃), since powers of small weights underflow in float32. In a long
    memory all of them can, and their sum would be 0.

    Args:
        weights: w̃, (B, H, N).
        exponents: γ ≥ 1, (B, H).

    Returns:
        w, (B, H, N).
    """
    return masked_softmax(ops.expand_dims(exponents, -1) * ops.log(weights + _SMALLEST))


def read(memory: Array, weights: Array) -> Array:
    """Read the weighted sum of the rows: r = Σ_i w(i) M(i), eq. 2.

    Args:
        memory: (B, N, M).
        weights: (B, H, N).

    Returns:
        Reads (B, H, M).
    """
    return matmul(weights, memory)


def erase(memory: Array, weights: Array, erases: Array) -> Array:
    """Erase parts of rows: M̃(i) = M(i) ∘ (1 − w(i) e), eq. 3.

    The heads erase one after another; their order does not matter.

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


def add(memory: Array, weights: Array, adds: Array) -> Array:
    """Add to rows: M(i) = M̃(i) + w(i) a, eq. 4, summed over the heads.

    Args:
        memory: M̃, (B, N, M).
        weights: (B, H, N).
        adds: a, (B, H, M).

    Returns:
        M, (B, N, M).
    """
    return memory + matmul(ops.swapaxes(weights, -1, -2), adds)
