"""Clips to describe: coloured shapes that appear, move and vanish, one after another.

A caption tells the events in order, "a red circle moves left then a blue square moves up", so the
frames that each of its words describes are known.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from keras_attention.text import END, SPECIAL_WORDS, START, enclosed

COLORS = {"red": (0.9, 0.2, 0.2), "green": (0.2, 0.8, 0.3), "blue": (0.3, 0.4, 1.0)}
DIRECTIONS = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}  # rows, columns
SHAPES = ("circle", "cross", "square", "triangle")
WORDS = (*SPECIAL_WORDS, "a", "moves", "then", *COLORS, *SHAPES, *DIRECTIONS)
CONTENT_WORDS = frozenset((*COLORS, *SHAPES, *DIRECTIONS))

_EVENTS = [(c, s, d) for c in COLORS for s in SHAPES for d in DIRECTIONS]
_WORDS_AN_EVENT = 6  # including "then", which precedes all but the first
_ID_OF = {word: number for number, word in enumerate(WORDS)}
_HELD_OUT = 5  # one in this many pairs of events


class Clips(NamedTuple):
    """Clips with their captions, and the frames that each word describes.

    Attributes:
        frames: (N, S, height, width, 3), float32, above 0 and at most 1; 0 is padding.
        ids: (N, T + 1), int32: [START], the words of the caption, [END], padding; of `WORDS`.
        spans: (N, T, 2), for each word after [START] the first frame of the event that it
            describes and the frame after the last; (0, 0) for "then", [END] and padding.
        events: (N,), the number of events of each clip.
    """

    frames: np.ndarray
    ids: np.ndarray
    spans: np.ndarray
    events: np.ndarray

    @property
    def content(self) -> np.ndarray:
        """Booleans (N, T): which words after [START] are content words, unlike "a" or "moves"."""
        return np.isin(self.ids[:, 1:], [_ID_OF[word] for word in CONTENT_WORDS])


def words_of(ids: Iterable[int]) -> list[str]:
    """Return the words of a caption, ids (T,), between [START] and [END]."""
    words = [WORDS[number] for number in ids if number != START]
    return words[: words.index(WORDS[END])] if WORDS[END] in words else words


def draw_shape(name: str, side: int) -> np.ndarray:
    """Return the picture of a shape, booleans (side, side).

    Raises:
        ValueError: there is no such shape, or the side is below 3.

    Example:
        >>> draw_shape("cross", 3).astype(int).tolist()
        [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    """
    if name not in SHAPES:
        raise ValueError(f"a shape must be one of {', '.join(SHAPES)}, got {name!r}")
    if side < 3:
        raise ValueError(f"the side of a shape must be at least 3, got {side}")
    rows, columns = np.indices((side, side))
    middle = (side - 1) / 2
    down, across = rows - middle, columns - middle
    return {
        "circle": abs(np.hypot(down, across) - (side - 1) / 2) <= 0.5,  # only the outline
        "cross": np.minimum(abs(down), abs(across)) <= max(side / 10, 0.5),
        "square": np.ones((side, side), bool),
        "triangle": abs(across) <= np.maximum(rows / 2, 0.5),
    }[name]


def draw_clips(
    rng: np.random.Generator,
    count: int,
    events: tuple[int, int] = (1, 5),
    *,
    height: int = 12,
    width: int = 12,
    side: int = 5,
    speed: int = 2,
    durations: tuple[int, int] = (3, 4),
    gaps: tuple[int, int] = (0, 1),
    held_out: bool = False,
) -> Clips:
    """Draw clips: in each event a shape appears somewhere and moves at constant speed.

    Frames without a shape may precede an event. Every pixel has some noise. One in five ordered
    pairs of events is held out: neighbouring events of training clips never form such a pair, and
    those of test clips always do.

    Args:
        rng: a `numpy.random.Generator`.
        count: number of clips, N.
        events: fewest and most events of a clip, at least 1.
        height: height of a frame, in pixels.
        width: width of a frame, in pixels.
        side: side of a shape, in pixels.
        speed: pixels that a shape moves from frame to frame.
        durations: fewest, at least 2, and most frames of an event.
        gaps: fewest and most frames without a shape before an event.
        held_out: whether neighbouring events always form held-out pairs, or never.

    Returns:
        `Clips`. S and T fit the longest possible clip, whatever was drawn.

    Raises:
        ValueError: a number is too small, a range is empty, or a shape has no room to move.
    """
    (fewest, most), (shortest, longest) = events, durations
    _check(count, events, height, width, side, speed, durations, gaps)
    many = rng.integers(fewest, most + 1, count)
    chosen = _draw_events(rng, count, most, held_out)
    lasting = rng.integers(shortest, longest + 1, (count, most))
    waiting = rng.integers(gaps[0], gaps[1] + 1, (count, most))
    begins = waiting.cumsum(1) + lasting.cumsum(1) - lasting
    ends = begins + lasting
    frames = rng.uniform(0.02, 0.1, (count, most * (longest + gaps[1]), height, width, 3))
    ids = np.zeros((count, _WORDS_AN_EVENT * most + 1), "int32")
    spans = np.zeros((count, _WORDS_AN_EVENT * most, 2), "int32")
    places = rng.random((count, most, 2))
    stamps = {name: draw_shape(name, side) for name in SHAPES}
    for clip in range(count):
        words: list[str] = []
        for event in range(many[clip]):
            color, shape, direction = _EVENTS[chosen[clip, event]]
            span = begins[clip, event], ends[clip, event]
            spans[clip, len(words) + bool(event) : len(words) + bool(event) + 5] = span
            words += ["then"] * bool(event) + ["a", color, shape, "moves", direction]
            shown = frames[clip, span[0] : span[1]]
            way = speed * np.array(DIRECTIONS[direction])
            _move(shown, stamps[shape], COLORS[color], way, places[clip, event])
        frames[clip, ends[clip, many[clip] - 1] :] = 0
        ids[clip, : len(words) + 2] = enclosed(_ID_OF[word] for word in words)
    return Clips(frames.astype("float32"), ids, spans, many)


def _check(count, events, height, width, side, speed, durations, gaps):
    """Check the arguments of `draw_clips`."""
    ranges = (("events", events, 1), ("durations", durations, 2), ("gaps", gaps, 0))
    for name, (fewest, most), least in ranges:
        if not least <= fewest <= most:
            raise ValueError(
                f"{name} must be a range (fewest, most) that begins at {least} or above, "
                f"got ({fewest}, {most})"
            )
    for name, number, least in (("count", count, 1), ("side", side, 3), ("speed", speed, 1)):
        if number < least:
            raise ValueError(f"{name} must be at least {least}, got {number}")
    room = side + speed * (durations[1] - 1)
    if min(height, width) < room:
        raise ValueError(
            f"frames must be at least {room}×{room}, so that a shape with a side of {side} can "
            f"move by {speed} in each of {durations[1]} frames, got {height}×{width}"
        )


def _draw_events(rng, count, most, held_out):
    """Return indices of events (N, most) whose neighbours are all held-out pairs, or never."""
    chosen = rng.integers(0, len(_EVENTS), (count, most))
    for event in range(1, most):
        following = np.arange(len(_EVENTS))
        sums = chosen[:, event - 1, None] + following
        allowed = (sums % _HELD_OUT == 0) == held_out
        chosen[:, event] = np.where(allowed, rng.random(allowed.shape), -1).argmax(1)
    return chosen


def _move(frames, stamp, color, way, place):
    """Draw a moving shape into frames (d, height, width, 3); `place` is two fractions, 0 to 1."""
    side = len(stamp)
    travelled = way * (len(frames) - 1)
    room = np.array(frames.shape[1:3]) - side - abs(travelled)
    corner = (place * (room + 1)).astype(int) - np.minimum(travelled, 0)
    for frame in frames:
        row, column = corner
        frame[row : row + side, column : column + side][stamp] = color
        corner = corner + way
