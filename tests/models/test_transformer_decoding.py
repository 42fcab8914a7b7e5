"""A Transformer step by step, and its sentences against teacher-forced probabilities."""

import functools

import numpy as np
import pytest
from keras import ops, tree

from keras_attention import models
from keras_attention.decoding import Generator
from tests.contract import as_numpy
from tests.models.transformers import (
    B,
    T,
    build,
    called,
    each_order,
    sentences,
    stirred,
)


@each_order
@pytest.mark.parametrize("positions", ["concatenated", "learned"])
def test_a_cache_with_room_just_enough_equals_teacher_forcing(positions, norm_first):
    model = stirred(positions=positions, max_positions=11, norm_first=norm_first)
    inputs, step = sentences(), models.step(model)
    expected = called(model, inputs)
    encoded = models.encode(model, room=T)(ops.convert_to_tensor(inputs["context"]))
    state = encoded["state"]
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, _, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected[:, t], rtol=0, atol=1e-5)
        assert as_numpy(state["seen"]).tolist() == B * [t + 1]


def test_hypotheses_may_change_places_in_the_middle():
    """As beam search has it: three beginnings of one sentence, of which two go on."""
    model, inputs = stirred(), sentences()
    context = np.repeat(inputs["context"][:1], B, axis=0)
    target, parents, middle = inputs["target"], np.array([2, 0, 0]), 2
    gone_on = np.concatenate([target[parents, :middle], target[:, middle:]], axis=1)
    expected = np.concatenate(
        [
            called(model, {"context": context, "target": target})[:, :middle],
            called(model, {"context": context, "target": gone_on})[:, middle:],
        ],
        axis=1,
    )
    encoded, step = models.encode(model, room=T)(ops.convert_to_tensor(context)), models.step(model)
    state = encoded["state"]
    for t in range(T):
        if t == middle:
            state = tree.map_structure(lambda x: ops.take(x, parents, axis=0), state)
        tokens = ops.convert_to_tensor(target[:, t])
        logits, _, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected[:, t], rtol=0, atol=1e-5)


def test_a_state_without_room_is_refused():
    model, inputs = stirred(), sentences()
    encoded = model.get_layer("encoder")(ops.convert_to_tensor(inputs["context"]))
    tokens = ops.convert_to_tensor(inputs["target"][:, 0])
    with pytest.raises(ValueError, match=r"room for no token: take it from encode\(model\)"):
        models.step(model)(tokens, encoded["memory"], encoded["state"])


# Decoding

START, END, LENGTH, BEAM = 2, 3, 5, 4


@functools.cache
def babbler():
    """A model so small that its random sentences come to an end, and of a sure opinion."""
    model = build(num_layers=1, target_vocabulary=7)
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(weight, 0.5) for weight in model.get_weights()])
    return model


def log_probabilities(model, context, tokens):
    """Return the teacher-forced log softmax (B, L, V) of sentences, in float64."""
    fed = np.concatenate([np.full((len(tokens), 1), START), tokens[:, :-1]], axis=1)
    logits = called(model, {"context": context, "target": fed.astype("int32")}).astype(float)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_greedy_decoding_is_the_argmax_over_the_whole_beginning():
    model, context = babbler(), sentences()["context"]
    tokens, finished = np.zeros((B, LENGTH), "int32"), np.zeros(B, dtype=bool)
    total = np.zeros(B)
    for t in range(LENGTH):
        scores = log_probabilities(model, context, tokens)[:, t]
        allowed = np.where(np.isin(np.arange(7), [0, START]), -np.inf, scores)
        tokens[:, t] = np.where(finished, 0, allowed.argmax(-1))
        total += np.where(finished, 0, allowed.max(-1))
        finished |= tokens[:, t] == END
    generator = Generator(models.encode(model, room=LENGTH), models.step(model), max_length=LENGTH)
    generated = generator.run(context)
    np.testing.assert_array_equal(generated.tokens, tokens)
    np.testing.assert_array_equal(generated.finished, finished)
    np.testing.assert_allclose(generated.log_probabilities, total, rtol=0, atol=1e-4)


def test_the_scores_of_a_beam_are_teacher_forced_log_probabilities():
    model, context = babbler(), sentences()["context"]
    generator = Generator(
        models.encode(model, room=LENGTH),
        models.step(model),
        max_length=LENGTH,
        beam=BEAM,
        n_best=BEAM,
    )
    generated = generator.run(context)
    assert generated.tokens.shape == (B, BEAM, LENGTH)
    assert generated.finished.any()
    lengths = set()
    for b in range(B):
        tokens = generated.tokens[b]
        assert len({tuple(each) for each in tokens}) == BEAM
        gained = log_probabilities(model, np.repeat(context[b : b + 1], BEAM, axis=0), tokens)
        gained = np.take_along_axis(gained, tokens[..., None], axis=-1)[..., 0]
        total = np.where(tokens != 0, gained, 0).sum(-1)
        np.testing.assert_allclose(generated.log_probabilities[b], total, rtol=0, atol=1e-4)
        length = (tokens != 0).sum(-1)
        penalty = ((5 + length) / 6) ** 0.6
        np.testing.assert_allclose(generated.scores[b], total / penalty, rtol=0, atol=1e-4)
        lengths |= set(length.tolist())
    assert len(lengths) > 1
