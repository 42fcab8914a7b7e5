import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb, to_rgba
from PIL import Image

from keras_attention.plotting import (
    animate_attention,
    check_animation_path,
    plot_coloured_text,
)
from keras_attention.plotting.heatmaps import unknown

CONTEXT = ["¿", "Todavía", "está", "en", "casa"]
TARGET = ["still", "at", "home"]
WEIGHTS = np.arange(1, 16).reshape(3, 5) / 17


@pytest.fixture
def path(tmp_path):
    return tmp_path / "moving.gif"


def backgrounds(ax):
    """Return the colours behind words, a row a line that was written."""
    return np.array([patch.get_facecolor() for patch in ax.patches])


def test_the_sentence_stands_once_for_every_target_word(tmp_path):
    ax = plot_coloured_text(WEIGHTS, CONTEXT, TARGET, path=tmp_path / "text.png")
    texts = [text.get_text() for text in ax.texts]
    assert texts[:2] == ["target", "context"]
    assert texts[2:] == [word for target in TARGET for word in [target, *CONTEXT]]
    assert (tmp_path / "text.png").read_bytes().startswith(b"\x89PNG")


def test_the_darker_a_word_the_more_was_looked_at(tmp_path):
    ax = plot_coloured_text(WEIGHTS, CONTEXT, TARGET, path=tmp_path / "text.png")
    brightness = backgrounds(ax)[:, :3].sum(axis=1)
    assert len(brightness) == WEIGHTS.size
    assert (np.diff(brightness) < 0).all()  # the weights ascend


def test_a_fixed_scale_makes_pictures_comparable(tmp_path):
    half = plot_coloured_text(WEIGHTS / 2, CONTEXT, TARGET, vmax=1, path=tmp_path / "a.png")
    whole = plot_coloured_text(WEIGHTS, CONTEXT, TARGET, vmax=2, path=tmp_path / "b.png")
    np.testing.assert_allclose(backgrounds(half), backgrounds(whole), atol=0.02)


def test_letters_on_dark_words_are_white(tmp_path):
    ax = plot_coloured_text([[0.0, 1.0]], ["no", "sí"], ["yes"], path=tmp_path / "text.png")
    colors = {text.get_text(): to_rgba(text.get_color()) for text in ax.texts}
    assert colors["no"] == to_rgba("black")
    assert colors["sí"] == to_rgba("white")


def test_unknown_words_are_marked(tmp_path):
    ax = plot_coloured_text(
        WEIGHTS, CONTEXT, TARGET, unknown_context=[4], path=tmp_path / "text.png"
    )
    assert len(ax.lines) == len(TARGET)  # underlined, once a line
    for line, patch in zip(ax.lines, ax.patches[4::5], strict=True):  # the fifth word
        begin, end = patch.get_x(), patch.get_x() + patch.get_width()
        assert begin < line.get_xdata()[0] < line.get_xdata()[1] < end
        assert patch.get_y() < line.get_ydata()[0] < patch.get_y() + patch.get_height() / 4


@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_no_letter_leaves_its_box(tmp_path, weight):
    words = ["THE", "OLD", "WOMAN", "можешь", "мыть", "мышцы"]
    with mpl.rc_context({"font.weight": weight}):
        ax = plot_coloured_text(np.ones((1, 6)), words, ["a"], path=tmp_path / "text.png")
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    for box, word in zip(ax.patches, ax.texts[-6:], strict=True):
        letters, box = word.get_window_extent(renderer), box.get_window_extent(renderer)
        assert box.x0 < letters.x0 < letters.x1 < box.x1


def test_a_long_sentence_goes_over_several_lines(tmp_path):
    words = [f"palabra{n}" for n in range(60)]
    ax = plot_coloured_text(np.ones((1, 60)), words, ["word"], path=tmp_path / "text.png")
    heights = {round(text.get_position()[1], 6) for text in ax.texts if text.get_text() in words}
    assert len(heights) > 3
    for patch in ax.patches:
        assert patch.get_x() >= 0
        assert patch.get_x() + patch.get_width() <= ax.get_xlim()[1]
        assert patch.get_y() >= 0


def test_markup_and_mathematics_are_drawn_as_they_are(tmp_path):
    words = ["$x_1$", "<b>"]
    ax = plot_coloured_text(np.ones((1, 2)), words, [r"\frac"], path=tmp_path / "text.svg")
    assert [text.get_text() for text in ax.texts][2:] == [r"\frac", *words]


def test_an_animation_has_a_frame_for_every_target_word(path):
    assert animate_attention(WEIGHTS, CONTEXT, TARGET, path, seconds=0.5) == path
    with Image.open(path) as moving:
        assert moving.n_frames == len(TARGET)
        durations, frames = [], []
        for number in range(moving.n_frames):
            moving.seek(number)
            durations.append(moving.info["duration"])
            frames.append(np.asarray(moving.convert("RGB"), dtype=float))
        assert moving.info["loop"] == 0
    assert durations == [500, 500, 1500]
    shown = [(frame < 250).mean() for frame in frames]
    assert shown[0] < shown[-1]  # more is written, and darker
    assert all(len(np.unique(frame)) > 10 for frame in frames)


def test_the_current_word_of_many_keeps_its_colour(path):
    animate_attention(np.ones((25, 2)), CONTEXT[:2], ["word"] * 25, path)
    vermilion = 255 * np.array(to_rgb(unknown()))
    with Image.open(path) as moving:
        for number in range(moving.n_frames):
            moving.seek(number)
            frame = np.asarray(moving.convert("RGB"), dtype=float)
            assert np.abs(frame - vermilion).max(axis=-1).min() < 10


def test_an_animation_is_as_wide_as_its_title(path):
    animate_attention(np.ones((1, 1)), ["a"], ["b"], path, title="The title is wide. " * 4)
    with Image.open(path) as moving:
        frame = np.asarray(moving.convert("L"), dtype=float)
    assert (frame[:, :5] > 250).all()
    assert (frame[:, -5:] > 250).all()


def test_a_broken_animation_leaves_nothing(path):
    for arguments, expected in (
        (([[1.0]], CONTEXT, TARGET, path), r"shape \(T, S\)"),
        ((WEIGHTS, CONTEXT, TARGET, path.with_suffix(".mp4")), "must end in .gif"),
    ):
        with pytest.raises(ValueError, match=expected):
            animate_attention(*arguments)
    for seconds in (0, 219, np.inf):  # a GIF holds a picture for 655 seconds at most
        with pytest.raises(ValueError, match=f"must be positive and at most 218, got {seconds}"):
            animate_attention(WEIGHTS, CONTEXT, TARGET, path, seconds=seconds)
    with pytest.raises(FileNotFoundError, match=r"existing folder, got '.*moving\.gif'"):
        check_animation_path(path.parent / "nowhere" / "moving.gif")
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="got the folder"):
        check_animation_path(path)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore:matplotlib .* writes Arabic and Hebrew letter by letter")
def test_a_sentence_that_is_read_from_the_right_begins_at_the_right(tmp_path):
    hebrew = ["האם", "אתם", "עדיין", "בבית", "?"]
    ax = plot_coloured_text(WEIGHTS, hebrew, TARGET, path=tmp_path / "text.png")
    places = [patch.get_x() for patch in ax.patches[: len(hebrew)]]
    assert places == sorted(places, reverse=True)
    assert places[0] > 0.8 * ax.get_xlim()[1]
