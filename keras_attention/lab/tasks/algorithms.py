"""Sequences of bits for a machine to process: copy, repeat copy, associative recall.

These are the tasks of Graves et al. (2014), sections 4.1–4.3. The input comes first, then
silence while the answer is expected. All sequences of a batch have one length, padded with zeros.
"""

import math
from typing import NamedTuple

import numpy as np


class Sequences(NamedTuple):
    """The inputs, the wanted outputs, and the steps that count, all float32.

    `inputs` (B, T, F), `targets` (B, T, bits), and `asked` (B, T), 1 where there is an answer.
    """

    inputs: np.ndarray
    targets: np.ndarray
    asked: np.ndarray


def copy(
    rng: np.random.Generator, number: int, shortest: int = 1, longest: int = 20, bits: int = 8
) -> Sequences:
    """Draw sequences of random vectors, to be copied after a delimiter.

    Args:
        rng: a `numpy.random.Generator`.
        number: number of sequences, B.
        shortest: smallest number of vectors.
        longest: largest number of vectors, L.
        bits: width of the vectors.

    Returns:
        `Sequences` with T = 2L + 1 and F = bits + 1; the last channel is the delimiter.

    Raises:
        ValueError: a number is not positive, or `longest` is below `shortest`.
    """
    _check_range("shortest", shortest, "longest", longest)
    _check_positive(number=number, bits=bits)
    sequences = _silence(number, 2 * longest + 1, bits + 1, bits)
    for row, length in enumerate(_draw_sizes(rng, shortest, longest, number)):
        vectors = _draw_bits(rng, length, bits)
        sequences.inputs[row, :length, :bits] = vectors
        sequences.inputs[row, length, bits] = 1
        _ask(sequences, row, length + 1, vectors)
    return sequences


def repeat_copy(
    rng: np.random.Generator,
    number: int,
    shortest: int = 1,
    longest: int = 10,
    fewest_repeats: int = 1,
    most_repeats: int = 10,
    bits: int = 8,
) -> Sequences:
    """Draw sequences of random vectors, to be copied several times and followed by an end marker.

    The number of copies comes with the delimiter, in a channel of its own. It is scaled so that
    numbers drawn uniformly from 1 to `most_repeats` have mean 0 and variance 1.

    Args:
        rng: a `numpy.random.Generator`.
        number: number of sequences, B.
        shortest: smallest number of vectors.
        longest: largest number of vectors, L.
        fewest_repeats: smallest number of copies.
        most_repeats: largest number of copies, R.
        bits: width of the vectors.

    Returns:
        `Sequences` with T = L (R + 1) + 2 and F = bits + 2, where the last two channels are the
        delimiter and the number of copies. The targets are bits + 1 wide; the last channel is the
        end marker.

    Raises:
        ValueError: a number is not positive, or a largest number is below the smallest.
    """
    _check_range("shortest", shortest, "longest", longest)
    _check_range("fewest_repeats", fewest_repeats, "most_repeats", most_repeats)
    _check_positive(number=number, bits=bits)
    sequences = _silence(number, longest * (most_repeats + 1) + 2, bits + 2, bits + 1)
    lengths = _draw_sizes(rng, shortest, longest, number)
    repeats = _draw_sizes(rng, fewest_repeats, most_repeats, number)
    mean, deviation = (1 + most_repeats) / 2, math.sqrt((most_repeats**2 - 1) / 12) or 1.0
    for row, (length, times) in enumerate(zip(lengths, repeats, strict=True)):
        vectors = _draw_bits(rng, length, bits)
        sequences.inputs[row, :length, :bits] = vectors
        sequences.inputs[row, length, bits:] = 1, (times - mean) / deviation
        answer = np.zeros((length * times + 1, bits + 1))
        answer[:-1, :bits] = np.tile(vectors, (times, 1))
        answer[-1, bits] = 1
        _ask(sequences, row, length + 1, answer)
    return sequences


def associative_recall(
    rng: np.random.Generator,
    number: int,
    fewest: int = 2,
    most: int = 6,
    vectors: int = 3,
    bits: int = 6,
) -> Sequences:
    """Draw lists of items; one item is shown again, and the answer is the item that followed it.

    A delimiter precedes each item. Another delimiter stands before and after the item shown again.

    Args:
        rng: a `numpy.random.Generator`.
        number: number of lists, B.
        fewest: smallest number of items, at least 2.
        most: largest number of items, I.
        vectors: vectors per item, V.
        bits: width of the vectors.

    Returns:
        `Sequences` with T = (I + 1) (V + 1) + 1 + V and F = bits + 2, where the last two channels
        are the delimiters.

    Raises:
        ValueError: a number is not positive, `fewest` below 2, or `most` below `fewest`.
    """
    _check_range("fewest", fewest, "most", most, at_least=2)
    _check_positive(number=number, vectors=vectors, bits=bits)
    steps = vectors + 1
    sequences = _silence(number, (most + 1) * steps + 1 + vectors, bits + 2, bits)
    for row, count in enumerate(_draw_sizes(rng, fewest, most, number)):
        items = _draw_bits(rng, count * vectors, bits).reshape(count, vectors, bits)
        shown = rng.integers(count - 1)
        for place, item in enumerate([*items, items[shown]]):
            begin, delimiter = place * steps, bits + (place == count)
            sequences.inputs[row, begin, delimiter] = 1
            sequences.inputs[row, begin + 1 : begin + steps, :bits] = item
        end = (count + 1) * steps
        sequences.inputs[row, end, bits + 1] = 1
        _ask(sequences, row, end + 1, items[shown + 1])
    return sequences


def _silence(number, length, width, bits):
    """Return sequences without inputs and answers, to be filled in."""
    return Sequences(
        np.zeros((number, length, width), "float32"),
        np.zeros((number, length, bits), "float32"),
        np.zeros((number, length), "float32"),
    )


def _ask(sequences, row, begin, answer):
    """Write an answer into a row of the targets."""
    sequences.targets[row, begin : begin + len(answer)] = answer
    sequences.asked[row, begin : begin + len(answer)] = 1


def _draw_sizes(rng, least, largest, number):
    return rng.integers(least, largest + 1, size=number)


def _draw_bits(rng, length, bits):
    """Draw vectors of bits; none is all 0, because that is silence."""
    numbers = rng.integers(1, 2**bits, size=length)
    return (numbers[:, None] >> np.arange(bits) & 1).astype("float32")


def _check_range(low_name, low, high_name, high, at_least=1):
    if not at_least <= low <= high:
        raise ValueError(
            f"{low_name} must be at least {at_least} and at most {high_name}, got {low} and {high}"
        )


def _check_positive(**numbers):
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be positive, got {number}")
