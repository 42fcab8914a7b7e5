"""What single heads are worth: remove one, or ask the gradient."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_attention.attributions.scoring import by_words
from keras_attention.layers import MultiHeadAttention
from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited, values_and_gradient
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator

KINDS = ("cross", "encoder", "decoder")


class AlignedHead(NamedTuple):
    """The head of the cross-attention that agrees best with the alignment.

    Attributes:
        layer: number of its layer, counted from 1.
        head: its number in the layer, counted from 1.
        fed: whether a word's row is the one in which the decoder is fed the word, one step after
            the one in which it is said.
        agreement: fraction of the target words for which it names the same source word.
    """

    layer: int
    head: int
    fed: bool
    agreement: float


def aligned_head(translations: Iterable[Translation]) -> AlignedHead:
    """Find the head that shows best where words come from; no gold alignment is needed.

    What a head should name is what `Translation.alignment` names, which asks the model itself.
    Words for which no source word speaks are left out.

    Args:
        translations: translations of one sentence each, with the weights of several heads.

    Returns:
        `AlignedHead`.

    Raises:
        ValueError: the translations have no heads, or no word with an alignment.

    References:
        Chen et al. (2020), Accurate word alignment induction from neural machine translation,
        arXiv:2004.14837, for the row of the word that is fed (Shift-Att).
    """
    agreed, words = np.zeros(()), 0
    for each in translations:
        layers = np.array(each.weights.get("cross_attention", ()))
        if layers.ndim != 4:
            raise ValueError("the attention of this model has no heads to choose from")
        evidence = by_words(each, each.alignment)
        speaks = evidence.any(axis=1)
        named = evidence.argmax(axis=1)
        rows = np.stack([layers, fed_rows(layers)], axis=2)  # (L, H, 2, T, S)
        heads = [by_words(each, weights) for weights in rows.reshape(-1, *rows.shape[3:])]
        same = np.array([weights.argmax(axis=1) == named for weights in heads])
        agreed = agreed + same[:, speaks].sum(axis=1).reshape(rows.shape[:3])
        words += int(speaks.sum())
    if not words:
        raise ValueError("finding a head needs a translation in which a word has an alignment")
    best = np.unravel_index(agreed.argmax(), agreed.shape)
    layer, head, fed = map(int, best)
    return AlignedHead(layer + 1, head + 1, bool(fed), float(agreed[best] / words))


def fed_rows(weights: np.ndarray) -> np.ndarray:
    """Give each token the row in which the decoder is fed it; the last token keeps its own.

    Args:
        weights: (…, T, S), each row that in which the token is said.
    """
    return np.concatenate([weights[..., 1:, :], weights[..., -1:, :]], axis=-2)


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
    inside = Inside.of(translator.model, translation)
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
    every = [_importance(Inside.of(translator.model, each), of) for each in translations]
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
    _, slope = values_and_gradient(loss, gates)
    return np.abs(ops.convert_to_numpy(slope))


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
