"""What single heads are worth: remove one, or ask the gradient."""

from collections.abc import Iterable

import numpy as np
from keras import ops

from keras_attention.attributions.inside import Inside
from keras_attention.attributions.interventions import edited, gradient
from keras_attention.layers import MultiHeadAttention
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator

KINDS = ("cross", "encoder", "decoder")


def head_ablation(
    translator: Translator, translation: Translation, of: str = "cross"
) -> np.ndarray:
    """Remove one head at a time, and see what the translation loses.

    A removed head reads nothing: its weights are 0, eq. 1 of Michel et al. (2019).

    Args:
        translator: a `Translator` with multi-head attention.
        translation: a `Translation` of one sentence.
        of: `"cross"`, the attention to the context; or the self-attention of the `"encoder"` or
            the `"decoder"` of a Transformer.

    Returns:
        (L, H): the loss of log-probability, in nats per token, without each head; negative where
        the translation gains.

    Raises:
        ValueError: the model has no such attention, or the translation no ids.

    References:
        Michel et al. (2019), Are sixteen heads really better than one?, arXiv:1905.10650.
    """
    inside = Inside.of(translator, translation)
    attentions = attentions_of(inside, of)
    heads = attentions[0].num_heads
    one_less = 1 - np.eye(len(attentions) * heads, dtype="float32")
    gates = one_less.reshape(-1, len(attentions), heads)  # copy n lacks head n

    def score(gates):
        gates = ops.convert_to_tensor(gates)
        with edited(attentions, lambda number, weights: weights * gates[:, number, :, None, None]):
            logits = inside.model(inside.inputs(gates.shape[0]), training=False)
        return ops.convert_to_numpy(ops.mean(inside.answers(logits), axis=-1))

    losses = score(np.ones_like(gates[:1])) - score(gates)
    return losses.reshape(len(attentions), heads)


def head_importance(
    translator: Translator, translations: Iterable[Translation], of: str = "cross"
) -> np.ndarray:
    """Estimate the importance of all heads at once from gradients, eq. 2 of Michel et al. (2019).

    Args:
        translator: a `Translator` with multi-head attention.
        translations: translations of one sentence each, at least one.
        of: as for `head_ablation`.

    Returns:
        (L, H): the mean over translations of |∂ loss / ∂ gate|, where a gate of 1 multiplies each
        head, and the loss is in nats per token.

    Raises:
        ValueError: the model has no such attention, a translation has no ids, or there is none.

    References:
        Michel et al. (2019), Are sixteen heads really better than one?, arXiv:1905.10650.
    """
    every = [_importance(Inside.of(translator, each), of) for each in translations]
    if not every:
        raise ValueError("the importance of heads needs at least one translation, got none")
    return np.mean(every, axis=0)


def _importance(inside, of):
    attentions = attentions_of(inside, of)

    def loss(gates):
        with edited(attentions, lambda number, weights: weights * gates[number, :, None, None]):
            logits = inside.model(inside.inputs(), training=False)
        return -ops.mean(inside.answers(logits))

    gates = np.ones((len(attentions), attentions[0].num_heads), "float32")
    return np.abs(gradient(loss, gates))


def attentions_of(inside: Inside, of: str) -> list[MultiHeadAttention]:
    """Return the attentions of a kind, the first layer first.

    Raises:
        ValueError: there is no such kind, or the model has none of it.
    """
    if of not in KINDS:
        raise ValueError(f"of must be one of {', '.join(KINDS)}, got {of!r}")
    if of == "cross":
        return inside.cross_attentions
    inside.need_transformer()
    layers = inside.encoder_layers if of == "encoder" else inside.decoder_layers
    return [layer.self_attention.attention for layer in layers]
