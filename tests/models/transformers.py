"""Small Transformers, and sentences for them, for the tests of all that they promise."""

import functools

import keras
import numpy as np
import pytest
from keras import ops, tree

from keras_attention import models
from tests.numerics import as_numpy

B, S, T, H, DEPTH, HIDDEN, LAYERS = 3, 7, 5, 2, 11, 13, 2
UNITS, CONTEXT, TARGET = H * DEPTH, 29, 31

each_order = pytest.mark.parametrize(
    "norm_first",
    [
        pytest.param(False, id="post_norm"),
        pytest.param(True, id="pre_norm", marks=pytest.mark.thorough),
    ],
)


def build(**options):
    sizes = {
        "context_vocabulary_size": CONTEXT,
        "target_vocabulary_size": TARGET,
        "units": UNITS,
        "num_layers": LAYERS,
        "num_heads": H,
        "feed_forward_dim": HIDDEN,
    }
    keras.utils.set_random_seed(1)
    return models.build_transformer(**{**sizes, **options})


def stirred(norm_first=False, **options):
    """Return a model whose weights are neither 0 nor 1; it is made once, and no test changes it."""
    return _stirred(norm_first=norm_first, **options)


@functools.cache
def _stirred(**options):
    model, rng = build(**options), np.random.default_rng(0)
    model.set_weights([rng.normal(weight, 0.1) for weight in model.get_weights()])
    return model


def sentences(seed=0):
    rng = np.random.default_rng(seed)
    context, target = rng.integers(4, CONTEXT, (B, S)), rng.integers(4, TARGET, (B, T))
    context[0, 4:] = context[1, 6:] = target[1, 3:] = 0
    return {"context": context.astype("int32"), "target": target.astype("int32")}


def called(model, inputs, **options):
    tensors = {name: ops.convert_to_tensor(ids) for name, ids in inputs.items()}
    return tree.map_structure(as_numpy, model(tensors, **options))
