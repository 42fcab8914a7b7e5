"""Speech in miniature: labels, each spoken for some frames, between silences."""

from typing import NamedTuple

import numpy as np

SILENCE = 0


class Speech(NamedTuple):
    """Sequences of frames and the labels that they speak.

    `frames` (B, S, V) float32 are noisy one-hot vectors; `labels` (B, U) int32 lie in 1 … V − 1;
    `spoken` (B, U, S) marks the frames of each label: the gold alignment.
    """

    frames: np.ndarray
    labels: np.ndarray
    spoken: np.ndarray


def speak(
    rng: np.random.Generator,
    count: int,
    *,
    labels: int = 4,
    frames: int = 24,
    vocabulary: int = 10,
    longest: int = 4,
    noise: float = 0.15,
) -> Speech:
    """Draw noisy sequences of labels, each spoken for a few frames, with short silences between.

    Args:
        rng: a `numpy.random.Generator`.
        count: number of sequences, B.
        labels: labels per sequence, U.
        frames: frames per sequence, S; silences last one or two, the last one until the end.
        vocabulary: number of labels, V, including silence.
        longest: most frames of a label; the fewest is one.
        noise: standard deviation of the noise.

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
