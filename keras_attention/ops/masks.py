"""Masks and the masked softmax of the package. True means "may be attended to".

weights_j = m_j exp(s_j) / Σ_i m_i exp(s_i),   and 0 where every m is False
"""

import keras
from keras import ops

from keras_attention.ops.precision import precise
from keras_attention.types import Array

LOWEST = -3e38  # below any score, whatever its temperature, yet finite, so that no NaN arises
UNREACHABLE = -1e9  # the logarithm of no probability: sums of several are finite, too


def padding_mask(ids: Array) -> Array:
    """Return which positions of a batch of sentences hold a token; id 0 is padding.

    Args:
        ids: integers (B, S).

    Returns:
        Booleans (B, S), True where there is a token.
    """
    return ops.not_equal(ids, 0)


def causal_mask(length: int) -> Array:
    """Return which positions each of T queries may attend to: its own and all earlier ones.

    Args:
        length: T, the number of queries.

    Returns:
        Booleans (1, T, T).

    Example:
    >>> ops.convert_to_numpy(causal_mask(3)[0]).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    positions = ops.arange(length)
    return (positions[None, :] <= positions[:, None])[None]


def align_mask(mask: Array, scores: Array) -> Array:
    """Give a mask the rank of the scores, so that the two broadcast.

    Args:
        mask: booleans (B, S), the same for every query, or (B, T, S).
        scores: (B, T, S) or (B, H, T, S).

    Returns:
        The mask as (B, 1, S) or (B, T, S); for scores with heads, an axis of size 1 follows B.

    Raises:
        ValueError: if the mask is not boolean, or its shape does not fit the scores.
    """
    if keras.backend.standardize_dtype(mask.dtype) != "bool":
        raise ValueError(f"attention_mask must be boolean (True: attend), got dtype {mask.dtype}")
    shape = tuple(scores.shape)
    expected = (shape[0], *shape[-2:])[-len(mask.shape) :] if len(mask.shape) == 3 else ()
    if len(mask.shape) == 2:
        expected = (shape[0], shape[-1])
    fits = len(expected) == len(mask.shape) and all(
        one is None or one == other or other in (None, 1)
        for one, other in zip(expected, mask.shape, strict=True)
    )
    if not fits:
        raise ValueError(
            "attention_mask must have shape (B, S) or (B, T, S) for scores "
            f"(B, …, T, S) = {shape}, got {tuple(mask.shape)}"
        )
    while len(mask.shape) < len(shape):
        mask = ops.expand_dims(mask, 1)
    return mask


def masked_softmax(
    scores: Array, mask: Array | None = None, axis: int = -1, temperature: float = 1.0
) -> Array:
    """Turn scores into weights that sum to 1 over the unmasked positions.

    Computed in float32, or in float64 for scores of float64. A row with nothing to attend to gets
    weights 0, never NaN and never a uniform row; its gradients are never NaN either. The axis goes
    last: on the TensorFlow backend, XLA cannot compile `keras.ops.softmax` inside a recurrent loop
    over any other.

    Args:
        scores: numbers of any shape.
        mask: booleans that broadcast to the scores. None: attend everywhere.
        axis: the axis of the source positions, along which the weights sum to 1.
        temperature: divisor of the scores.

    Returns:
        Weights, at least float32, in the shape of the scores.
    """
    scores = precise(scores)
    if 0 in scores.shape:  # no backend takes the maximum of nothing
        return scores
    if mask is not None:
        scores = ops.where(mask, scores, LOWEST)
    if temperature != 1.0:  # a small one must not make the largest score infinite
        peak = ops.stop_gradient(ops.max(scores, axis=axis, keepdims=True))
        scores = (scores - peak) / temperature
    weights = _softmax(scores, axis)
    return weights if mask is None else ops.where(mask, weights, 0.0)


def _softmax(scores, axis):
    if scores.shape[axis] == 1:  # Keras would warn; the gradient is 0, not missing
        return ops.exp(scores - scores)
    return ops.moveaxis(ops.softmax(ops.moveaxis(scores, axis, -1)), -1, axis)
