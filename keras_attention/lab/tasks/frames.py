"""Speech in miniature: labels, each spoken for some frames between silences; nothing says which."""

from typing import NamedTuple

import numpy as np

SILENCE = 0


class Speech(NamedTuple):
    """Sequences of frames and what is said in them.

    `frames` (B, S, V) float32 are noisy one-hot vectors; `labels` (B, U) int32 lie in 1 … V − 1;
    `spoken` (B, U, S) says which frames speak which label: the gold alignment.
    """

    frames: np.ndarray
    labels: np.ndarray
    spoken: np.ndarray


def speak(rng, count, *, labels=4, frames=24, vocabulary=10, longest=4, noise=0.15):
    """Speak labels for one frame to a few each, between silences of one or two; noise over all.

    Args:
        rng: a `numpy.random.Generator`.
        count: sequences, B.
        labels: of a sequence, U.
        frames: of a sequence, S; the last silence lasts until the end.
        vocabulary: V, the silence included.
        longest: most frames of a label.
        noise: standard deviation.

    Returns:
        A `Speech`.

    Raises:
        ValueError: the labels may not fit into the frames.
    """
    if labels * (longest + 2) > frames:
        raise ValueError(
            f"{labels} labels of up to {longest} frames, with silences, need "
            f"{labels * (longest + 2)} frames, got {frames}"
        )
    said = rng.integers(1, vocabulary, size=(count, labels), dtype="int32")
    segments = np.full((count, 2 * labels + 1), SILENCE)  # silence, label, silence, label, …
    segments[:, 1::2] = said
    lengths = rng.integers(1, 3, size=segments.shape)
    lengths[:, 1::2] = rng.integers(1, longest + 1, size=said.shape)
    lengths[:, -1] = frames
    segment = (np.arange(frames)[:, None] >= np.cumsum(lengths, axis=1)[:, None]).sum(axis=-1)
    clean = np.eye(vocabulary)[np.take_along_axis(segments, segment, axis=1)]
    noisy = clean + rng.normal(scale=noise, size=clean.shape)
    spoken = segment[:, None, :] == 2 * np.arange(labels)[:, None] + 1
    return Speech(noisy.astype("float32"), said, spoken)
