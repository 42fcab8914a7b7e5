"""Multi-head attention from dense layers and a reshape, as written on a blackboard.

(B, T, H·K) → (B, T, H, K) → (B, H, T, K);   head = softmax(Q Kᵀ / √K) V;   read = concat(heads) W^O
"""

import math
from typing import Any

import keras
from keras import layers, ops

from keras_attention.layers.base import Attention, Memory
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import dot, lookup
from keras_attention.types import Array, Shape

SCALES = ("head", "total")


@keras.saving.register_keras_serializable("keras_attention")
class DenseMultiHeadAttention(WeightedLayer, Attention):
    """Let each query attend to a memory with several heads, section 3.2.2 of Vaswani et al. (2017).

    This is the construction of the lecture notes: one `Dense` layer computes the queries of all
    heads, and a reshape separates them. Given the same weights, the layer equals
    `MultiHeadAttention`, which has a kernel (D, H, K) instead. Heads are split as (B, T, H, K) and
    then transposed: a reshape directly to (B, H, T, K) would mix positions and heads, and no shape
    would reveal it.

    Args:
        num_heads: H.
        width: H · K, the width of all heads together; the notes' d_model = n_head · d_attn.
        scale: the depth whose square root divides the dot products. `"head"`: K, as in the paper
            and in Keras. `"total"`: H · K, as in the tutorial that the notes link to
            (machinelearningmastery.com). It divides by a further √H and serves only for comparison.
        use_bias: whether the projections have biases.
        **kwargs: initializers, regularizers and constraints of the projections, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        query: (B, T, D).
        value: (B, S, F).
        key: (B, S, E). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend. A query that
            may attend to nothing has weights 0, and its read is the bias of the last projection.
        return_attention_scores: whether to return `(read, weights)`.

    Returns:
        The read (B, T, D), and on request the weights (B, H, T, S), float32.

    Raises:
        ValueError: a number is not positive, `width` is not a multiple of `num_heads`, `scale` is
            unknown, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> attend = DenseMultiHeadAttention(num_heads=2, width=16)
    >>> query, memory = np.ones((2, 3, 5)), np.ones((2, 7, 11))
    >>> read, weights = attend(query, memory, return_attention_scores=True)
    >>> tuple(read.shape), tuple(weights.shape)
    ((2, 3, 5), (2, 2, 3, 7))

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    query_ranks = (3,)

    def __init__(
        self,
        num_heads: int,
        width: int,
        scale: str = "head",
        use_bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if num_heads < 1 or width < 1 or width % num_heads:
            raise ValueError(
                "num_heads and width must be positive integers and width a multiple of num_heads, "
                f"got {num_heads} and {width}"
            )
        if scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
        self.num_heads, self.width, self.scale = num_heads, width, scale
        self.use_bias = use_bias
        self.to_query, self.to_key, self.to_value = (
            self._dense(width, name) for name in ("query", "key", "value")
        )

    def _dense(self, width, name):
        options = {"use_bias": self.use_bias, **self.weight_options()}
        return layers.Dense(width, dtype=self.dtype_policy, name=name, **options)

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        self.to_query.build(query_shape)
        self.to_key.build(key_shape)
        self.to_value.build(value_shape)
        self.to_read = self._dense(query_shape[-1], "read")
        self.to_read.build((*query_shape[:-1], self.width))

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        key = self._split(self.to_key(value if key is None else key))  # (B, H, S, K)
        return Memory(key, self._split(self.to_value(value)), attention_mask)

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        query = self._split(self.to_query(query))  # (B, H, T, K)
        depth = self.width // self.num_heads if self.scale == "head" else self.width
        scores = dot(query, memory.keys) / math.sqrt(depth)
        read, weights, _ = lookup(scores, memory.values, memory.mask)
        return self.to_read(self._join(read)), weights, state

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return tuple(query_shape)

    def _split(self, x):
        """(B, T, H·K) → (B, H, T, K)."""
        x = ops.reshape(x, (*ops.shape(x)[:2], self.num_heads, self.width // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def _join(self, heads):
        """(B, H, T, K) → (B, T, H·K)."""
        heads = ops.transpose(heads, (0, 2, 1, 3))
        return ops.reshape(heads, (*ops.shape(heads)[:2], self.width))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "width": self.width,
            "scale": self.scale,
            "use_bias": self.use_bias,
        }
