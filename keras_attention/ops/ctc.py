"""Connectionist temporal classification: monotone hard attention with a tractable sum.

p(y | x) = Σ_{π ∈ B⁻¹(y)} Π_t p(π_t | x),   over all paths π; each frame emits a label or a blank
"""

import math

from keras import ops

from keras_attention.ops.masks import UNREACHABLE
from keras_attention.types import Array

BLANK = 0


def ctc_loss(logits: Array, labels: Array, frame_mask: Array, zero_infinity: bool = False) -> Array:
    """Return −log p(labels | frames), summed over all monotone alignments, Graves et al. (2006).

    Args:
        logits: (B, S, V) of the frames; label 0 is the blank.
        labels: integers (B, U), 0 where a sequence has ended.
        frame_mask: booleans (B, S), True for the frames of a sequence; padding comes last.
        zero_infinity: whether the loss is 0, not infinite, where no alignment exists.

    Returns:
        (B,), float32, in nats. An alignment needs one frame for each label, and one for a blank
        between two equal labels. With fewer frames the loss is −log 0 = ∞, and its gradient is 0.
    """
    labels, lengths = ops.cast(labels, "int32"), _lengths(frame_mask)
    possible = _frames_needed(labels) <= lengths
    labels = ops.where(possible[:, None], labels, BLANK)  # what is impossible gives no NaN
    losses = ops.ctc_loss(
        labels,
        ops.cast(logits, "float32"),
        _lengths(ops.not_equal(labels, BLANK)),
        lengths,
        mask_index=BLANK,
    )
    return ops.where(possible, losses, 0.0 if zero_infinity else math.inf)


def _frames_needed(labels):
    """Return how many frames an alignment of labels (B, U) has at least, (B,)."""
    spoken = ops.not_equal(labels, BLANK)
    repeated = ops.logical_and(spoken[:, 1:], ops.equal(labels[:, 1:], labels[:, :-1]))
    return _lengths(spoken) + _lengths(repeated)


def _lengths(mask):
    return ops.sum(ops.cast(mask, "int32"), axis=-1)


def ctc_alignment(logits: Array, labels: Array, frame_mask: Array) -> Array:
    """Align labels with frames: P(frame s is label u | logits, labels).

    This is the posterior of the forward-backward algorithm, eq. 7 to 14 of Graves et al. (2006).

    Args:
        logits: (B, S, V).
        labels: integers (B, U), 0 where a sequence has ended.
        frame_mask: booleans (B, S).

    Returns:
        (B, U, S), float32. The column of a frame sums to at most 1; the rest belongs to the blank.
        Rows of padding are 0. If no alignment exists, all numbers are 0.
    """
    labels = ops.cast(labels, "int32")
    states = _with_blanks(labels)
    transitions = _transitions(states)
    emissions = ops.matmul(
        ops.log_softmax(ops.cast(logits, "float32"), axis=-1),
        ops.swapaxes(ops.one_hot(states, logits.shape[-1], dtype="float32"), 1, 2),
    )
    frames = (ops.swapaxes(emissions, 0, 1), ops.swapaxes(frame_mask, 0, 1)[..., None])

    def go_forward(before, frame):
        emission, exists = frame
        now = ops.logsumexp(before[:, :, None] + transitions, axis=1) + emission
        now = ops.where(exists, now, before)
        return now, now

    def go_backward(after, frame):
        emission, exists = frame
        before = ops.logsumexp((emission + after)[:, None] + transitions, axis=2)
        return ops.where(exists, before, after), after

    place = ops.arange(ops.shape(states)[1])
    last = 2 * _lengths(ops.not_equal(labels, BLANK))[:, None]
    is_last = ops.logical_and(place >= last - 1, place <= last)
    _, forward = ops.scan(go_forward, ops.zeros_like(emissions[:, 0]) + _log(place == 0), frames)
    _, backward = ops.scan(go_backward, _log(is_last), frames, reverse=True)
    joint = forward + backward
    total = ops.logsumexp(joint, axis=-1, keepdims=True)
    seen = ops.logical_and(frames[1], total > UNREACHABLE / 2)
    posterior = ops.where(seen, ops.exp(joint - total), 0.0)
    return ops.transpose(posterior[:, :, 1::2], (1, 2, 0))


def _with_blanks(labels):
    """Put a blank before, between and after the labels: (B, U) → (B, 2U + 1)."""
    pairs = ops.stack([ops.zeros_like(labels), labels], axis=-1)
    states = ops.reshape(pairs, (ops.shape(labels)[0], 2 * ops.shape(labels)[1]))
    return ops.pad(states, ((0, 0), (0, 1)))


def _transitions(states):
    """Return log 1 or log 0 for each step from state i to j: stay, advance, or skip a blank."""
    place = ops.arange(ops.shape(states)[1])
    steps = place - place[:, None]
    other_label = ops.not_equal(states[:, None, :], states[:, :, None])
    skips = ops.logical_and(ops.not_equal(states, BLANK)[:, None, :], other_label)
    goes_on = ops.logical_and(steps >= 0, steps <= 1)
    return _log(ops.logical_or(goes_on, ops.logical_and(steps == 2, skips)))


def _log(possible):
    return ops.where(possible, 0.0, UNREACHABLE)
