"""How the captions of clips are drawn, and scored."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention.lab import captions
from keras_attention.lab.tasks import clips


def test_clips_are_padded_to_one_size():
    few, many = (captions.draw(captions.Settings(), [0], 3, (1, most)) for most in (2, 5))
    for one, other in zip(few[:3], many[:3], strict=True):
        assert one.shape == other.shape
    assert not few.frames[:, 10:].any()
    assert not few.ids[:, 13:].any()


def test_words_count_where_they_stand():
    right = np.array([[5, 7, 3, 0], [5, 7, 11, 3]])
    written = np.array([[5, 7, 3, 0], [5, 11, 7, 3]])
    assert captions.shares_right(written, right) == (0.5, 5 / 7)


class View:
    """A view of a captioner: the weights of the second word, of the third and of the end."""

    def predict_on_batch(self, inputs):
        assert inputs["target"].shape == (1, 3)
        return {"cross_attention": [np.eye(4)[None, [1, 1, 3]]]}


def test_a_word_is_aligned_wrongly_where_the_largest_weight_is_outside_its_event():
    """Two words on frames 0–1 and 2–3 of four: attention has one right, a diagonal both."""
    frames = np.ones((1, 4, 2, 2, 3), "float32")
    ids = np.array(
        [[clips.START, *(clips.WORDS.index(word) for word in ("red", "circle")), clips.END]]
    )
    spans = np.array([[[0, 2], [2, 4], [0, 0]]])
    drawn = clips.Clips(frames, ids, spans, np.array([2]))
    rates = captions.alignment_error_rates(View(), [drawn])
    assert rates == {"attention": 0.5, "diagonal": 0.0, "chance": 0.5}
