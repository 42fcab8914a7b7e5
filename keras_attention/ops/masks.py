"""Masks, and the one masked softmax of the package. True means "may be attended to".

weights_j = m_j exp(s_j) / Σ_i m_i exp(s_i),   and 0 where every m is False
"""

import keras
from keras import ops

UNREACHABLE = -1e9  # below any score a network makes, and finite, so that no NaN can arise


def padding_mask(ids):
    """Say which positions of a batch of sentences hold a token; id 0 is padding.

    Args:
        ids: integers (B, S).

    Returns:
        Booleans (B, S), True where there is a token.
    """
    return ops.not_equal(ids, 0)


def causal_mask(length):
    """Say which positions each of T queries may see: itself, and what stands before it.

    Args:
        length: T, number of queries.

    Returns:
        Booleans (1, T, T).

    Example:
    >>> ops.convert_to_numpy(causal_mask(3)[0]).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    positions = ops.arange(length)
    return (positions[None, :] <= positions[:, None])[None]


def align_mask(mask, scores):
    """Give a mask the rank of the scores, so that the two broadcast.

    Args:
        mask: booleans (B, S), the same for every query, or (B, T, S).
        scores: (B, T, S) or (B, H, T, S).

    Returns:
        The mask as (B, 1, S) or (B, T, S), with one more axis of 1 after B for scores with heads.

    Raises:
        ValueError: the mask is not boolean, or has another rank or length than the scores allow.
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


def masked_softmax(scores, mask=None, axis=-1, temperature=1.0):
    """Turn scores into weights that sum to 1 over what may be attended to.

    Computed in float32 whatever the scores' dtype. A row with nothing to attend to gives weights 0,
    never NaN and never a uniform row; neither do its gradients. Written with exp, max and sum
    along the axis, since `keras.ops.softmax` on another axis than the last cannot be compiled by
    XLA inside a recurrent loop on the TensorFlow backend.

    Args:
        scores: numbers of any shape.
        mask: booleans that broadcast to the scores, or None: attend everywhere.
        axis: the axis that is summed to 1, that of the source positions.
        temperature: what the scores are divided by.

    Returns:
        Weights, float32, of the shape of the scores.
    """
    scores = ops.cast(scores, "float32")
    if mask is not None:
        scores = ops.where(mask, scores, UNREACHABLE)
    peak = ops.stop_gradient(ops.max(scores, axis=axis, keepdims=True))
    shares = ops.exp((scores - peak) / temperature)
    if mask is not None:
        shares = ops.where(mask, shares, 0.0)
    total = ops.sum(shares, axis=axis, keepdims=True)
    return shares / ops.where(total > 0, total, 1.0)
