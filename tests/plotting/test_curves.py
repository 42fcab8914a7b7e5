import matplotlib.pyplot as plt
import numpy as np
import pytest

from keras_attention.plotting import plot_curves

CURVES = {"with": ([1, 2, 4], [8.0, 2.0, 0.5]), "without": ([1, 3], [8.0, 7.0])}


def draw(curves=CURVES, **options):
    return plot_curves(curves, xlabel="sequences", ylabel="bits", **options)


def test_every_contender_has_its_own_line(tmp_path):
    axes = draw(title="$5", path=tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    drawn = {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.get_lines()
    }
    assert drawn == CURVES
    assert len({(line.get_color(), line.get_marker()) for line in axes.get_lines()}) == 2
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("sequences", "bits")
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("axes", "scales"), [("y", ("linear", "log")), ("xy", ("log", "log")), ("x", ("log", "linear"))]
)
def test_axes_can_be_logarithmic(tmp_path, axes, scales):
    drawn = draw(logarithmic=axes, path=tmp_path / "curves.svg")
    assert (drawn.get_xscale(), drawn.get_yscale()) == scales


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "one to 4 curves, got 0"),
        ({str(i): ([1], [1]) for i in range(5)}, "one to 4 curves, got 5"),
        ({"a": ([1, 2], [1])}, "'a' must have a y for each x, got 2 and 1"),
        ({"a": ([], [])}, "'a' must have a y for each x, got 0 and 0"),
        ({"a": ([1], ["b"])}, r"y of curve 'a' must be numbers, got \['b'\]"),
    ],
)
def test_curves_that_cannot_be_drawn_are_errors(curves, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        draw(curves)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("axes", ["z", "xx", None])
def test_other_axes_cannot_be_logarithmic(axes):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=f"logarithmic must be .* got {axes!r}"):
        draw(logarithmic=axes)
    assert plt.get_fignums() == before


def test_names_are_drawn_as_written_and_none_is_left_out(tmp_path):
    names = ["_private", "$9 or $10", r"$\foo$"]
    curves = {name: ([1, 2], [3, 4]) for name in names}
    path = tmp_path / "curves.svg"
    with pytest.warns(UserWarning, match="the font has no 犬 猫 頭: drawn as □") as caught:
        axes = plot_curves(curves, xlabel=r"猫 $\foo$", ylabel=r"犬 $\foo$", title="頭", path=path)
    assert len(caught) == 1
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"□ $\foo$", r"□ $\foo$")


@pytest.mark.parametrize(
    ("x", "logarithmic", "ticks"),
    [
        ([1, 2], "", ["1", "2"]),
        ([3, 4, 6], "x", ["3", "4", "6"]),
        ([0.3, 0.4, 0.6], "x", ["0.3", "0.4", "0.6"]),
        ([100, 200, 400], "", ["100", "200", "400"]),
    ],
)
def test_a_few_x_have_their_own_ticks(tmp_path, x, logarithmic, ticks):
    axes = draw({"a": (x, x)}, logarithmic=logarithmic, path=tmp_path / "curves.svg")
    assert [label.get_text() for label in axes.get_xticklabels()] == ticks
    assert not len(axes.get_xticks(minor=True))


def test_ticks_of_whole_numbers_are_whole_and_no_two_overlap(tmp_path):
    for x in (range(1, 14), [1, 100, 101], [5]):
        axes = draw({"a": (x, x)}, path=tmp_path / "curves.svg")
        ticks = axes.get_xticks()
        assert (ticks % 1 == 0).all()
        assert (np.diff(ticks) > 0.05 * np.ptp(axes.get_xlim())).all()


def test_a_gap_at_the_beginning_hides_no_negative_number(tmp_path):
    axes = draw({"a": ([1, 2, 3], [np.nan, -5.0, 2.0])}, path=tmp_path / "curves.svg")
    assert axes.get_ylim()[0] == -5
