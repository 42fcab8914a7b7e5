import matplotlib.pyplot as plt
import numpy as np
import pytest
from keras.ops import convert_to_numpy

from keras_attention.ops import sinusoids
from keras_attention.plotting import plot_positions


def test_a_row_is_a_position_and_cosines_stand_beside_it(tmp_path):
    encodings = np.array([[3.0, 4.0], [-4.0, 3.0], [6.0, 8.0], [0.0, 0.0]])
    axes = plot_positions(encodings, title="$5", path=tmp_path / "positions.png")
    assert (tmp_path / "positions.png").read_bytes().startswith(b"\x89PNG")
    rows, cosines = (ax.images[0] for ax in axes)
    np.testing.assert_array_equal(rows.get_array(), encodings)
    assert rows.get_clim() == (-8, 8)  # 0 is in the middle of the colours
    right = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]  # nothing is like nothing
    np.testing.assert_allclose(cosines.get_array(), right, atol=1e-12)
    assert cosines.get_clim() == (-1, 1)


def test_sinusoids_are_alike_by_their_distance():
    encodings = convert_to_numpy(sinusoids(np.arange(20), 16))
    axes = plot_positions(encodings)
    assert plt.fignum_exists(axes[0].figure.number)  # without a path it is pyplot's own
    cosines = np.array(axes[1].images[0].get_array())
    plt.close(axes[0].figure)
    for distance in range(20):
        diagonal = np.diagonal(cosines, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-5)


@pytest.mark.parametrize(
    ("encodings", "message"),
    [
        (np.zeros(3), r"shape \(T, D\), got \(3,\)"),
        (np.zeros((0, 4)), r"shape \(T, D\), got \(0, 4\)"),
        ([[1.0, np.nan]], "must be finite"),
    ],
)
def test_what_is_no_table_of_numbers_is_an_error(encodings, message):
    with pytest.raises(ValueError, match=message):
        plot_positions(encodings)
