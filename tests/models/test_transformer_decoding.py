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
def test_a_cache_with_room_just_enough_equals_teacher_forcing(options):
    model, inputs = stirred(**options), sentences()
    step = models.step(model)
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
