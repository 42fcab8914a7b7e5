import numpy as np
import pytest

from keras_attention.plotting import plot_glimpses

N, H, W, T, K, G = 2, 13, 17, 3, 2, 5


def arrays():
    rng = np.random.default_rng(0)
    pictures, locations = rng.uniform(size=(N, H, W)), rng.uniform(-1, 1, (N, T, 2))
    return pictures, locations, rng.uniform(size=(N, T, K, G, G))


def test_shows_the_way_the_boxes_and_what_was_seen(tmp_path):
    pictures, locations, patches = arrays()
    axes = plot_glimpses(
        pictures, locations, patches, ["3 read as 5", "$"], path=tmp_path / "a.png"
    )
    assert axes.shape == (N, 1 + T)
    assert (tmp_path / "a.png").stat().st_size > 5000
    picture, *seen = axes[0]
    assert picture.get_title() == "3 read as 5"
    way = np.stack([(locations[0, :, 1] + 1) / 2 * W, (locations[0, :, 0] + 1) / 2 * H], -1)
    np.testing.assert_allclose(picture.lines[0].get_xydata(), way)
    assert [text.get_text() for text in picture.texts] == ["1", "2", "3"]
    for box, middle in zip(picture.patches, way, strict=True):
        assert (box.get_width(), box.get_height()) == (G, G)
        np.testing.assert_allclose(np.add(box.get_xy(), G / 2), middle)
    for look, panel in zip(patches[0], seen, strict=True):
        shown = np.asarray(panel.images[0].get_array())
        np.testing.assert_array_equal(shown[:G], look[0])
        np.testing.assert_array_equal(shown[-G:], look[1])


def test_a_picture_and_its_patches_share_their_greys(tmp_path):
    pictures, locations, patches = arrays()
    pictures[0] += 0.5
    pictures[1] -= 0.5
    axes = plot_glimpses(pictures, locations, patches, path=tmp_path / "a.png")
    for row, picture in zip(axes, pictures, strict=True):
        expected = (min(picture.min(), 0), picture.max())
        assert [panel.images[0].get_clim() for panel in row] == [expected] * (1 + T)


def test_a_number_stands_at_a_corner_of_its_box_and_hides_no_other():
    pictures, _, patches = arrays()
    picture = plot_glimpses(pictures, np.zeros((N, T, 2)), patches)[0, 0]
    middle = np.array([W, H]) / 2
    for text, corner in zip(picture.texts, [(-1, -1), (1, -1), (1, 1)], strict=True):
        np.testing.assert_allclose(text.get_position(), middle + np.multiply(corner, G / 2))


def test_what_does_not_fit_is_refused(tmp_path):
    pictures, locations, patches = arrays()
    with pytest.raises(ValueError, match=r"have the same N, got \(1, 13, 17\)"):
        plot_glimpses(pictures[:1], locations, patches)
    with pytest.raises(ValueError, match="and 1 titles"):
        plot_glimpses(pictures, locations, patches, ["a"])
    with pytest.raises(ValueError, match=r"each glimpse must have a location.*\(2, 2, 2\)"):
        plot_glimpses(pictures, locations[:, :2], patches)
    with pytest.raises(ValueError, match="path must end in one of"):
        plot_glimpses(pictures, locations, patches, path=tmp_path / "a.docx")
