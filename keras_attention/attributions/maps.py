"""Maps from weights and values: what flows from each source token to each token written.

rollout       R = Π_l ½ (A_l + I), carried through the attention to the context
value norms   ‖Σ_h α_h,ts v_h,s W_h^O‖
value zeroing how far the output of a layer turns when the value of s is zero
"""

from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_attention.translation.inside import Inside
from keras_attention.translation.interventions import replaced
from keras_attention.translation.result import Translation, layers_of
from keras_attention.translation.translator import Translator


def rollout(translator: Translator, translation: Translation) -> np.ndarray:
    """Follow the attention through all layers, attention rollout of Abnar and Zuidema (2020).

    Each layer passes on half of its input, by the residual connection, and half of what it attends
    to. In the encoder this is eq. 1 of the paper. A layer of the decoder mixes the rows of earlier
    tokens, then adds the encoder's rollout as its cross-attention weights it.

    Args:
        translator: not used; every attribution has the same arguments.
        translation: a `Translation` with the weights of a Transformer.

    Returns:
        (T, S): the part of each source token in each token written. A row sums to less than 1; the
        rest comes from the tokens written before.

    Raises:
        ValueError: there are no weights of a Transformer.

    References:
        Abnar, Zuidema (2020), Quantifying attention flow in Transformers, arXiv:2005.00928.
    """
    del translator
    own, cross, causal = (
        layers_of(translation.weights, of) for of in ("encoder", "cross", "decoder")
    )
    if not (own and cross and causal):
        raise ValueError("rollout needs the weights of all three attentions of a Transformer")
    return roll_out(*([layer.mean(axis=0) for layer in layers] for layers in (own, cross, causal)))


def roll_out(
    own: Sequence[np.ndarray], cross: Sequence[np.ndarray], causal: Sequence[np.ndarray]
) -> np.ndarray:
    """Roll out weights without heads.

    Args:
        own: weights (S, S) of each layer of the encoder.
        cross: weights (T, S) of each layer of the decoder.
        causal: weights (T, T) of each layer of the decoder.

    Returns:
        (T, S).
    """
    encoder = np.eye(len(own[0]))
    for weights in own:
        encoder = (weights + np.eye(len(weights))) / 2 @ encoder
    source = np.zeros(cross[0].shape)
    for to_context, to_target in zip(cross, causal, strict=True):
        source = (to_target @ source + source) / 2
        source = (to_context @ encoder + source) / 2
    return source


def value_norms(translator: Translator, translation: Translation) -> np.ndarray:
    """Weigh the values by their attention and measure them, after Kobayashi et al. (2020).

    A large weight on a short vector adds little. The norm is that of what source token s adds to
    the read of row t, over all heads and behind the output projection, eq. 5 of the paper.

    Args:
        translator: a `Translator` with multi-head attention to the context.
        translation: a `Translation` of one sentence.

    Returns:
        (L, T, S): the norms of each of the L layers.

    Raises:
        ValueError: the model has no multi-head attention to the context, or the translation no ids.

    References:
        Kobayashi et al. (2020), Attention is not only a weight, arXiv:2004.10102.
    """
    return np.stack(
        [np.linalg.norm(each, axis=-1) for each in _contributions(translator, translation)]
    )


def _contributions(translator, translation):
    """Return what each source token adds to the read of each row, (T, S, D), layer by layer."""
    inside = Inside.of(translator.model, translation)
    found = []

    def make(number, layer, attend):
        del number

        def seen(query, memory, state):
            read, weights, state = attend(query, memory, state)
            kernel = layer.project_read.kernel  # (H, K, D)
            values = ops.einsum("bhsk,hkd->bhsd", memory.values, kernel)
            found.append(ops.convert_to_numpy(ops.einsum("bhts,bhsd->btsd", weights, values))[0])
            return read, weights, state

        return seen

    with replaced(inside.cross_attentions, "attend", make):
        inside.model(inside.inputs(), training=False)
    return found


def value_zeroing(translator: Translator, translation: Translation) -> np.ndarray:
    """Zero the value of one source token at a time, and see how far the output of a layer turns.

    The distance is 1 − cos between the outputs of the attention block with its residual connection
    and norm, and without the value, as in Mohebbi et al. (2023), eq. 5, here for the attention to
    the context.

    Args:
        translator: a `Translator` whose attention to the context is a `CrossAttention` block with
            several heads.
        translation: a `Translation` of one sentence.

    Returns:
        (L, T, S): the distances of each of the L layers, each row divided by its sum.

    Raises:
        ValueError: the model has no such attention, or the translation no ids.

    References:
        Mohebbi et al. (2023), Quantifying context mixing in Transformers, arXiv:2301.12971.
    """
    inside = Inside.of(translator.model, translation)
    added, seen = _contributions(translator, translation), []

    def make(number, block, after):
        def zeroed(x, read):
            output = after(x, read)
            less = ops.expand_dims(read, 2) - ops.cast(added[number], read.dtype)  # (1, T, S, D)
            others = after(ops.expand_dims(x, 2) + ops.zeros_like(less), less)
            turned, kept = (
                ops.convert_to_numpy(ops.cast(each, "float32"))[0] for each in (others, output)
            )
            seen.append(1 - _cosine(turned, kept))
            return output

        return zeroed

    with replaced(inside.cross_blocks, "after", make):
        inside.model(inside.inputs(), training=False)
    distances = np.stack(seen)
    return distances / np.maximum(distances.sum(axis=-1, keepdims=True), 1e-12)


def _cosine(vectors, reference):
    """Return the cosines (T, S) of vectors (T, S, D) and a reference (T, D)."""
    products = np.einsum("tsd,td->ts", vectors, reference)
    lengths = np.linalg.norm(vectors, axis=-1) * np.linalg.norm(reference, axis=-1)[:, None]
    return products / np.maximum(lengths, 1e-12)
