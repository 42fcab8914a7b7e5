import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers.dropout import Dropout
from tests.numerics import as_numpy

SHAPE = (7, 11, 500)


def dropped(rate, shape=SHAPE, **options):
    return as_numpy(Dropout(rate, **{"seed": 1, **options})(ops.ones(shape), training=True))


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_a_fraction_is_dropped_and_the_mean_stays(rate):
    found = dropped(rate)
    nearest = round(rate * 256) / 256
    error = 4 * (nearest * (1 - nearest) / found.size) ** 0.5  # four standard deviations
    assert (found == 0).mean() == pytest.approx(nearest, abs=error)
    np.testing.assert_allclose(found[found > 0], 1 / (1 - nearest), rtol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_any_width_has_masks_of_its_own(width):
    found = dropped(0.5, (4001, width))
    # Every pair of columns, those of one random number included, agrees by chance
    for one in range(width):
        for other in range(one):
            agree = ((found[:, one] == 0) == (found[:, other] == 0)).mean()
            assert agree == pytest.approx(0.5, abs=0.04)
    assert (found == 0).mean() == pytest.approx(0.5, abs=0.04)


def test_a_seed_repeats_the_masks_and_each_call_draws_others():
    one, same, other = (dropped(0.5, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    layer = Dropout(0.5, seed=1)
    first, second = (as_numpy(layer(ops.ones(SHAPE), training=True)) for _ in range(2))
    assert (first != second).any()


def test_without_training_or_rate_nothing_changes():
    x = ops.convert_to_tensor(np.arange(6.0, dtype="float32"))
    for layer, training in ((Dropout(0.5), False), (Dropout(0.0), True), (Dropout(0.999), False)):
        np.testing.assert_array_equal(as_numpy(layer(x, training=training)), np.arange(6.0))


def test_it_keeps_dtype_and_config():
    layer = Dropout(0.3, dtype="mixed_bfloat16", name="drop")
    assert keras.backend.standardize_dtype(layer(ops.ones((2, 3)), training=True).dtype) == (
        "bfloat16"
    )
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert (type(again), again.rate) == (Dropout, 0.3)


@pytest.mark.parametrize("rate", [1, -0.1])
def test_a_wrong_rate_is_an_error(rate):
    with pytest.raises(ValueError, match=rf"between 0 and 1|below 1, got {rate}"):
        Dropout(rate)


@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_a_rate_that_a_byte_cannot_tell_from_none_or_all_is_kept(rate):
    found = dropped(rate)
    error = 4 * (rate * (1 - rate) / found.size) ** 0.5  # four standard deviations
    assert (found == 0).mean() == pytest.approx(rate, abs=error)
    np.testing.assert_allclose(found[found > 0], 1 / (1 - rate), rtol=1e-4)


def test_a_noise_shape_drops_as_in_keras():
    found = dropped(0.5, (2, 6, 8), noise_shape=(2, 1, 8))
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], 6, axis=1))
    assert len(np.unique(found)) == 2
