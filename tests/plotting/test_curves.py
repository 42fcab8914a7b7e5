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
    ],
)
def test_curves_that_cannot_be_drawn_are_errors(curves, message):
    with pytest.raises(ValueError, match=message):
        draw(curves)
