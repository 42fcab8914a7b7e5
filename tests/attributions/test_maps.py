import numpy as np
import pytest

from keras_attention.attributions import roll_out, rollout, value_norms, value_zeroing
from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited, replaced
from tests.attributions.sentences import S, T, times, translation_of, translator_of
from tests.models.transformers import LAYERS, build, stirred
from tests.numerics import as_numpy


def test_rollout_by_hand():
    # The first source token attends to the second alone. Each layer keeps half of its input.
    own, causal = np.array([[0.0, 1.0], [0.0, 1.0]]), np.eye(2)
    encoder = np.array([[0.5, 0.5], [0.0, 1.0]])
    cross = np.array([[1.0, 0.0], [0.0, 1.0]])
    one = roll_out([own], [cross], [causal])
    np.testing.assert_allclose(one, encoder / 2)
    # A second layer whose second row attends to the first target token
    causal = np.array([[1.0, 0.0], [1.0, 0.0]])
    two = roll_out([own], [cross, cross], [np.eye(2), causal])
    after_self = np.array([one[0], (one[0] + one[1]) / 2])
    np.testing.assert_allclose(two, (after_self + encoder) / 2)


def test_rollout_of_a_model_keeps_what_the_layers_do_not_halve(translator, translation):
    found = rollout(translator, translation)
    assert found.shape == (T, S)
    # What comes from the source: each of the layers of the decoder adds half of what is missing
    np.testing.assert_allclose(found.sum(axis=1), 1 - 0.5**LAYERS, atol=1e-6)


def test_value_norms_are_those_of_the_weighted_values(translator, translation):
    found = value_norms(translator, translation)
    assert found.shape == (LAYERS, T, S)
    model = translator.model
    inputs = Inside.of(translator.model, translation).inputs()
    memory = as_numpy(model.get_layer("encoder")(inputs["context"])["memory"]["values"])[0]
    for number in range(LAYERS):
        layer = model.get_layer("decoder").get_layer(f"decoder_layer_{number + 1}")
        parts = [as_numpy(weight) for weight in layer.cross_attention.attention.weights]
        values = np.einsum("sd,dhk->hsk", memory, parts[4]) + parts[5][:, None]
        weights = translation.weights["cross_attention"][number]
        expected = np.einsum("hts,hsk,hkd->tsd", weights, values, parts[6])
        np.testing.assert_allclose(found[number], np.linalg.norm(expected, axis=-1), atol=1e-5)


def test_value_zeroing_is_what_a_weight_of_0_does(translator, translation):
    found = value_zeroing(translator, translation)
    inside = Inside.of(translator.model, translation)
    outputs = []

    def keep(number, block, after):
        def kept(x, read):
            outputs.append(as_numpy(after(x, read))[0])
            return after(x, read)

        return kept

    def first_output(edit):
        outputs.clear()
        with (
            edited(inside.cross_attentions[:1], edit),
            replaced(inside.cross_blocks, "after", keep),
        ):
            inside.model(inside.inputs(), training=False)
        return outputs[0]

    whole = first_output(lambda number, weights: weights)
    distances = np.zeros((T, S))
    for s in range(S):
        mask = np.ones(S, "float32")
        mask[s] = 0
        without = first_output(times(mask))
        product = (whole * without).sum(axis=-1)
        distances[:, s] = 1 - product / np.linalg.norm(whole, axis=-1) / np.linalg.norm(
            without, axis=-1
        )
    expected = distances / distances.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found[0], expected, atol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
def test_value_zeroing_of_half_precision_is_about_the_same(norm_first):
    found = []
    for dtype in ("float32", "mixed_bfloat16"):
        model = build(norm_first=norm_first, dtype=dtype)
        model.set_weights(stirred(norm_first).get_weights())
        translator = translator_of(model)
        found.append(value_zeroing(translator, translation_of(translator)))
    np.testing.assert_allclose(*found, atol=0.1)


def test_rollout_needs_the_weights_of_a_transformer(translator, translation):
    weights = {"cross_attention": translation.weights["cross_attention"]}
    with pytest.raises(ValueError, match="all three attentions"):
        rollout(translator, type(translation)(**{**vars(translation), "weights": weights}))
