"""Maps from gradients: what would change the probability, or the logit, of each token written.

gradient × attention  Σ_l,h,t' α ∂ log p_t / ∂α_s
relevance             Σ_d x_s ∂ logit_t / ∂x_s, with rules that keep the sum
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_attention.attributions.inside import Inside
from keras_attention.attributions.interventions import edited, gradient, replaced
from keras_attention.layers import PositionalEmbedding
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator
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


def gradient_attention(translator: Translator, translation: Translation) -> np.ndarray:
    """Multiply the attention to the context by the gradient of the log-probability of each token.

    A weight counts if a little more of it would change the probability. The products are summed
    over layers, heads and rows, since a token depends on earlier rows too.

    Args:
        translator: a `Translator` with multi-head attention to the context.
        translation: a `Translation` of one sentence.

    Returns:
        (T, S): positive where attention raises the probability, negative where it lowers it.

    Raises:
        ValueError: the model has no multi-head attention to the context, or the translation no ids.

    References:
        Barkan et al. (2021), Grad-SAM, arXiv:2204.11073, without its cut at 0; Michel et al. (2019)
        for the gates.
    """
    inside = Inside.of(translator, translation)
    attentions = inside.cross_attentions
    tokens, sources = len(inside.target), len(inside.context)
    inputs = inside.inputs(copies=tokens)  # copy t is for token t

    def probability(gates):
        with edited(attentions, lambda number, weights: weights * gates[:, number, None, None]):
            answers = inside.answers(inside.model(inputs, training=False))
        return ops.sum(answers * ops.eye(tokens))

    # A gate of 1 on each weight: its gradient is that of the weight, times the weight
    return gradient(probability, np.ones((tokens, len(attentions), sources), "float32")).sum(axis=1)


def relevance(translator: Translator, translation: Translation) -> Relevance:
    """Share out the logit of each token among the inputs, layer by layer.

    Every layer hands the relevance of its output to its inputs: a linear layer in proportion to
    what each adds, a norm as if its standard deviation were a constant, and attention as if its
    weights were. So no relevance is lost: that of the source and of the tokens fed sums to the
    logit, but for what biases add. These are the rules of AttnLRP, Achtibat et al. (2024), with
    attention weights held constant, as in Ali et al. (2022): through the softmax, the sum would not
    be kept. It is computed as input × gradient of a model in which the constants have no gradient.

    Args:
        translator: a `Translator` with a Transformer.
        translation: a `Translation` of one sentence.

    Returns:
        `Relevance`.

    Raises:
        ValueError: the model is not a Transformer, or the translation has no ids.

    References:
        Achtibat et al. (2024), AttnLRP, arXiv:2402.05602; Ali et al. (2022), XAI for Transformers,
        arXiv:2202.07304.
    """
    inside = Inside.of(translator, translation)
    inside.need_transformer()
    tokens, sources = len(inside.target), len(inside.context)
    inputs = inside.inputs(copies=tokens)

    def logit(gates):
        with ExitStack() as stack:
            for rule in _rules(inside, gates[:, :sources], gates[:, sources:]):
                stack.enter_context(rule)
            logits = inside.answers(inside.model(inputs, training=False), of_logarithm=False)
        return ops.sum(logits * ops.eye(tokens))

    # A gate of 1 on each embedded token: its gradient is input × gradient, summed over the width
    found = gradient(logit, np.ones((tokens, sources + tokens), "float32"))
    kept = inside.answers(inside.model(inside.inputs(), training=False), of_logarithm=False)
    return Relevance(found[:, :sources], found[:, sources:], ops.convert_to_numpy(kept)[0])


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
            return x if reverse else x * ops.expand_dims(gates, -1)

        return gated

    return make
