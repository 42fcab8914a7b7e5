"""The translators of the package, each small and made once, and sentences for them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import models
from keras_attention.training import MaskedCrossentropy
from tests.numerics import as_numpy

B, S, T, UNITS, CONTEXT, TARGET = 3, 7, 5, 16, 23, 29
SIZES = {"context_vocabulary_size": CONTEXT, "target_vocabulary_size": TARGET, "units": UNITS}


@dataclass(frozen=True, eq=False)
class ModelCase:
    """A model with the inputs context and target, and the shapes of its weights by name."""

    name: str
    build: Callable
    weights: dict

    def __str__(self):
        return self.name


def transformer_case(name, num_layers, **options):
    sizes = {"num_layers": num_layers, "num_heads": 2, "feed_forward_dim": 13, **SIZES}
    shapes = {
        "cross_attention": (B, 2, T, S),
        "decoder_self_attention": (B, 2, T, T),
        "encoder_self_attention": (B, 2, S, S),
    }
    return ModelCase(
        f"transformer_{name}",
        partial(models.build_transformer, **sizes, **options),
        {f"{kind}_{n + 1}": shape for n in range(num_layers) for kind, shape in shapes.items()},
    )


CASES = [
    ModelCase(
        "rnn_multi_head",
        partial(models.build_rnn_attention, attention="multi_head", **SIZES),
        {"cross_attention_1": (B, 1, T, S)},
    ),
    *(
        ModelCase(
            f"rnn_{name}",
            partial(models.build_rnn_attention, attention=name, **SIZES),
            {"cross_attention_1": (B, T, S)},
        )
        for name in ("global", "hard")
    ),
    *(  # without a past, and with one of integers, of three axes, of three tensors
        ModelCase(
            f"bilstm_{name}",
            partial(models.build_bilstm_attention, attention=name, **SIZES),
            {"cross_attention_1": (B, T, S)},
        )
        for name in ("global", "local_m", "neural_coverage", "recurrent_location")
    ),
    *(
        ModelCase(
            f"seq2seq_{name}",
            partial(models.build_seq2seq, pooling=name, **SIZES),
            {"cross_attention_1": (B, T, S)},
        )
        for name in ("last", "max")
    ),
    transformer_case("tutorial", 2, key_dim=11),
    transformer_case("pre_norm", 1, norm_first=True, tied=True, positions="learned"),
]

# One of each builder; the others differ from these in a layer, which has a contract of its own.
EVERY_NAME = tuple(case.name for case in CASES)
ONE_OF_EACH_BUILDER = (
    "rnn_multi_head",
    "bilstm_recurrent_location",
    "seq2seq_last",
    "transformer_pre_norm",
)
ONE_OF_EACH_KIND = ("seq2seq_last", "transformer_pre_norm")


def each_case(everyday=ONE_OF_EACH_BUILDER, thorough=EVERY_NAME):
    """Run a test for the cases of some names, and in the whole suite for those of more."""
    marks = {True: [], False: [pytest.mark.thorough]}
    cases = [
        pytest.param(case, marks=marks[case.name in everyday], id=case.name)
        for case in CASES
        if case.name in {*everyday, *thorough}
    ]
    return pytest.mark.parametrize("case", cases)


@functools.cache
def model_of(case):
    """Return the model of a case, which no test changes."""
    keras.utils.set_random_seed(1)
    return case.build()


@functools.cache
def outputs_of(case):
    """Return logits and weights of a case for `sentences()`, by name."""
    return by_name(models.attention(model_of(case))(tensors(sentences())))


def by_name(outputs):
    """Return logits, if there are any, and the weights of each layer by their kind and number."""
    arrays = {}
    for kind, value in outputs.items():
        if kind == "logits":
            arrays[kind] = as_numpy(value)
        else:
            arrays |= {f"{kind}_{n}": as_numpy(each) for n, each in enumerate(value, start=1)}
    return arrays


def sentences(seed=0):
    rng = np.random.default_rng(seed)
    context, target = rng.integers(4, CONTEXT, (B, S)), rng.integers(4, TARGET, (B, T))
    context[0, 4:] = 0
    target[1, 3:] = 0
    return {"context": context.astype("int32"), "target": target.astype("int32")}


def tensors(inputs):
    return {name: ops.convert_to_tensor(ids) for name, ids in inputs.items()}


def logits_of(model, inputs):
    return as_numpy(model(tensors(inputs)))


def compile_model(model, optimizer, how):
    """Compile a model for training, in a way of `tests.models.training`."""
    model.compile(optimizer, loss=MaskedCrossentropy(), **how)
