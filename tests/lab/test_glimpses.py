"""What the glimpses are compared with."""

import numpy as np
import pytest

from keras_attention.lab import glimpses
from keras_attention.lab.tasks.digits import Digits, Scenes


def scenes(labels):
    labels = np.array(labels)
    return Scenes(np.zeros((len(labels), 8, 8, 1)), labels, np.zeros((*labels.shape, 2)))


@pytest.mark.parametrize("number", [1, 2])
def test_the_dense_net_is_as_large_as_it_is_asked_to_be(number):
    net = glimpses.build_dense((20, 24), number, 61_000)
    assert net.count_params() == pytest.approx(61_000, rel=0.01)
    assert net.output_shape == ((None, 10) if number == 1 else (None, 2, 10))


def test_a_picture_is_read_right_where_every_label_is():
    logits = np.eye(10)[[[3, 7], [3, 5]]]
    assert glimpses.right(logits, scenes([[3, 7], [3, 7]])).tolist() == [True, False]
    assert glimpses.right(np.eye(10)[[3, 5]], scenes([[3], [4]])).tolist() == [True, False]


def test_no_digit_to_test_with_is_among_those_to_learn_from(monkeypatch):
    def painted(brightness):
        return Digits(np.full((3, 8, 8), brightness, "float32"), np.zeros(3, "int32"))

    monkeypatch.setattr(glimpses, "load_digits", lambda: (painted(0.25), painted(0.75)))
    setting = glimpses.ONE._replace(pictures=19, tests=17)
    train, test = glimpses.draw(setting, 0)
    assert (len(train.pictures), len(test.pictures)) == (19, 17)
    assert set(np.unique(train.pictures)) == {0, 0.25}
    assert set(np.unique(test.pictures)) == {0, 0.75}
