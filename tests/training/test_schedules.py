import keras
import numpy as np
import pytest

from keras_attention.training import WarmUp, vaswani_peak


def rates(schedule, steps):
    return np.array([float(schedule(step)) for step in steps])


@pytest.mark.parametrize("width", [128, 512])
def test_warm_up_is_equation_3_of_the_paper(width):
    warm_up = 7
    steps = np.arange(1, 31)
    expected = width**-0.5 * np.minimum(steps**-0.5, steps * warm_up**-1.5)
    schedule = WarmUp(vaswani_peak(width, warm_up), warm_up)
    # The optimizer counts its steps from 0, the paper from 1.
    np.testing.assert_allclose(rates(schedule, steps - 1), expected, rtol=1e-6)
    assert expected.argmax() + 1 == warm_up


def test_warm_up_rises_evenly_and_falls_with_the_root():
    # step 1 is a quarter of the way, 4 the peak, and at 16 and 64 a half and a quarter are left
    expected = [0.25, 0.5, 0.75, 1.0, 0.5, 0.25]
    np.testing.assert_allclose(
        rates(WarmUp(1.0, 4), [0, 1, 2, 3, 15, 63]), expected, rtol=1e-6, atol=0
    )


def test_the_peak_of_the_paper():
    assert vaswani_peak(512) == pytest.approx(1 / np.sqrt(512 * 4000))
    assert vaswani_peak(512, 1000) == pytest.approx(2 * vaswani_peak(512))
    assert vaswani_peak(2048) == pytest.approx(vaswani_peak(512) / 2)


def test_a_cosine_ends_at_0_and_stays_there():
    schedule = WarmUp(2.0, 5, decay_steps=17)
    steps = np.arange(1, 25)
    falling = 1 + np.cos(np.pi * np.clip((steps - 5) / 12, 0, 1))
    expected = np.where(steps <= 5, 2 * steps / 5, falling)
    found = rates(schedule, steps - 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert found[4] == found.max() == 2
    assert found[4 + 6] == pytest.approx(1)  # halfway down
    np.testing.assert_array_equal(found[16:], 0)


def test_a_fall_that_is_shorter_than_the_rise_does_not_bend_it():
    found = rates(WarmUp(1.0, 10, decay_steps=11), np.arange(10))
    np.testing.assert_allclose(found, np.arange(1, 11) / 10, rtol=1e-6)


@pytest.mark.parametrize("decay_steps", [None, 17])
def test_the_schedule_is_known_to_keras_by_name(decay_steps):
    schedule = WarmUp(0.5, 3, decay_steps)
    for module in (keras.optimizers.schedules, keras.saving):
        name = "deserialize" if module is not keras.saving else "deserialize_keras_object"
        twin = getattr(module, name)(getattr(module, name.removeprefix("de"))(schedule))
        assert type(twin) is WarmUp
        assert twin.get_config() == {"peak": 0.5, "warm_up": 3, "decay_steps": decay_steps}
        np.testing.assert_array_equal(rates(twin, range(19)), rates(schedule, range(19)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 3), "peak must be positive, got 0.0"),
        ((-1.0, 3), "peak must be positive, got -1.0"),
        ((float("nan"), 3), "peak must be positive, got nan"),
        ((1.0, 0), "warm_up must be at least 1 and decay_steps above it, got 0 and None"),
        ((1.0, 5, 5), "warm_up must be at least 1 and decay_steps above it, got 5 and 5"),
    ],
)
def test_a_schedule_out_of_order(arguments, message):
    with pytest.raises(ValueError, match=message):
        WarmUp(*arguments)
