"""The relevance of every input for the logit of each token written.

    relevance_s = Σ_d x_s ∂ logit_t / ∂x_s, with rules that keep the sum

It is computed as input × gradient of a model in which what the rules call constants have no
gradient. See `keras_attention.attributions.relevance` for the rules.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_attention.layers import PositionalEmbedding
from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import replaced, values_and_gradient
from keras_attention.types import Array

_Norm = keras.layers.LayerNormalization


class Relevance(NamedTuple):
    """The relevance of the inputs for the logit of each token written.

    Attributes:
        context: (T, S), that of the source tokens.
        target: (T, T), that of the tokens fed to the decoder.
        logits: (T,), the logits that were shared out.
    """

    context: np.ndarray
    target: np.ndarray
    logits: np.ndarray


def share_out(inside: Inside) -> Relevance:
    """Share out the logit of each token written among the inputs.

    Args:
        inside: a Transformer with a sentence and its translation.

    Returns:
        `Relevance`.

    Raises:
        ValueError: the model is not a Transformer.
    """
    inside.need_transformer()
    tokens, sources = len(inside.target), len(inside.context)
    inputs = inside.inputs(copies=tokens)

    def logits_of(gates):
        with ExitStack() as stack:
            for rule in _rules(inside, gates[:, :sources], gates[:, sources:]):
                stack.enter_context(rule)
            logits = inside.answers(inside.model(inputs, training=False), of_logarithm=False)
        return ops.diagonal(logits)  # copy t is for token t

    # A gate of 1 on each embedded token: its gradient is input × gradient, summed over the width
    gates = np.ones((tokens, sources + tokens), "float32")
    logits, found = values_and_gradient(logits_of, gates)
    return Relevance(found[:, :sources], found[:, sources:], logits)


def _rules(inside, context_gates, target_gates):
    """Yield the context managers under which a gradient is a relevance."""
    blocks = [each.self_attention for each in (*inside.encoder_layers, *inside.decoder_layers)]
    blocks += inside.cross_blocks
    attentions = [block.attention for block in blocks]
    yield replaced(attentions, "attend", _attend_with_constant_weights)
    blocks += [each.feed_forward for each in (*inside.encoder_layers, *inside.decoder_layers)]
    halves = [inside.model.get_layer(part).layers for part in ("encoder", "decoder")]
    norms = [each for layers in halves for each in layers if isinstance(each, _Norm)]
    norms += [block.norm for block in blocks]
    yield replaced(norms, "call", _norm_with_constant_deviation)
    for layers, gates in zip(halves, (context_gates, target_gates), strict=True):
        embeddings = [each for each in layers if isinstance(each, PositionalEmbedding)]
        yield replaced(embeddings, "call", _gated(gates))


def _norm_with_constant_deviation(number, norm, call) -> Callable[[Array], Array]:
    del number, call

    def normed(x):
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        constant = ops.stop_gradient(1 / ops.sqrt(variance + norm.epsilon))
        return centred * constant * norm.gamma + norm.beta

    return normed


def _attend_with_constant_weights(number, layer, attend):
    del number

    def constant(query, memory, state):
        _, weights, state = attend(query, memory, state)
        weights = ops.stop_gradient(weights)
        read = ops.matmul(ops.cast(weights, memory.values.dtype), memory.values)
        return layer.project_read(ops.swapaxes(read, 1, 2)), weights, state

    return constant


def _gated(gates):
    def make(number, embedding, call):
        del number, embedding

        def gated(ids, *, start=None, reverse=False):
            x = call(ids, start=start, reverse=reverse)
            return x if reverse else x * ops.expand_dims(ops.cast(gates, x.dtype), -1)

        return gated

    return make
