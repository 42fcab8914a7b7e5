"""A sentence with its translation by a small model, without decoding."""

import numpy as np
from keras.ops import convert_to_tensor

from keras_attention import models
from keras_attention.text import SPECIAL_WORDS, Vocabulary
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator
from tests.models.transformers import CONTEXT, TARGET, called

CONTEXT_IDS, TARGET_IDS = (2, 5, 7, 11, 3), (13, 17, 5, 3)
S, T = len(CONTEXT_IDS), len(TARGET_IDS)


def vocabulary(size):
    return Vocabulary([*SPECIAL_WORDS, *(f"w{chr(97 + n)}" for n in range(size - 4))])


def translator_of(model):
    return Translator(model, vocabulary(CONTEXT), vocabulary(TARGET))


def translation_of(translator):
    """Return a `Translation` with the weights of the model, its second and third token one word."""
    model = translator.model
    inputs = {
        "context": np.array([CONTEXT_IDS], "int32"),
        "target": np.array([(2, *TARGET_IDS[:-1])], "int32"),
    }
    weights = called(models.attention(model), inputs)
    weights.pop("logits")
    return Translation(
        source="one two three",
        text="uno dos tres",
        context_tokens=("[START]", "one", "tw", "o", "[END]"),
        target_tokens=("un", "o", "dos", "[END]"),
        weights={kind: [each[0] for each in layers] for kind, layers in weights.items()},
        unknown=(),
        finished=True,
        context_groups=([0], [1], [2, 3], [4]),
        target_groups=([0, 1], [2], [3]),
        context_ids=CONTEXT_IDS,
        target_ids=TARGET_IDS,
    )


def log_probabilities(model, context=CONTEXT_IDS):
    """Return log p of each target token by NumPy, in float64."""
    fed = np.array([(2, *TARGET_IDS[:-1])], "int32")
    logits = called(model, {"context": np.array([context], "int32"), "target": fed})
    logits = np.asarray(logits[0], "float64")
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return logits[np.arange(T), list(TARGET_IDS)]


def times(gates):
    """Return an edit of weights: multiply them by gates."""
    return lambda number, weights: weights * convert_to_tensor(gates)


def with_bias(model, size):
    """Give every bias a value, so that it adds something."""
    for weight in model.weights:
        if "bias" in weight.path or "beta" in weight.path:
            weight.assign(np.full(weight.shape, size))
    return model
