import itertools

import numpy as np
import pytest
from keras import ops

from keras_attention.ops import ctc_alignment, ctc_loss
from tests.numerics import as_numpy, assert_close, gradient

# Graves' own example, from TensorFlow's test of its CTC: probabilities (B, S, V), blank last.
GRAVES = np.array(
    [
        [
            [0.633766, 0.221185, 0.0917319, 0.0129757, 0.0142857, 0.0260553],
            [0.111121, 0.588392, 0.278779, 0.0055756, 0.00569609, 0.010436],
            [0.0357786, 0.633813, 0.321418, 0.00249248, 0.00272882, 0.0037688],
            [0.0663296, 0.643849, 0.280111, 0.00283995, 0.0035545, 0.00331533],
            [0.458235, 0.396634, 0.123377, 0.00648837, 0.00903441, 0.00623107],
        ],
        [
            [0.30176, 0.28562, 0.0831517, 0.0862751, 0.0816851, 0.161508],
            [0.24082, 0.397533, 0.0557226, 0.0546814, 0.0557528, 0.19549],
            [0.230246, 0.450868, 0.0389607, 0.038309, 0.0391602, 0.202456],
            [0.280884, 0.429522, 0.0326593, 0.0339046, 0.0326856, 0.190345],
            [0.423286, 0.315517, 0.0338439, 0.0393744, 0.0339315, 0.154046],
        ],
    ]
)
GRAVES_LABELS = np.array([[0, 1, 2, 1, 0], [0, 1, 1, 0, -1]])
V = 3  # labels 0 (blank), 1 and 2 in the enumerations


def blank_first(probabilities):
    return np.concatenate([probabilities[..., -1:], probabilities[..., :-1]], axis=-1)


def collapse(path):
    """Graves' B: merge what repeats, then drop the blanks."""
    return [label for label, _ in itertools.groupby(path) if label != 0]


def spoken(path):
    """Return for each frame which label of the sequence it speaks; None for a blank."""
    places, place, before = [], -1, 0
    for label in path:
        if label not in (0, before):
            place += 1
        places.append(place if label else None)
        before = label
    return places


def enumerate_paths(probabilities, labels):
    """The oracle: every path of a sequence; its probability, and that of each (label, frame)."""
    labels, total = [label for label in labels if label], 0.0
    alignment = np.zeros((len(labels), len(probabilities)))
    for path in itertools.product(range(probabilities.shape[1]), repeat=len(probabilities)):
        if collapse(path) == labels:
            share = np.prod([probabilities[s, label] for s, label in enumerate(path)])
            total += share
            for s, place in enumerate(spoken(path)):
                if place is not None:
                    alignment[place, s] += share
    return total, alignment / total if total else alignment


def some_logits(frames, seed=0):
    logits = np.random.default_rng(seed).normal(size=(1, frames, V)).astype("float32")
    shares = np.exp(logits[0].astype(float))
    return logits, shares / shares.sum(-1, keepdims=True)


def inputs_of(logits, labels, frames=None):
    frames = np.ones(logits.shape[:2], dtype=bool) if frames is None else frames
    return [
        ops.convert_to_tensor(logits, "float32"),
        ops.convert_to_tensor(labels, "int32"),
        ops.convert_to_tensor(frames),
    ]


def test_the_golden_numbers_of_graves():
    logits = np.log(blank_first(GRAVES))
    # the probabilities are printed with 6 digits, and so are the losses
    loss = as_numpy(ctc_loss(*inputs_of(logits, GRAVES_LABELS + 1)))
    np.testing.assert_allclose(loss, [3.34211, 5.42262], atol=1e-5)


def test_the_example_that_can_be_enumerated_on_paper():
    # blank last, labels 0 and 1: of the 27 paths those that collapse to (0, 1) sum to 0.254
    rows = np.array([[[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]]])
    loss = ctc_loss(*inputs_of(np.log(blank_first(rows)), [[1, 2]]))
    assert_close(loss, [1.3704210])
    assert enumerate_paths(blank_first(rows)[0], [1, 2])[0] == pytest.approx(0.254)


CASES = [
    (frames, labels)
    for frames in (1, 2, 3, 4, 5)
    for labels in ([1], [2, 1], [1, 1], [1, 2, 1], [2, 2, 1])
    if frames >= len(labels) + sum(a == b for a, b in itertools.pairwise(labels))
]


def test_loss_and_alignment_equal_the_sum_over_all_paths():
    # one batch: sequences of one to five frames and of one to three labels
    logits, labels = np.zeros((len(CASES), 5, V), "float32"), np.zeros((len(CASES), 3), "int32")
    frames = np.zeros((len(CASES), 5), dtype=bool)
    losses, alignments = np.zeros(len(CASES)), np.zeros((len(CASES), 3, 5))
    for n, (count, wanted) in enumerate(CASES):
        drawn, probabilities = some_logits(count, seed=n)
        total, alignment = enumerate_paths(probabilities, wanted)
        logits[n, :count], labels[n, : len(wanted)], frames[n, :count] = drawn[0], wanted, True
        losses[n], alignments[n, : len(wanted), :count] = -np.log(total), alignment
    inputs = inputs_of(logits, labels, frames)
    assert_close(ctc_loss(*inputs), losses)
    assert_close(ctc_alignment(*inputs), alignments)


def test_padding_frames_and_padding_labels_change_nothing():
    logits, _ = some_logits(5)
    labels = [[1, 2, 1]]
    expected = inputs_of(logits, labels)
    noise = np.full((1, 3, V), 9.0, dtype="float32")
    noise[..., 1] = -9
    padded = inputs_of(
        np.concatenate([logits, noise], axis=1),
        [[1, 2, 1, 0, 0]],
        np.array([[True] * 5 + [False] * 3]),
    )
    assert_close(ctc_loss(*padded), as_numpy(ctc_loss(*expected)))
    alignment = as_numpy(ctc_alignment(*padded))
    assert alignment.shape == (1, 5, 8)
    assert_close(alignment[:, :3, :5], as_numpy(ctc_alignment(*expected)))
    np.testing.assert_array_equal(alignment[:, 3:], 0)
    np.testing.assert_array_equal(alignment[:, :, 5:], 0)


def test_repeated_labels_need_a_blank_between_them():
    # three frames and the labels 1, 1: the only path is 1, blank, 1
    logits, probabilities = some_logits(3)
    inputs = inputs_of(logits, [[1, 1]])
    expected = probabilities[0, 1] * probabilities[1, 0] * probabilities[2, 1]
    assert_close(ctc_loss(*inputs), [-np.log(expected)])
    assert_close(ctc_alignment(*inputs), [[[1, 0, 0], [0, 0, 1]]])


def test_an_impossible_alignment_is_all_zero_and_its_loss_infinite():
    # three labels, or one twice, need three frames
    logits = np.concatenate([some_logits(2, seed)[0] for seed in (0, 1)])
    inputs = inputs_of(logits, [[1, 2, 1], [1, 1, 0]])
    np.testing.assert_array_equal(as_numpy(ctc_alignment(*inputs)), 0)
    assert np.isinf(as_numpy(ctc_loss(*inputs))).all()


@pytest.mark.parametrize(("zero_infinity", "expected"), [(False, np.inf), (True, 0.0)])
def test_a_loss_without_an_alignment_is_infinite_or_zero_and_has_no_gradient(
    zero_infinity, expected
):
    # two frames are too few for three labels, and for one label twice; five are enough
    logits = np.concatenate([some_logits(5, seed)[0] for seed in range(3)])
    frames = np.array([[True, True, False, False, False]] * 2 + [[True] * 5])
    _, labels, frames = inputs_of(logits, [[1, 2, 1], [1, 1, 0], [1, 1, 0]], frames)

    def loss(logits):
        return ctc_loss(logits, labels, frames, zero_infinity)

    losses = as_numpy(loss(ops.convert_to_tensor(logits)))
    np.testing.assert_array_equal(losses[:2], expected)
    slopes = gradient(lambda x: ops.sum(loss(x)), logits)[0]
    np.testing.assert_array_equal(slopes[:2], 0)
    alone = [ops.convert_to_tensor(logits[2:]), labels[2:], frames[2:]]
    assert_close(losses[2:], as_numpy(ctc_loss(*alone)))
    expected = gradient(lambda x: ops.sum(ctc_loss(x, *alone[1:])), logits[2:])[0]
    assert_close(slopes[2:], expected)


def test_an_impossible_sentence_spoils_no_other_of_the_batch():
    logits = np.concatenate([some_logits(5, seed)[0] for seed in (0, 1)])
    frames = np.array([[True, True, False, False, False], [True] * 5])
    alignment = as_numpy(ctc_alignment(*inputs_of(logits, [[1, 2, 1], [1, 2, 1]], frames)))
    alone = ctc_alignment(*inputs_of(logits[1:], [[1, 2, 1]]))
    np.testing.assert_array_equal(alignment[0], 0)
    assert_close(alignment[1:], as_numpy(alone))


def test_the_share_of_a_frame_is_at_most_one_and_every_label_is_spoken():
    logits, _ = some_logits(5)
    alignment = as_numpy(ctc_alignment(*inputs_of(logits, [[1, 2, 1]])))
    assert (alignment >= 0).all()
    assert (alignment.sum(1) <= 1 + 1e-6).all()
    assert (alignment.sum(2) >= 1 - 1e-6).all()


def test_the_gradient_of_the_loss_is_what_the_alignment_says():
    # d loss / d logits = p − share of each label in the paths (eq. 16 of Graves et al.)
    logits, probabilities = some_logits(5)
    labels = [1, 2, 1]
    _, alignment = enumerate_paths(probabilities, labels)
    shares = np.zeros((5, V))
    for place, label in enumerate(labels):
        shares[:, label] += alignment[place]
    shares[:, 0] = 1 - shares.sum(-1)
    _, labels, frames = inputs_of(logits, [labels])
    slope = gradient(lambda x: ops.sum(ctc_loss(x, labels, frames)), logits)[0]
    assert_close(slope[0], probabilities - shares, 2e-6)


@pytest.mark.thorough
def test_a_long_sentence_stays_finite():
    logits = 5 * np.random.default_rng(0).normal(size=(1, 397, 7)).astype("float32")
    labels = np.random.default_rng(1).integers(1, 7, (1, 101))
    inputs = inputs_of(logits, labels)
    assert np.isfinite(as_numpy(ctc_loss(*inputs))).all()
    alignment = as_numpy(ctc_alignment(*inputs))
    # sums of 397 logarithms, in all of order 1000, in float32
    assert (alignment.sum(1) <= 1 + 1e-3).all()
    assert (alignment.sum(2) >= 1 - 1e-3).all()
