"""Local attention: a query looks only at a window around one position of the source.

local-m  p_t = t;   local-p  p_t = S sigmoid(vᵀ tanh(W q_t));   |j − p_t| ≤ D
"""

import keras
from keras import ops

from keras_attention.layers.base import ScoredAttention, full_mask
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import local_lookup, predicted_centres

FAVOURS = ("weights", "scores")


class _LocalAttention(ScoredAttention):
    """Both kinds: a subclass says where the windows lie, and what they favour."""

    favour = None

    def __init__(self, half_width, score, **kwargs):
        super().__init__(score, **kwargs)
        if not half_width > 0:
            raise ValueError(f"half_width must be positive, got {half_width}")
        self.half_width = half_width

    def project_memory(self, value, key=None, attention_mask=None):
        memory = super().project_memory(value, key, attention_mask)
        return memory._replace(mask=full_mask(value, memory.mask))

    def centres(self, query, lengths, state):
        """Return the centres (B, T) of the windows, and the next state; the lengths are (B, 1)."""
        raise NotImplementedError

    def attend(self, query, memory, state):
        lengths = ops.sum(ops.cast(memory.mask, "int32"), axis=-1, keepdims=True)
        centres, state = self.centres(query, lengths, state)
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = local_lookup(
            scores, memory.values, centres, self.half_width, memory.mask, self.favour
        )
        return read, weights, state

    def get_config(self):
        return {**super().get_config(), "half_width": self.half_width}


@keras.saving.register_keras_serializable("keras_attention")
class MonotonicLocalAttention(_LocalAttention):
    """Let query t look at a window around position t: local-m of Luong et al. (2015), section 3.2.

    For sequences that run in step. The window of a query beyond the end of the source is that of
    its last position. Our names / theirs: `half_width` / D, query / h_t, key and value / h̄_s.

    Args:
        half_width: D > 0; a window has 2D + 1 positions, of which those that exist are seen.
        score: as for every attention layer of the package.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query, which is that of position 0.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend; padding comes last.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: there is no such score, `half_width` is not positive, or a shape or the mask is
            not as above.

    Example:
    >>> import numpy as np
    >>> attend = MonotonicLocalAttention(half_width=1, score="dot")
    >>> x = np.zeros((1, 4, 2))
    >>> _, weights = attend(x, x, return_attention_scores=True)
    >>> (np.array(weights)[0] > 0).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]

    References:
        Luong, Pham, Manning (2015), Effective approaches to attention-based neural machine
        translation, arXiv:1508.04025.
    """

    def __init__(self, half_width=10, score="scaled_dot", **kwargs):
        super().__init__(half_width, score, **kwargs)

    def initial_state(self, mask):
        """Return the position of the next query, (B,)."""
        return [ops.zeros_like(mask[:, 0], dtype="int32")]

    def centres(self, query, lengths, state):
        (first,) = state
        count = ops.shape(query)[1]
        positions = ops.expand_dims(first, 1) + ops.arange(count, dtype="int32")
        return ops.minimum(positions, ops.maximum(lengths - 1, 0)), [first + count]


@keras.saving.register_keras_serializable("keras_attention")
class PredictiveLocalAttention(WeightedLayer, _LocalAttention):
    """Let each query predict where to look: local-p of Luong et al. (2015), eq. 9 and 10.

    Our names / theirs: `half_width` / D, `position_kernel` / W_p, `position_v` / v_p, query / h_t,
    key and value / h̄_s. Positions count from 0. The gradient reaches the prediction through the
    Gaussian only, so that it learns from a window that holds the right position.

    Args:
        half_width: D > 0; σ is D / 2.
        score: as for every attention layer of the package.
        units: width of the hidden layer that predicts the position; None: as wide as the query.
        favour: `"weights"`: the Gaussian multiplies the weights, eq. 10, so that they sum to less
            than 1. `"scores"`: it multiplies the scores before the softmax, as in the authors'
            later code (option `normLocalAttn`), and the weights sum to 1.
        **kwargs: initializers, regularizers and constraints of the prediction, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend; padding comes last.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: there is no such score, a number is not positive, or a shape or the mask is not
            as above.

    Example:
    >>> import numpy as np
    >>> attend = PredictiveLocalAttention(half_width=2, score="dot")
    >>> x = np.zeros((1, 8, 3))  # so that p = 8 sigmoid(0) = 4
    >>> _, weights = attend(x, x, return_attention_scores=True)
    >>> (np.array(weights)[0, 0] > 0).astype(int).tolist()
    [0, 0, 1, 1, 1, 1, 1, 0]

    References:
        Luong, Pham, Manning (2015), Effective approaches to attention-based neural machine
        translation, arXiv:1508.04025; github.com/lmthang/nmt.matlab.
    """

    def __init__(self, half_width=10, score="scaled_dot", units=None, favour="weights", **kwargs):
        super().__init__(half_width=half_width, score=score, **kwargs)
        if units is not None and units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        if favour not in FAVOURS:
            raise ValueError(f"favour must be one of {', '.join(FAVOURS)}, got {favour!r}")
        self.units, self.favour = units, favour

    def build_parts(self, query_shape, value_shape, key_shape):
        super().build_parts(query_shape, value_shape, key_shape)
        units = self.units or query_shape[-1]
        self.position_kernel = self.add_kernel("position_kernel", (query_shape[-1], units))
        self.position_v = self.add_kernel("position_v", (units,))

    def centres(self, query, lengths, state):
        return predicted_centres(query, self.position_kernel, self.position_v, lengths), state

    def get_config(self):
        return {**super().get_config(), "units": self.units, "favour": self.favour}
