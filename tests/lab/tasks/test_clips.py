"""Clips: what is drawn is what the caption says, in the frames that the spans name."""

import itertools

import numpy as np
import pytest

from keras_attention.lab.tasks import clips
from keras_attention.text import END, START

COUNT, HEIGHT, WIDTH, SIDE = 23, 13, 17, 5


@pytest.fixture(scope="module")
def drawn():
    return clips.draw_clips(
        np.random.default_rng(3), COUNT, (1, 3), height=HEIGHT, width=WIDTH, speed=2
    )


def frames_with(picture, color):
    """Say which pixels of frames (S, H, W, 3) have a colour of the caption."""
    return (abs(picture - np.array(clips.COLORS[color])) < 1e-6).all(-1)


def test_has_the_documented_shapes(drawn):
    longest = 3 * (4 + 1)
    assert drawn.frames.shape == (COUNT, longest, HEIGHT, WIDTH, 3)
    assert drawn.frames.dtype == np.float32
    assert drawn.ids.shape == (COUNT, 3 * 6 + 1)
    assert drawn.spans.shape == (COUNT, 3 * 6, 2)
    assert drawn.content.shape == (COUNT, 3 * 6)
    assert set(drawn.events) == {1, 2, 3}


def test_a_caption_is_a_sentence_for_each_event(drawn):
    for ids, events in zip(drawn.ids, drawn.events, strict=True):
        words = clips.words_of(ids)
        assert ids[0] == START
        assert ids[len(words) + 1] == END
        assert not ids[len(words) + 2 :].any()
        sentences = " ".join(words).split(" then ")
        assert len(sentences) == events
        for sentence in sentences:
            a, color, shape, moves, direction = sentence.split()
            assert (a, moves) == ("a", "moves")
            assert color in clips.COLORS
            assert shape in clips.SHAPES
            assert direction in clips.DIRECTIONS


def test_the_frames_show_what_the_caption_says(drawn):
    for frames, ids, spans in zip(drawn.frames, drawn.ids, drawn.spans, strict=True):
        words, colored = clips.words_of(ids), np.zeros(frames.shape[:3], bool)
        for place in range(0, len(words), 6):
            _, color, shape, _, direction = words[place : place + 5]
            first, after = spans[place]
            assert (spans[place : place + 5] == spans[place]).all()
            assert 3 <= after - first <= 4
            corners = []
            for number in range(first, after):
                pixels = frames_with(frames[number], color)
                row, column = np.argwhere(pixels).min(0)
                seen = pixels[row : row + SIDE, column : column + SIDE]
                assert pixels.sum() == seen.sum()
                np.testing.assert_array_equal(seen, clips.draw_shape(shape, SIDE))
                corners.append((row, column))
                colored[number] = pixels
            steps = np.diff(corners, axis=0)
            np.testing.assert_array_equal(
                steps, np.tile(np.multiply(2, clips.DIRECTIONS[direction]), (len(steps), 1))
            )
        assert frames[~colored].max() <= 0.1  # elsewhere is nothing but noise


def test_words_of_no_event_have_no_frames_and_padding_comes_last(drawn):
    for frames, ids, spans, events in zip(
        drawn.frames, drawn.ids, drawn.spans, drawn.events, strict=True
    ):
        words = clips.words_of(ids)
        of_none = [place for place, word in enumerate(words) if word == "then"]
        assert not spans[of_none].any()
        assert not spans[len(words) :].any()
        length = spans.max()
        assert frames[:length].min() > 0
        assert not frames[length:].any()
        firsts = spans[: len(words) : 6]
        assert len(firsts) == events
        gaps = firsts[1:, 0] - firsts[:-1, 1]
        assert ((gaps == 0) | (gaps == 1)).all()


def test_content_is_what_is_seen(drawn):
    for ids, content in zip(drawn.ids, drawn.content, strict=True):
        words = clips.words_of(ids)
        assert [word for word, seen in zip(words, content, strict=False) if seen] == [
            word for word in words if word not in ("a", "moves", "then")
        ]
        assert not content[len(words) :].any()


def pairs_of(drawn):
    """Return the ordered pairs of events that are neighbours in a caption."""
    found = set()
    for ids in drawn.ids:
        sentences = " ".join(clips.words_of(ids)).split(" then ")
        found |= set(itertools.pairwise(sentences))
    return found


def test_pairs_that_are_held_out_never_occur_in_training():
    rng = np.random.default_rng(0)
    training = pairs_of(clips.draw_clips(rng, 300, (2, 4)))
    testing = pairs_of(clips.draw_clips(rng, 300, (2, 4), held_out=True))
    assert training
    assert testing
    assert not training & testing


def test_the_same_generator_draws_the_same_clips():
    one, two = (clips.draw_clips(np.random.default_rng(7), 5) for _ in range(2))
    np.testing.assert_array_equal(one.frames, two.frames)
    np.testing.assert_array_equal(one.ids, two.ids)
    assert (clips.draw_clips(np.random.default_rng(8), 5).ids != one.ids).any()


@pytest.mark.parametrize("side", [4, 5, 7, 8])
def test_shapes_fill_their_square_and_differ(side):
    shapes = [clips.draw_shape(name, side) for name in clips.SHAPES]
    for shape in shapes:
        assert shape.any(0).all()
        assert shape.any(1).all()
        np.testing.assert_array_equal(shape, shape[:, ::-1])
    assert len({shape.tobytes() for shape in shapes}) == len(clips.SHAPES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"side": 2}, "side must be at least 3, got 2"),
        ({"speed": 0}, "speed must be at least 1, got 0"),
        ({"events": (0, 2)}, r"events must be a range .* begins at 1 or above, got \(0, 2\)"),
        ({"events": (3, 2)}, r"events must be a range .* got \(3, 2\)"),
        ({"durations": (1, 4)}, r"durations must be a range .* at 2 or above, got \(1, 4\)"),
        ({"gaps": (2, 1)}, r"gaps must be a range .* at 0 or above, got \(2, 1\)"),
        ({"height": 10}, "frames must be at least 11×11, .* side of 5 .* by 2 .* got 10×12"),
        ({"side": 13}, "frames must be at least 19×19"),
    ],
)
def test_clips_that_cannot_be_drawn_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        clips.draw_clips(np.random.default_rng(0), **{"count": 3, **options})


def test_unknown_shapes_are_errors():
    with pytest.raises(ValueError, match=r"a shape must be one of circle, .* got 'star'"):
        clips.draw_shape("star", 5)
    with pytest.raises(ValueError, match="side of a shape must be at least 3, got 2"):
        clips.draw_shape("circle", 2)
