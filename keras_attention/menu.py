"""Options that are chosen by name, listed without Keras so that `--help` answers at once.

`layers.scores`, the help of `train`, the contract tests and the README's table, which `make docs`
writes, come from this table; a test compares the docstrings of the layers with it.
"""

from collections.abc import Iterable
from typing import NamedTuple


class ScoreEntry(NamedTuple):
    """A score of the menu.

    Attributes:
        layer: name of its class in `keras_attention.layers.scores`.
        equation: the score of a query q and a key k, as the README shows it.
    """

    layer: str
    equation: str


SCORES = {
    "dot": ScoreEntry("DotScore", "q·k"),
    "scaled_dot": ScoreEntry("ScaledDotScore", "q·k / √K"),
    "cosine": ScoreEntry("CosineScore", "β cos(q, k)"),
    "general": ScoreEntry("GeneralScore", "qᵀ W k"),
    "concat": ScoreEntry("ConcatScore", "vᵀ tanh(W [q; k])"),
    "additive": ScoreEntry("AdditiveScore", "vᵀ tanh(W q + U k)"),
    "two_layer": ScoreEntry("TwoLayerScore", "w₂ᵀ tanh(W₁ [q; k] + b₁) + b₂"),
    "location": ScoreEntry("LocationScore", "(W q)_j"),
}

# The translators that come with the package, the default first, and what they are
TRANSLATORS = {"spa-eng": "a Transformer", "spa-eng-rnn": "an RNN with attention"}

# What can compute a translation, and how
KERAS, ONNX_RUNTIME, INT8 = "keras", "onnxruntime", "onnxruntime-int8"
RUNTIMES = {
    KERAS: "Keras, by a compiled program",
    ONNX_RUNTIME: "ONNX Runtime, for a Transformer on a CPU, without compiling",
    INT8: "the same with products of eight-bit integers",
}

NEEDS_OF_ONNX_RUNTIME = ("onnx", "onnxruntime")  # packages

# The maps of `attributions`, and what each asks
ATTRIBUTIONS = {
    "attention": "the weights, the mean over layers and heads",
    "rollout": "the weights, followed through all layers",
    "value-norms": "the weights times the length of what they weigh",
    "value-zeroing": "how far the output of a layer turns without a value",
    "gradient-attention": "the weights times the gradient of the word's probability",
    "relevance": "the logit of the word, shared out among the inputs layer by layer",
    "leave-one-out": "the loss of probability without a source word",
    "alignment": "the last two together (the last, for an RNN), read as a whole sentence",
}


def option_names(names: Iterable[str]) -> str:
    """Return names as the command line's help lists them.

    Example:
    >>> option_names(["dot", "scaled_dot"])
    '`dot`, `scaled-dot`'
    """
    return ", ".join(f"`{name.replace('_', '-')}`" for name in names)
