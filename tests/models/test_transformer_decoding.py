"""A Transformer step by step: its cache."""

import numpy as np
import pytest
from keras import ops, tree

from keras_attention import models
from tests.models.transformers import (
    B,
    T,
    called,
    sentences,
    stirred,
)
from tests.numerics import as_numpy


@pytest.mark.parametrize(
    "options", [{}, {"positions": "learned", "max_positions": 11, "num_layers": 1}], ids=str
)
def test_a_cache_with_just_enough_slots_equals_teacher_forcing(options):
    model, inputs = stirred(**options), sentences()
    step = models.step(model)
    expected = called(model, inputs)
    encoded = models.encode(model, slots=T)(ops.convert_to_tensor(inputs["context"]))
    state = encoded["state"]
    for t in range(T):
        tokens = ops.convert_to_tensor(inputs["target"][:, t])
        logits, _, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected[:, t], rtol=0, atol=1e-5)
        for cache in state:
            assert as_numpy(cache.length).tolist() == B * [t + 1]


@pytest.mark.parametrize("shared", [False, True])
def test_hypotheses_may_change_places_in_the_middle(shared):
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
    step = models.step(model)
    encoded = models.encode(model, slots=T)(ops.array(context[:1] if shared else context))
    state = step.branch(encoded["state"], B) if shared else encoded["state"]
    for t in range(T):
        if t == middle and shared:
            state = step.follow(state, ops.array(parents[None], dtype="int32"))
        elif t == middle:
            state = tree.map_structure(lambda x: ops.take(x, parents, axis=0), state)
        tokens = ops.convert_to_tensor(target[:, t])
        logits, _, state = step(tokens, encoded["memory"], state)
        np.testing.assert_allclose(as_numpy(logits), expected[:, t], rtol=0, atol=1e-5)


@pytest.mark.parametrize("parts", [(2, 3), (1, 4), (5,)], ids=str)
def test_a_target_in_parts_of_any_length_equals_teacher_forcing(parts):
    model, inputs = stirred(), sentences()
    decoder, logits, start = models.step(model).decoder, [], 0
    encoded = models.encode(model, slots=T + 2)(ops.convert_to_tensor(inputs["context"]))
    state = encoded["state"]
    for length in parts:
        target = ops.convert_to_tensor(inputs["target"][:, start : start + length])
        outputs = decoder({"memory": encoded["memory"], "state": state, "target": target})
        state, start = outputs["state"], start + length
        logits.append(as_numpy(outputs["logits"]))
    expected = called(model, inputs)
    np.testing.assert_allclose(np.concatenate(logits, axis=1), expected, rtol=0, atol=1e-5)
