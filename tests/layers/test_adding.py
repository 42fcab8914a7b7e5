"""What docs/adding.md shows: its score and its attention keep the contract of all layers."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from keras_attention import layers, menu
from keras_attention.layers import scores
from tests import contract
from tests.contract import B, K, LayerCase, S, T
from tests.numerics import as_numpy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding.md"
CODE = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CHECKS = [
    contract.check_shapes_and_sums,
    contract.check_called_as_keras_calls_attention,
    contract.check_config_round_trip,
    contract.check_symbolic_equals_eager,
    contract.check_padding_changes_nothing,
    contract.check_nothing_to_look_at,
    contract.check_gradients,
]
IMPORTS = """
from typing import ClassVar
import keras
from keras import ops
from keras_attention.layers.base import Attention
from keras_attention.layers.scores import Score
from keras_attention.layers.weights import WeightedLayer
from keras_attention.menu import ScoreEntry
from keras_attention.ops import dot, lookup, scores
"""


@pytest.fixture(scope="module")
def names():
    """Run the page as one would type it; the menu has the new score as long as the tests last."""
    function, score, attention = CODE
    found = {}
    exec(IMPORTS + function, found)
    scores.scores.negative_distance = found["negative_distance"]
    exec(score.replace("SCORES = {..., ", "ENTRY = {") + attention, found)
    menu.SCORES.update(found["ENTRY"])
    scores.SCORES["negative_distance"] = found[menu.SCORES["negative_distance"].layer]
    yield found
    del menu.SCORES["negative_distance"]
    del scores.SCORES["negative_distance"], scores.scores.negative_distance


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_score_of_the_page_keeps_the_contract(names, check):
    make = partial(layers.ContextSensitiveMemory, "negative_distance", key_dim=13)
    check(LayerCase("negative_distance", make, (B, T, K), (B, T, S)))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_attention_of_the_page_keeps_the_contract(names, check):
    check(LayerCase("sharp", names["SharpAttention"], (B, T, K), (B, T, S)))


def test_the_distance_of_the_page_on_paper(names):
    query, keys = np.array([[[0.0, 0.0]]], "float32"), np.array([[[3.0, 4.0]]], "float32")
    assert as_numpy(names["negative_distance"](query, keys, 0.0)).tolist() == [[[-25.0]]]
