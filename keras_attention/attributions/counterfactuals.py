"""What the translation would be with other attention, or without a word."""

from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from keras_attention.translation import alignment
from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import edited
from keras_attention.translation.result import Translation
from keras_attention.translation.translator import Translator
from keras_attention.types import Array


def leave_one_out(translator: Translator, translation: Translation) -> np.ndarray:
    """Leave out one source word at a time, and see which tokens lose probability.

    The prediction difference of Li et al. (2019). It asks the model itself, with no look at its
    inside, so it serves every model.

    Args:
        translator: a `Translator`.
        translation: a `Translation` of one sentence.

    Returns:
        (T, S): the loss of log-probability of each token written, in nats; the loss without a word
        of several tokens is divided equally among them. `[START]` and `[END]` stay: 0.

    Raises:
        ValueError: the translation has no ids.

    References:
        Li et al. (2019), On the word alignment from neural machine translation, ACL 2019.
    """
    inside = Inside.of(translator.model, translation)
    found = alignment.leave_one_out(translator.evidence, translation)
    losses = np.zeros((len(inside.target), len(inside.context)))
    for word, loss in zip(alignment.source_words(translation), found.T, strict=True):
        losses[:, word] = loss[:, None] / len(word)
    return losses


def permuted_attention(
    translator: Translator, translation: Translation, samples: int = 20, seed: int = 0
) -> np.ndarray:
    """Permute the weights of every row at random, and see how far the probabilities move.

    If they hardly move, the weights do not explain the token, section 4.2.1 of Jain and Wallace
    (2019).

    Args:
        translator: a `Translator` with multi-head attention to the context.
        translation: a `Translation` of one sentence.
        samples: number of permutations.
        seed: random seed.

    Returns:
        (T,): the median over the permutations of the total variation distance, from 0 to 1.

    Raises:
        ValueError: the model has no multi-head attention to the context, or the translation no ids.

    References:
        Jain, Wallace (2019), Attention is not explanation, arXiv:1902.10186.
    """
    rng = np.random.default_rng(seed)

    def permute(number: int, weights: Array) -> Array:
        del number
        order = np.argsort(rng.random((samples, *weights.shape[1:])), axis=-1)
        return ops.take_along_axis(weights, ops.convert_to_tensor(order), axis=-1)

    return np.median(_distances(translator, translation, permute, samples), axis=0)


def uniform_attention(translator: Translator, translation: Translation) -> np.ndarray:
    """Attend to all source tokens alike, and see how far the probabilities move.

    The frozen uniform attention of Wiegreffe and Pinter (2019), here without training anew: the
    model was trained with its own weights.

    Args:
        translator: a `Translator` with multi-head attention to the context.
        translation: a `Translation` of one sentence.

    Returns:
        (T,): the total variation distance, from 0 to 1.

    Raises:
        ValueError: the model has no multi-head attention to the context, or the translation no ids.

    References:
        Wiegreffe, Pinter (2019), Attention is not not explanation, arXiv:1908.04626.
    """

    def flatten(number: int, weights: Array) -> Array:
        del number
        return ops.ones_like(weights) / weights.shape[-1]

    return _distances(translator, translation, flatten, 1)[0]


def _distances(
    translator: Translator,
    translation: Translation,
    edit: Callable[[int, Array], Array],
    copies: int,
) -> np.ndarray:
    """Return the total variation distances (copies, T) that an edit of the weights makes."""
    inside = Inside.of(translator.model, translation)

    def probabilities(copies):
        logits = inside.model(inside.inputs(copies), training=False)
        return ops.convert_to_numpy(keras.ops.softmax(ops.cast(logits, "float32")))

    before = probabilities(1)
    with edited(inside.cross_attentions, edit):
        after = probabilities(copies)
    return np.abs(after - before).sum(axis=-1) / 2
