import numpy as np
import pytest

from keras_attention.plotting import plot_patterns


def test_every_pattern_has_its_cell(tmp_path):
    stored = np.sign(np.random.default_rng(0).normal(size=(3, 10)))
    rows = {"stored": stored, "asked": 0 * stored}
    axes = plot_patterns(rows, shape=(5, 2), title="$5", path=tmp_path / "patterns.png")
    assert (tmp_path / "patterns.png").read_bytes().startswith(b"\x89PNG")
    assert axes.shape == (2, 3)
    np.testing.assert_array_equal(axes[0, 1].images[0].get_array(), stored[1].reshape(5, 2))
    assert [cells[0].get_ylabel() for cells in axes] == ["stored", "asked"]
    assert axes[0, 0].images[0].get_clim() == (-1, 1)


def test_names_are_drawn_as_written_and_one_warning_names_the_boxes(tmp_path):
    rows = {r"$\foo$": np.ones((1, 4)), "猫": np.ones((1, 4)), "犬": np.ones((1, 4))}
    with pytest.warns(UserWarning, match="the font has no 犬 猫: drawn as □") as caught:
        axes = plot_patterns(rows, shape=(2, 2), path=tmp_path / "patterns.svg")
    assert len(caught) == 1
    assert [cells[0].get_ylabel() for cells in axes] == [r"$\foo$", "□", "□"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, r"got \[\]"),
        ({"a": np.zeros((0, 6))}, r"got \[\(0, 6\)\]"),
        ({"a": np.zeros((2, 5))}, r"rows must hold arrays \(N, 6\), .* got \[\(2, 5\)\]"),
        ({"a": np.zeros((2, 6)), "b": np.zeros((3, 6))}, r"got \[\(2, 6\), \(3, 6\)\]"),
    ],
)
def test_rows_that_do_not_fit_are_errors(rows, message):
    with pytest.raises(ValueError, match=message):
        plot_patterns(rows, shape=(3, 2))
