"""Sequences of bits for a machine to work on."""

import numpy as np
import pytest

from keras_attention.lab.tasks import associative_recall, copy, repeat_copy

B, BITS = 31, 5


def rng(seed=0):
    return np.random.default_rng(seed)


def answers(sequences):
    """Yield what comes in and what is asked for, a pair of arrays for each sequence."""
    for inputs, targets, asked in zip(*sequences, strict=True):
        begin, number = int(asked.argmax()), int(asked.sum())
        assert asked[begin : begin + number].all()
        np.testing.assert_array_equal(targets[asked == 0], 0)
        np.testing.assert_array_equal(inputs[begin:], 0)
        yield inputs[:begin], targets[begin : begin + number]


def test_a_copy_is_what_stood_before_the_delimiter():
    sequences = copy(rng(), B, 2, 7, BITS)
    assert [array.shape for array in sequences] == [(B, 15, BITS + 1), (B, 15, BITS), (B, 15)]
    assert {array.dtype for array in sequences} == {np.dtype("float32")}
    lengths = set()
    for inputs, answer in answers(sequences):
        np.testing.assert_array_equal(inputs[:-1, :BITS], answer)
        assert inputs[:, BITS].tolist() == [0] * len(answer) + [1]
        lengths.add(len(answer))
    assert lengths == set(range(2, 8))


def test_repeated_copies_end_with_a_marker():
    most = 3
    sequences = repeat_copy(rng(), B, 1, 4, 1, most, BITS)
    assert sequences.inputs.shape == (B, 4 * (most + 1) + 2, BITS + 2)
    assert sequences.targets.shape == (B, 4 * (most + 1) + 2, BITS + 1)
    seen = set()
    for inputs, answer in answers(sequences):
        vectors, times = inputs[:-1, :BITS], (len(answer) - 1) // (len(inputs) - 1)
        np.testing.assert_array_equal(answer[:-1, :BITS], np.tile(vectors, (times, 1)))
        assert answer[:, BITS].tolist() == [0] * (len(answer) - 1) + [1]
        assert inputs[-1, BITS] == 1
        # of 1, 2 and 3 the mean is 2, the variance 2/3
        assert inputs[-1, BITS + 1] == pytest.approx((times - 2) / np.sqrt(2 / 3))
        np.testing.assert_array_equal(inputs[:-1, BITS:], 0)
        seen.add((len(vectors), times))
    assert len(seen) == 4 * most


def test_one_copy_needs_no_number():
    np.testing.assert_array_equal(repeat_copy(rng(), 3, most_repeats=1).inputs[..., -1], 0)


def test_the_item_after_the_one_that_is_shown_is_recalled():
    vectors, steps = 2, 3
    sequences = associative_recall(rng(), B, 2, 4, vectors, BITS)
    assert sequences.inputs.shape == (B, 5 * steps + 1 + vectors, BITS + 2)
    counts = set()
    for inputs, answer in answers(sequences):
        delimiters, again = inputs[:, BITS], inputs[:, BITS + 1]
        count = int(delimiters.sum())
        begins = np.arange(count + 1) * steps
        assert np.flatnonzero(delimiters).tolist() == begins[:-1].tolist()
        assert np.flatnonzero(again).tolist() == [begins[-1], begins[-1] + steps]
        items = [inputs[begin + 1 : begin + steps, :BITS] for begin in begins]
        shown = [i for i in range(count - 1) if (items[i] == items[-1]).all()]
        assert any((items[i + 1] == answer).all() for i in shown)
        counts.add(count)
    assert counts == {2, 3, 4}


@pytest.mark.parametrize("draw", [copy, repeat_copy, associative_recall])
def test_a_generator_decides_what_is_drawn(draw):
    for one, other in zip(draw(rng(7), 3), draw(rng(7), 3), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (draw(rng(7), 3).inputs != draw(rng(8), 3).inputs).any()


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        (copy, {"shortest": 0}, "shortest must be at least 1 and at most longest, got 0 and 20"),
        (copy, {"shortest": 9, "longest": 8}, "got 9 and 8"),
        (copy, {"bits": 0}, "bits must be positive, got 0"),
        (repeat_copy, {"fewest_repeats": 3, "most_repeats": 2}, "most_repeats, got 3 and 2"),
        (associative_recall, {"fewest": 1}, "fewest must be at least 2 and at most most, got 1"),
        (associative_recall, {"vectors": 0}, "vectors must be positive, got 0"),
    ],
)
def test_bad_sizes_say_what_was_received(draw, arguments, message):
    with pytest.raises(ValueError, match=message):
        draw(rng(), B, **arguments)


def test_none_is_too_few():
    with pytest.raises(ValueError, match="number must be positive, got 0"):
        copy(rng(), 0)
