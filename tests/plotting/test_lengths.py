import matplotlib.pyplot as plt
import numpy as np
import pytest

from keras_attention.plotting import plot_by_length

RANGES, COUNTS = [(3, 5), (6, 6), (7, 13)], [31, 47, 59]
CURVES = {"with attention": [97.0, 89.0, 83.0], "without": [93.0, 71.0, 29.0]}


def test_the_curves_stand_over_the_ranges_with_the_counts_below(tmp_path):
    axes = plot_by_length(RANGES, CURVES, COUNTS, title="$5", path=tmp_path / "lengths.png")
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert drawn == CURVES
    below = axes.figure.axes[1]
    assert [bar.get_height() for bar in below.patches] == COUNTS
    assert [label.get_text() for label in below.get_xticklabels()] == ["3–5", "6", "7–13"]
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    assert len({line.get_marker() for line in axes.get_lines()}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], CURVES, []), "got 0 and 2"),
        ((RANGES, {}, COUNTS), "got 3 and 0"),
        ((RANGES, {"a": [1.0]}, COUNTS), r"a must have one number per range, 3, got \[1.0\]"),
        ((RANGES, CURVES, [1]), r"counts must have one number per range, 3, got \[1\]"),
        ((RANGES, {"a": [1.0, np.inf, 2.0]}, COUNTS), "a must be finite, or NaN .* inf"),
        ((RANGES, {"a": ["b"] * 3}, COUNTS), "a must be numbers, got .*'b'"),
    ],
)
def test_curves_that_do_not_fit_the_ranges_are_errors(arguments, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        plot_by_length(*arguments)
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    "scores", [[np.nan, 89.0, 83.0], [-3.0, -2.0, -1.0], [-3.0, np.nan, 5.0], [np.nan] * 3]
)
def test_the_panel_holds_every_score_and_0(tmp_path, scores):
    axes = plot_by_length(RANGES, {"a": scores}, COUNTS, path=tmp_path / "lengths.png")
    low, high = axes.get_ylim()
    assert low <= 0 < high
    assert all(low < score < high for score in scores if not np.isnan(score))


def test_names_are_drawn_as_written_and_none_is_left_out(tmp_path):
    names = ["_private", r"$\foo$"]
    curves = {name: [1.0, 2.0, 3.0] for name in names}
    axes = plot_by_length(RANGES, curves, COUNTS, ylabel=r"$\foo$", path=tmp_path / "a.svg")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert axes.get_ylabel() == r"$\foo$"
