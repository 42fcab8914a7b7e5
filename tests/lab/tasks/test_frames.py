import numpy as np
import pytest

from keras_attention.lab.tasks import SILENCE, speak


def speech(noise=0.0, seed=0):
    return speak(
        np.random.default_rng(seed), 101, labels=3, frames=19, vocabulary=7, longest=4, noise=noise
    )


def test_without_noise_frames_are_one_hot():
    frames, labels, spoken = speech()
    np.testing.assert_array_equal(frames, np.eye(7)[frames.argmax(-1)])
    assert frames.shape == (101, 19, 7)
    assert labels.shape == (101, 3)
    assert spoken.shape == (101, 3, 19)
    assert (frames.dtype, labels.dtype, spoken.dtype) == ("float32", "int32", "bool")


def test_the_alignment_says_which_frames_speak_which_label():
    frames, labels, spoken = speech()
    heard = frames.argmax(-1)
    for label in range(3):
        lengths = spoken[:, label].sum(-1)
        assert set(lengths) == {1, 2, 3, 4}
        said = np.where(spoken[:, label], heard, labels[:, label : label + 1])
        assert (said == labels[:, label : label + 1]).all()
    assert (heard[~spoken.any(1)] == SILENCE).all()
    assert labels.min() == 1
    assert labels.max() == 6


def test_the_labels_stand_in_order_with_silence_between_them():
    _, _, spoken = speech()
    for label in range(2):
        last = 18 - spoken[:, label, ::-1].argmax(-1)
        first = spoken[:, label + 1].argmax(-1)
        assert (first - last >= 2).all()


def test_the_noise_is_as_wide_as_asked():
    noisy, clean = speech(noise=0.25).frames, speech().frames
    assert np.std(noisy - clean) == pytest.approx(0.25, rel=0.03)


def test_labels_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match=r"3 labels of up to 4 frames.* need 18 frames, got 17"):
        speak(np.random.default_rng(0), 5, labels=3, frames=17)
