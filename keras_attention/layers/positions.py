"""Add the position of each token to its embedding, since attention alone ignores order.

y_t = x_t + p_{s+t}, with p from sinusoids or learned;   x_t = √D E[id_t]
"""

import math
from typing import Any

import keras
from keras import ops

from keras_attention.layers.dropout import Dropout
from keras_attention.layers.token_embedding import within
from keras_attention.layers.weights import EmbeddingLayer
from keras_attention.ops import sinusoids
from keras_attention.ops.positions import LAYOUTS
from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array, Shape

POSITIONS = (*LAYOUTS, "learned")


class _Positions(keras.layers.Layer):
    """Base of both layers: add an encoding to each token of a sentence or part of a sentence."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x: Array, start: Array | None = None) -> Array:
        _check_rank(x)
        positions = ops.expand_dims(ops.arange(x.shape[1] or ops.shape(x)[1]), 0)
        if start is not None:
            positions = positions + ops.expand_dims(ops.cast(start, "int32"), -1)
        return x + ops.cast(self.encode(positions), x.dtype)

    def compute_output_spec(self, x: Array, start: Array | None = None) -> Array:
        # Stated here because, for an unknown length, Keras on PyTorch would try length 83.
        del start
        _check_rank(x)
        self.check_length(x.shape[1])
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def compute_output_shape(self, x_shape: Shape, start_shape: Shape | None = None) -> Shape:
        del start_shape
        return tuple(x_shape)

    def check_length(self, length: int | None) -> None:
        """Check that there are positions for this many tokens; an unknown length passes."""


def _check_rank(x):
    if len(x.shape) != 3:
        raise ValueError(f"x must have shape (B, T, D), got {tuple(x.shape)}")


@keras.saving.register_keras_serializable("keras_attention")
class SinusoidalPositions(_Positions):
    """Add the sinusoids of section 3.5 of Vaswani et al. (2017), for sentences of any length.

    Args:
        layout: `"interleaved"` as in the paper, or `"concatenated"` as in the TensorFlow tutorial,
            which permutes the same numbers.
        **kwargs: as for every Keras layer.

    Call arguments:
        x: (B, T, D), D even.
        start: integers (B,), or (1,) for all, the position of the first token. Defaults to 0.

    Returns:
        (B, T, D).

    Raises:
        ValueError: `layout` is unknown, D is odd, or x has another shape.

    Example:
    >>> import numpy as np
    >>> encoded = SinusoidalPositions()(np.zeros((1, 2, 4)))
    >>> [round(float(number), 3) for number in encoded[0, 1]]
    [0.841, 0.54, 0.01, 1.0]

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, layout: str = "interleaved", **kwargs: Any):
        super().__init__(**kwargs)
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
        self.layout = layout

    def build(self, x_shape: Shape) -> None:
        width: Any = x_shape[-1]
        sinusoids(ops.arange(1), width, self.layout)  # raises an error for an odd width
        self.width = width

    def encode(self, positions: Array) -> Array:
        positions = ops.cast(positions, precise_dtype(self.compute_dtype))
        return sinusoids(positions, self.width, self.layout)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layout": self.layout}


@keras.saving.register_keras_serializable("keras_attention")
class LearnedPositions(_Positions, EmbeddingLayer):
    """Add a learned vector to each token by its position, up to a maximum length.

    Section 3.5 of Vaswani et al. (2017), table 3, row E: about as good as the sinusoids, up to the
    longest sentence seen in training. Tokens beyond the last position get its vector: with `start`,
    and where T is unknown when a program is traced.

    Args:
        length: number of positions, at least the length of the longest sentence.
        **kwargs: initializer, regularizer and constraint of the table, as for
            `keras.layers.Embedding`; the rest as for every Keras layer.

    Call arguments:
        x: (B, T, D).
        start: integers (B,), or (1,) for all, the position of the first token. Defaults to 0.

    Returns:
        (B, T, D).

    Raises:
        ValueError: `length` is not positive, T exceeds it, or x has another shape.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, length: int, **kwargs: Any):
        super().__init__(**kwargs)
        if length < 1:
            raise ValueError(f"length must be a positive integer, got {length}")
        self.length = length

    def build(self, x_shape: Shape) -> None:
        self.table = self.add_embeddings("table", (self.length, x_shape[-1]))

    def check_length(self, length: int | None) -> None:
        if isinstance(length, int) and length > self.length:  # JAX has symbolic lengths too
            raise ValueError(
                f"there are {self.length} learned positions, got a sentence of {length} tokens; "
                "build the model with more, or shorten the sentence"
            )

    def encode(self, positions: Array) -> Array:
        self.check_length(positions.shape[1])
        return ops.take(self.table, within(positions, self.length), axis=0)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "length": self.length}


@keras.saving.register_keras_serializable("keras_attention")
class PositionalEmbedding(EmbeddingLayer):
    """Embed tokens and add their positions, sections 3.4, 3.5 and 5.4 of Vaswani et al. (2017).

    `PositionalEmbedding` of the TensorFlow tutorial.

    Args:
        vocabulary_size: number of ids, V.
        width: D.
        positions: `"interleaved"`, sinusoids in the layout of the paper; `"concatenated"`, in that
            of the tutorial; or `"learned"`.
        max_positions: number of learned positions, the maximum length of a sentence with its
            padding. Sinusoids do not need it.
        scale: whether to multiply the embeddings by √D.
        dropout: fraction of the sum to drop in training.
        **kwargs: initializer, regularizer and constraint of the embeddings, as for
            `keras.layers.Embedding`; the rest as for every Keras layer.

    Call arguments:
        ids: integers (B, T); with `reverse`, outputs (B, T, D) of the model.
        start: integers (B,), or (1,) for all, the position of the first token. Defaults to 0.
        reverse: whether to return logits instead, computed with the same embedding.

    Returns:
        (B, T, D), or logits (B, T, V).

    Raises:
        ValueError: `positions` is unknown, learned positions lack `max_positions`, or a sentence is
            longer than that.

    Example:
    >>> import numpy as np
    >>> embed = PositionalEmbedding(vocabulary_size=11, width=4)
    >>> x = embed(np.array([[3, 1, 4]]))
    >>> tuple(x.shape), tuple(embed(x, reverse=True).shape)
    ((1, 3, 4), (1, 3, 11))

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762; Press and Wolf (2017),
        Using the output embedding to improve language models, arXiv:1608.05859, for `reverse`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        positions: str = "interleaved",
        max_positions: int | None = None,
        scale: bool = True,
        dropout: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if positions not in POSITIONS:
            raise ValueError(f"positions must be one of {', '.join(POSITIONS)}, got {positions!r}")
        self.vocabulary_size, self.width = vocabulary_size, width
        self.positions, self.max_positions = positions, max_positions
        self.scale, self.dropout = scale, dropout
        policy = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.ReversibleEmbedding(
            vocabulary_size,
            width,
            tie_weights=True,
            # Else Keras multiplies in float32 under every policy
            reverse_dtype=self.compute_dtype,
            name="embedding",
            **self.weight_options(),
            **policy,
        )
        if positions != "learned":
            self.add_positions = SinusoidalPositions(positions, name="positions", **policy)
        elif max_positions is None:
            raise ValueError("learned positions need max_positions, a positive integer, got None")
        else:
            self.add_positions = LearnedPositions(max_positions, name="positions", **policy)
        self.drop = Dropout(dropout, name="dropout", **policy)

    def build(self, ids_shape: Shape) -> None:
        self.embedding.build(ids_shape)
        self.add_positions.build((*ids_shape, self.width))

    def call(self, ids: Array, *, start: Array | None = None, reverse: bool = False) -> Array:
        if reverse:
            return self.embedding(ids, reverse=True)
        x = self.embedding(within(ids, self.vocabulary_size))
        x = x * math.sqrt(self.width) if self.scale else x
        return self.drop(self.add_positions(x, start=start))

    def compute_output_shape(self, ids_shape: Shape, start_shape: Shape | None = None) -> Shape:
        del start_shape
        return (*ids_shape, self.width)

    def compute_output_spec(
        self, ids: Array, *, start: Array | None = None, reverse: bool = False
    ) -> Array:
        # Stated here for the same reason as above.
        if reverse:
            shape = (*ids.shape[:-1], self.vocabulary_size)
        else:
            shape = (*ids.shape, self.width)
            self.add_positions.check_length(ids.shape[1])
        return keras.KerasTensor(shape, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "width": self.width,
            "positions": self.positions,
            "max_positions": self.max_positions,
            "scale": self.scale,
            "dropout": self.dropout,
        }
