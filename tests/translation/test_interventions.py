import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited, replaced, values_and_gradient
from tests.attributions.sentences import translation_of, translator_of
from tests.models.transformers import called, stirred
from tests.numerics import as_numpy


@pytest.fixture(scope="module")
def inside():
    translator = translator_of(stirred())
    return Inside.of(translator.model, translation_of(translator))


def test_a_gradient_is_that_of_the_backend():
    at = np.array([1.0, -2.0, 3.0], "float32")
    values, slope = values_and_gradient(lambda x: x**3, at)
    np.testing.assert_allclose(as_numpy(values), at**3, rtol=1e-6)
    np.testing.assert_allclose(as_numpy(slope), 3 * at**2, rtol=1e-6)
    of_sum = values_and_gradient(lambda x: ops.sum(x**3), at)[1]
    np.testing.assert_allclose(as_numpy(of_sum), as_numpy(slope))


def test_a_backend_without_gradients_is_an_error(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "numpy")
    with pytest.raises(ValueError, match=r"a gradient needs .* got the backend numpy"):
        values_and_gradient(ops.sum, np.ones(2))


def test_a_method_comes_back_even_after_an_error(inside):
    attentions = inside.cross_attentions
    before = [each.attend for each in attentions]
    with pytest.raises(TypeError), replaced(attentions, "attend", lambda *_: len):
        attentions[0].attend(1)  # as `len`
    assert [each.attend for each in attentions] == before
    assert "attend" not in vars(attentions[0])


def test_weights_that_stay_as_they_are_change_nothing(inside):
    expected = called(inside.model, inside.inputs())
    with edited(inside.cross_attentions, lambda number, weights: weights):
        np.testing.assert_allclose(called(inside.model, inside.inputs()), expected, atol=1e-6)
    with edited(inside.cross_attentions, lambda number, weights: 0 * weights):
        assert abs(called(inside.model, inside.inputs()) - expected).max() > 1e-2


def test_every_copy_of_the_inputs_gives_the_same(inside):
    one, three = (called(inside.model, inside.inputs(copies)) for copies in (1, 3))
    np.testing.assert_allclose(three, np.repeat(one, 3, 0), atol=1e-5)
