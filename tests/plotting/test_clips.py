import numpy as np
import pytest

from keras_attention.plotting.clips import plot_clip_attention

T, S, HEIGHT, WIDTH = 5, 7, 11, 13
WORDS = ["a", "circle", "then", "a", "$quare"]
SPANS = np.array([[0, 3], [0, 3], [0, 0], [4, 7], [4, 7]])


def weights(seed=0):
    rows = np.random.default_rng(seed).random((T, S))
    return rows / rows.sum(1, keepdims=True)


def pictures(channels=3):
    return np.random.default_rng(1).random((S, HEIGHT, WIDTH, channels))


def test_shows_the_weights_the_words_and_the_frames(tmp_path):
    axes = plot_clip_attention(
        weights(), WORDS, pictures(), spans=SPANS, title="$5", path=tmp_path / "map.png"
    )
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    np.testing.assert_array_equal(axes.images[0].get_array(), weights())
    assert [label.get_text() for label in axes.get_yticklabels()] == WORDS
    assert [label.get_text() for label in axes.get_xticklabels()] == list("1234567")
    strip = axes.figure.axes[0].images[0].get_array()
    np.testing.assert_array_equal(strip[:, :WIDTH], pictures()[0])
    np.testing.assert_array_equal(strip[:, -WIDTH - 1 : -1], pictures()[-1])


def test_words_of_one_span_share_an_outline(tmp_path):
    axes = plot_clip_attention(weights(), WORDS, pictures(), spans=SPANS, path=tmp_path / "map.svg")
    boxes = [patch.get_bbox().extents for patch in axes.patches]
    np.testing.assert_allclose(boxes, [[-0.46, -0.44, 2.46, 1.44], [3.54, 2.56, 6.46, 4.44]])
    assert not plot_clip_attention(weights(), WORDS, pictures(), path=tmp_path / "map.svg").patches


@pytest.mark.parametrize("shape", [(S, HEIGHT, WIDTH), (S, HEIGHT, WIDTH, 1)])
def test_grey_frames_are_grey(shape, tmp_path):
    frames = pictures(1).reshape(shape)
    axes = plot_clip_attention(weights(), WORDS, frames, path=tmp_path / "map.png")
    strip = axes.figure.axes[0].images[0].get_array()
    assert (strip == strip[..., :1]).all()


@pytest.mark.parametrize(("words", "count"), [(1, 1), (2, 3), (5, 7)])
def test_frames_keep_their_shape_however_few_there_are(tmp_path, words, count):
    axes = plot_clip_attention(
        np.ones((words, count)),
        WORDS[:words],
        pictures()[:count],
        title="A",
        path=tmp_path / "a.svg",
    )
    above = axes.figure.axes[0]
    box, strip = above.get_window_extent(), above.images[0].get_array()
    assert box.width / strip.shape[1] == pytest.approx(box.height / strip.shape[0])
    cells = axes.get_window_extent()
    assert (cells.x0, cells.x1) == pytest.approx((box.x0, box.x1))
    assert cells.height > 10 * words


def test_without_a_path_it_is_a_figure_of_pyplot():
    from matplotlib import pyplot

    axes = plot_clip_attention(weights(), WORDS, pictures())
    assert pyplot.fignum_exists(axes.figure.number)
    pyplot.close(axes.figure)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": weights().T}, r"weights must have shape \(T, S\) = \(5, 7\), got \(7, 5\)"),
        ({"words": []}, "^words must hold at least one word"),
        ({"words": "ab"}, "^words must be a list of words, got one str: 'ab'"),
        ({"frames": pictures()[0, 0]}, r"frames must have shape .* got \(13, 3\)"),
        ({"frames": pictures(2)}, r"frames must have shape .* got \(7, 11, 13, 2\)"),
        ({"frames": 2 * pictures()}, "frames must be from 0 to 1, got numbers from .* to 2"),
        ({"spans": SPANS[1:]}, r"spans must be integers \(T, 2\) = \(5, 2\), got int64 \(4, 2\)"),
        ({"spans": SPANS + 1}, r"spans must be \(first, after the last\) .* got \(5, 8\)"),
        ({"path": "map.txt"}, "path must end in one of"),
    ],
)
def test_what_does_not_fit_is_an_error(changed, message):
    given = {"weights": weights(), "words": WORDS, "frames": pictures(), **changed}
    with pytest.raises(ValueError, match=message):
        plot_clip_attention(**given)
