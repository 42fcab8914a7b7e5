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
from keras_attention.translation.inside import Layers, of_tokens
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


class Relevances(keras.Model):
    """Shares out the logit of each token written among the inputs.

    Args:
        model: a Transformer.

    Call arguments:
        inputs: a dictionary: a sentence `"context"`, N times, (N, S); `"target"`, what the decoder
            is fed, N times, (N, T); and `"tokens"`, what it writes, N times, (N, T). Copy n is for
            token n.

    Returns:
        The fields of `Relevance`, as a dictionary, for the N or T tokens, whichever is less; the
        relevances have N rows.
    """

    def __init__(self, model: keras.Model):
        super().__init__()
        self.model = model
        self.compile(jit_compile=keras.backend.backend() == "jax")

    def call(self, inputs: dict[str, Array]) -> dict[str, Array]:
        ids = {name: inputs[name] for name in ("context", "target")}
        sources = ids["context"].shape[1]

        def logits_of(gates):
            with ExitStack() as stack:
                for rule in _rules(self.model, gates[:, :sources], gates[:, sources:]):
                    stack.enter_context(rule)
                logits = self.model(ids, training=False)
            return ops.diagonal(of_tokens(logits, inputs["tokens"]))

        # A gate of 1 on each embedded token: its gradient is input × gradient, summed over width
        gates = ops.ones_like(ops.concatenate(list(ids.values()), axis=1), dtype="float32")
        logits, found = values_and_gradient(logits_of, gates)
        return {"context": found[:, :sources], "target": found[:, sources:], "logits": logits}


def _rules(model, context_gates, target_gates):
    """Yield the context managers under which a gradient is a relevance."""
    inside = Layers(model)
    blocks = [each.self_attention for each in (*inside.encoder_layers, *inside.decoder_layers)]
    blocks += inside.cross_blocks
    attentions = [block.attention for block in blocks]
    yield replaced(attentions, "attend", _attend_with_constant_weights)
    blocks += [each.feed_forward for each in (*inside.encoder_layers, *inside.decoder_layers)]
    halves = [model.get_layer(part).layers for part in ("encoder", "decoder")]
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
