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
    ],
)
def test_curves_that_do_not_fit_the_ranges_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_by_length(*arguments)
