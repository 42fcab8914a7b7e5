"""Maps from gradients: what would change the probability, or the logit, of each token written.

gradient × attention  Σ_l,h,t' α ∂ log p_t / ∂α_s
relevance             Σ_d x_s ∂ logit_t / ∂x_s, with rules that keep the sum
"""

import numpy as np
from keras import ops

from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited, values_and_gradient
from keras_attention.translation.relevance import Relevance
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator


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
    inside = Inside.of(translator.model, translation)
    attentions = inside.cross_attentions
    tokens, sources = len(inside.target), len(inside.context)
    inputs = inside.inputs(copies=tokens)  # copy t is for token t

    def probability(gates):
        with edited(attentions, lambda number, weights: weights * gates[:, number, None, None]):
            answers = inside.answers(inside.model(inputs, training=False))
        return ops.sum(answers * ops.eye(tokens))

    # A gate of 1 on each weight: its gradient is that of the weight, times the weight
    gates = np.ones((tokens, len(attentions), sources), "float32")
    _, slope = values_and_gradient(probability, gates)
    return ops.convert_to_numpy(slope).sum(axis=1)


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
    return translator.evidence.relevance(Inside.of(translator.model, translation))
