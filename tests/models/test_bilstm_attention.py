"""The lecture's model: the shapes that its notes write down, and that it needs the word before."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.layers import scores
from tests.models.training import SOME_STEPS
from tests.models.translators import CONTEXT, TARGET, B, S, T, compile_model, logits_of, sentences
from tests.numerics import as_numpy

M1, M2 = 5, 7


@pytest.fixture(scope="module")
def model():
    """Return a model, which no test changes."""
    keras.utils.set_random_seed(1)
    return models.build_bilstm_attention(CONTEXT, TARGET, units=M2, encoder_units=M1)


def test_the_shapes_are_those_of_the_notes(model):
    context = ops.convert_to_tensor(sentences()["context"])
    h = models.encode(model)(context)["memory"]["values"]
    assert h.shape == (B, S, 2 * M1)  # (N, Tx, 2 M1)
    cell = model.get_layer("decoder").get_layer("target_rnn").cell
    s = ops.ones((B, M2))
    context_vector, alpha = cell.attention(s, h, return_attention_scores=True)
    assert alpha.shape == (B, S, 1)  # (N, Tx, 1)
    np.testing.assert_allclose(as_numpy(alpha).sum(axis=1), 1, rtol=1e-6)
    assert context_vector.shape == (B, 2 * M1)  # (1, Tx) (Tx, 2 M1) -> (1, 2 M1)
    np.testing.assert_allclose(
        as_numpy(context_vector), np.sum(as_numpy(alpha) * as_numpy(h), axis=1), atol=1e-6
    )
    # the scorer reads [s(t-1), h(t')], the LSTM [context, y(t-1)], the dense layer s(t)
    assert cell.attention.score.kernel.shape == (M2 + 2 * M1, M2)
    assert cell.cell.kernel.shape == (2 * M1 + M2, 4 * M2)
    assert model.get_layer("decoder").get_layer("logits").kernel.shape == (M2, TARGET)


def test_has_as_many_parameters_as_the_notes_count(model):
    def lstm(inputs, units):
        return 4 * ((inputs + units) * units + units)

    scorer = (M2 + 2 * M1) * M2 + M2 + M2 + 1
    embeddings, dense = CONTEXT * M2 + TARGET * M2, M2 * TARGET + TARGET
    assert (
        model.count_params()
        == 2 * lstm(M2, M1) + lstm(2 * M1 + M2, M2) + scorer + embeddings + dense
    )


def test_the_decoder_starts_from_zeros(model):
    state = models.encode(model)(ops.convert_to_tensor(sentences()["context"]))["state"]
    assert [tuple(each.shape) for each in state] == [(B, M2), (B, M2)]
    assert all((as_numpy(each) == 0).all() for each in state)


@pytest.mark.parametrize(
    "score",
    [
        name if name == "two_layer" else pytest.param(name, marks=pytest.mark.thorough)
        for name in scores.SCORES
    ],
)
def test_every_score_of_the_menu_can_be_chosen(score):
    inputs = sentences()
    model = models.build_bilstm_attention(CONTEXT, TARGET, units=8, score=score)
    weights = as_numpy(models.attention(model)(inputs)["cross_attention"][0])
    attention = model.get_layer("decoder").get_layer("target_rnn").cell.attention
    assert type(attention.score) is scores.SCORES[score]
    # The state before the first word is 0: these weights are those of the scores of a query of 0.
    values = models.encode(model)(ops.convert_to_tensor(inputs["context"]))["memory"]["values"]
    first = as_numpy(attention.score(ops.zeros((B, 1, 8)), values))[:, 0].astype(float)
    shares = np.where(inputs["context"] != 0, np.exp(first), 0)
    assert weights.shape == (B, T, S)
    np.testing.assert_allclose(weights[:, 0], shares / shares.sum(-1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("feeds", "at_least", "at_most"), [(True, 0.95, 1.0), (False, 0.0, 0.75)])
def test_only_the_word_before_tells_which_of_two_was_chosen(feeds, at_least, at_most):
    """Context a b -> target a a, or b b: the second word is known from the first alone."""
    rng = np.random.default_rng(0)
    context = rng.integers(4, 11, (512, 2)).astype("int32")
    chosen = np.take_along_axis(context, rng.integers(0, 2, (512, 1)), axis=1)
    labels, start = np.repeat(chosen, 2, axis=1), np.full((512, 1), 2, "int32")
    target = np.concatenate([start, chosen if feeds else start], axis=1)
    keras.utils.set_random_seed(3)
    model = models.build_bilstm_attention(11, 11, units=16)
    inputs = {"context": context, "target": target}
    compile_model(model, keras.optimizers.Adam(0.02), SOME_STEPS)
    model.fit(inputs, labels, batch_size=64, epochs=6, verbose=0)
    right = logits_of(model, inputs).argmax(-1) == labels
    assert at_least <= right[:, 1].mean() <= at_most


def test_bad_arguments_say_what_was_received():
    with pytest.raises(ValueError, match=r"attention must be one of global, .*, got 'soft'"):
        models.build_bilstm_attention(attention="soft")
    with pytest.raises(ValueError, match=r"score must be one of dot, scaled_dot, .*, got 'sum'"):
        models.build_bilstm_attention(score="sum")
    with pytest.raises(ValueError, match="coverage attention has a score of its own"):
        models.build_bilstm_attention(attention="coverage", score="dot")
    with pytest.raises(ValueError, match="global attention has no window"):
        models.build_bilstm_attention(half_width=2)
    with pytest.raises(ValueError, match="encoder_units must be positive, got 0"):
        models.build_bilstm_attention(encoder_units=0)
    with pytest.raises(ValueError, match=r"same width, got query .*7\) and keys .*10\)"):
        models.build_bilstm_attention(units=M2, encoder_units=M1, score="dot")
