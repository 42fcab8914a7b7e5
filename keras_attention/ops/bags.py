"""A sentence as one vector: the weighted sum of its words.

m = Σ_j l_j ⊙ x_j,   l_kj = (1 − j/J) − (k/d)(1 − 2j/J)
"""

from keras import ops


def position_encoding(mask, width):
    """Say how much each number of each word counts in a sentence, so that the order is kept.

    Section 4.1 of Sukhbaatar et al. (2015): l_kj = (1 − j/J) − (k/d)(1 − 2j/J), words j = 1 … J,
    numbers k = 1 … d. J is the number of words of the sentence itself, without padding, so that
    more padding changes nothing.

    Args:
        mask: booleans (…, J), True for words; padding comes last.
        width: d, the numbers of a word.

    Returns:
        l, (…, J, d), float32, 0 at padding.

    Example:
    >>> import numpy as np
    >>> ops.convert_to_numpy(position_encoding(np.array([True, True, False]), 2)).tolist()
    [[0.5, 0.5], [0.5, 1.0], [0.0, 0.0]]
    """
    present = ops.cast(mask, "float32")
    length = ops.maximum(ops.sum(present, axis=-1, keepdims=True), 1.0)
    share = ops.cumsum(present, axis=-1) / length  # j/J
    number = ops.cast(ops.arange(1, width + 1), "float32") / width  # k/d
    falling, turning = (present * (1 - share))[..., None], (present * (1 - 2 * share))[..., None]
    return falling - turning * number
