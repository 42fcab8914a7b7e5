import numpy as np
import pytest

from keras_attention.lab.tasks import Digits, load_digits, scatter_digits

B, H, W = 53, 19, 31


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_training_and_test_digits_are_disjoint_and_of_all_kinds(digits):
    assert [len(part.labels) for part in digits] == [1347, 450]
    seen = [{picture.tobytes() for picture in part.pictures} for part in digits]
    assert not seen[0] & seen[1]
    for part in digits:
        assert part.pictures.shape[1:] == (8, 8)
        assert set(part.labels) == set(range(10))
        assert (part.pictures.min(), part.pictures.max()) == (0, 1)


@pytest.mark.parametrize("number", [1, 2])
def test_every_digit_stands_where_it_is_said_to(digits, number):
    train, _ = digits
    scenes = scatter_digits(train, np.random.default_rng(0), B, (H, W), number, clutter=0)
    assert scenes.pictures.shape == (B, H, W, 1)
    assert scenes.labels.shape == (B, number)
    assert scenes.places.shape == (B, number, 2)
    assert (np.diff(scenes.places[..., 1]) >= 8).all()  # left to right, side by side
    for picture, labels, places in zip(*scenes, strict=True):
        rest = picture[..., 0].copy()
        for label, (row, column) in zip(labels, places.astype(int), strict=True):
            window = rest[row - 4 : row + 4, column - 4 : column + 4]
            same = (train.pictures == window).all((1, 2))
            assert label in train.labels[same]
            window[:] = 0
        np.testing.assert_array_equal(rest, 0)


def test_clutter_is_pieces_of_digits_and_hides_no_pixel_of_the_digit():
    """Clutter of its own brightness, so that it can be told from the digit."""
    white = Digits(np.full((3, 8, 8), 0.5, "float32"), np.arange(3, dtype="int32"))
    scenes = scatter_digits(white, np.random.default_rng(1), B, (H, W), clutter=2)
    bright = (scenes.pictures > 0).sum(axis=(1, 2, 3))
    assert ((bright >= 64) & (bright <= 64 + 2 * 16)).all()
    assert bright.max() > 64


def test_the_generator_alone_decides(digits):
    one, same, other = (
        scatter_digits(digits[0], np.random.default_rng(seed), 5, (H, W)) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.pictures, same.pictures)
    assert (one.pictures != other.pictures).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count and number must be positive.*got 0, 1, 6 and 3"),
        ({"number": 0}, "got 2, 0, 6 and 3"),
        ({"clutter": -1}, "got 2, 1, -1 and 3"),
        ({"shape": (7, 20)}, "each of 1 digits needs 8 × 8 pixels of its own.*7 × 20"),
        ({"shape": (20, 15), "number": 2}, "each of 2 digits .* 20 × 15"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, message):
    digits = Digits(np.zeros((3, 8, 8)), np.zeros(3, int))
    with pytest.raises(ValueError, match=message):
        scatter_digits(digits, np.random.default_rng(0), **{"count": 2, **options})
