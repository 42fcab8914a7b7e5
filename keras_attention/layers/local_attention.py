"""Local attention: a query attends only to a window around one position of the source.

local-m  p_t = t;   local-p  p_t = S sigmoid(vᵀ tanh(W q_t));   |j − p_t| ≤ D
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_attention.layers.base import Memory, ScoredAttention, full_mask, zeros_for_each
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import local_lookup, predicted_centres
from keras_attention.types import Array, Shape

FAVOURS = ("weights", "scores")


class _LocalAttention(ScoredAttention):
    """Local attention; a subclass sets the window centres and how to favour nearby positions."""

    favour: str | None = None

    def __init__(self, half_width: float, score: str | Callable[..., Array], **kwargs: Any):
        super().__init__(score, **kwargs)
        if not half_width > 0:
            raise ValueError(f"half_width must be positive, got {half_width}")
        self.half_width = half_width

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        memory = super().project_memory(value, key, attention_mask)
        return memory._replace(mask=full_mask(value, memory.mask))

    def centres(
        self, query: Array, lengths: Array, state: list[Array]
    ) -> tuple[Array, list[Array]]:
        """Return the window centres (B, T) and the next state, given source lengths (B, 1)."""
        raise NotImplementedError

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        lengths = ops.sum(ops.cast(memory.mask, "int32"), axis=-1, keepdims=True)
        centres, state = self.centres(query, lengths, state)
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = local_lookup(
            scores, memory.values, centres, self.half_width, memory.mask, self.favour
        )
        return read, weights, state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "half_width": self.half_width}


@keras.saving.register_keras_serializable("keras_attention")
class MonotonicLocalAttention(_LocalAttention):
    """Attend to a window around position t in query t: local-m of Luong et al. (2015), section 3.2.

    It suits sequences that advance in step. A query beyond the end of the source gets the window of
    the last position. Our names / theirs: `half_width` / D, query / h_t, key and value / h̄_s.

    Args:
        half_width: D > 0; a window has 2D + 1 positions, fewer at the ends of the source.
        score: as for `ContextSensitiveMemory`.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query, which has position 0.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend; padding comes last.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: if the score is unknown, `half_width` is not positive, or a shape or the mask is
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

    def __init__(
        self,
        half_width: float = 10,
        score: str | Callable[..., Array] = "scaled_dot",
        **kwargs: Any,
    ):
        super().__init__(half_width, score, **kwargs)

    def initial_state(self, mask: Array) -> list[Array]:
        """Return the position of the next query, (B,)."""
        return [zeros_for_each(mask, 1, "int32")[:, 0]]

    def centres(
        self, query: Array, lengths: Array, state: list[Array]
    ) -> tuple[Array, list[Array]]:
        (first,) = state
        count = ops.shape(query)[1]
        positions = ops.expand_dims(first, 1) + ops.arange(count, dtype="int32")
        return ops.minimum(positions, ops.maximum(lengths - 1, 0)), [first + count]


@keras.saving.register_keras_serializable("keras_attention")
class PredictiveLocalAttention(WeightedLayer, _LocalAttention):
    """Predict from each query where to attend: local-p of Luong et al. (2015), eq. 9 and 10.

    Our names / theirs: `half_width` / D, `position_kernel` / W_p, `position_v` / v_p, query / h_t,
    key and value / h̄_s. Positions count from 0. The gradient reaches the prediction only through
    the Gaussian, so the prediction learns only if the right position is in the window.

    Args:
        half_width: D > 0; σ is D / 2.
        score: as for `ContextSensitiveMemory`.
        units: width of the hidden layer that predicts the position; None: as wide as the query.
        favour: `"weights"`: the Gaussian multiplies the weights, eq. 10; they then sum to less than
            1. `"scores"`: it multiplies the scores before the softmax, as in the authors' later
            code (option `normLocalAttn`); the weights then sum to 1.
        **kwargs: initializers, regularizers and constraints of the prediction, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S), True where a query may attend; padding comes last.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, T, S), float32.

    Raises:
        ValueError: if the score or `favour` is unknown, a number is not positive, or a shape or the
            mask is not as above.

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

    def __init__(
        self,
        half_width: float = 10,
        score: str | Callable[..., Array] = "scaled_dot",
        units: int | None = None,
        favour: str = "weights",
        **kwargs: Any,
    ):
        super().__init__(half_width=half_width, score=score, **kwargs)
        if units is not None and units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        if favour not in FAVOURS:
            raise ValueError(f"favour must be one of {', '.join(FAVOURS)}, got {favour!r}")
        self.units, self.favour = units, favour

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        super().build_parts(query_shape, value_shape, key_shape)
        units = self.units or query_shape[-1]
        self.position_kernel = self.add_kernel("position_kernel", (query_shape[-1], units))
        self.position_v = self.add_kernel("position_v", (units,))

    def centres(
        self, query: Array, lengths: Array, state: list[Array]
    ) -> tuple[Array, list[Array]]:
        return predicted_centres(query, self.position_kernel, self.position_v, lengths), state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "favour": self.favour}
