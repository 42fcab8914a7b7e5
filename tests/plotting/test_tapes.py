import numpy as np
import pytest
from matplotlib.image import imread

from keras_attention.plotting import plot_tapes

T, F, BITS, N, H = 11, 7, 5, 13, 2


def arrays(**changes):
    rng = np.random.default_rng(0)
    shapes = {
        "inputs": (T, F),
        "outputs": (T, BITS),
        "write_weights": (T, N),
        "read_weights": (T, N),
        **changes,
    }
    return {name: rng.uniform(size=shape) for name, shape in shapes.items()}


def test_time_goes_from_left_to_right_in_all_panels(tmp_path):
    given = arrays()
    axes = plot_tapes(**given, title="$5", path=tmp_path / "tapes.png")
    assert imread(tmp_path / "tapes.png")[..., :3].std() > 0.01
    assert [ax.get_title("left") for ax in axes.flat] == [
        "inputs",
        "outputs",
        "write weights",
        "read weights",
    ]
    for ax, values in zip(axes.flat, given.values(), strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), values.T)
    assert [ax.images[0].get_clim() for ax in axes[1]] == [(0, 1), (0, 1)]


def test_only_the_rows_in_use_are_drawn():
    given = arrays(write_weights=(T, 128), read_weights=(T, 128))
    used = {name: np.zeros((T, 128)) for name in ("write_weights", "read_weights")}
    used["write_weights"][0, 106], used["read_weights"][5, 114] = 0.1, 0.9
    used["read_weights"][:, 20] = 0.01
    axes = plot_tapes(**given | used)
    for ax, values in zip(axes[1], used.values(), strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), values.T[106:115])
        assert ax.get_ylim() == (114.5, 105.5)
    assert axes[1, 0].get_ylabel() == "row of the memory, of 128"


def test_nothing_is_white_also_where_there_are_negative_numbers():
    given = arrays()
    given["inputs"][:, 0] = -1.5
    axes = plot_tapes(**given)
    assert axes[0, 0].images[0].get_clim() == (0, given["inputs"].max())


def test_several_heads_share_a_panel(tmp_path):
    given = arrays(read_weights=(T, H, N))
    axes = plot_tapes(**given, path=tmp_path / "tapes.svg")
    drawn = axes[1, 1].images[0].get_array()
    np.testing.assert_array_equal(drawn, given["read_weights"].max(axis=1).T)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": (T,)}, r"inputs must have shape \(T, width\), got \(11,\)"),
        ({"outputs": (0, BITS)}, r"outputs must have shape .* got \(0, 5\)"),
        ({"read_weights": (T, H, N, 1)}, r"read_weights must have shape \(T, N\) or \(T, H, N\)"),
        ({"outputs": (T + 1, BITS)}, "same number of time steps, got .*'outputs': 12"),
        ({"write_weights": (T, N + 1)}, "same number of rows, got 14, 13"),
    ],
)
def test_arrays_that_do_not_fit_are_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        plot_tapes(**arrays(**changes))


def test_a_bad_path_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="path must end in one of"):
        plot_tapes(**arrays(), path=tmp_path / "tapes.doc")
    assert list(tmp_path.iterdir()) == []
