"""Where a token stands, added to what it is: attention by itself does not know the order.

y_t = x_t + p_{s+t}, with p from sinusoids or learned;   x_t = √D E[id_t]
"""

import math

import keras
from keras import ops

from keras_attention.layers.weights import EmbeddingLayer
from keras_attention.ops import sinusoids
from keras_attention.ops.positions import LAYOUTS

POSITIONS = (*LAYOUTS, "learned")


class _Positions(keras.layers.Layer):
    """Base of the two: adds an encoding to each token of a sentence, or of a part of one."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, start=None):
        positions = ops.expand_dims(ops.arange(x.shape[1] or ops.shape(x)[1]), 0)
        if start is not None:
            positions = positions + ops.expand_dims(ops.cast(start, "int32"), -1)
        return x + ops.cast(self.encode(positions), x.dtype)

    def compute_output_spec(self, x, start=None):
        # Said outright: for a length that is unknown, Keras on PyTorch would try 83.
        del start
        self.check_length(x.shape[1])
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def check_length(self, length):
        """Check that there are positions for so many tokens; an unknown number passes."""


@keras.saving.register_keras_serializable("keras_attention")
class SinusoidalPositions(_Positions):
    """Add the sinusoids of section 3.5 of Vaswani et al. (2017), for sentences of any length.

    Args:
        layout: `"interleaved"` as in the paper, or `"concatenated"` as in the TensorFlow tutorial:
            the same numbers, permuted.
        **kwargs: as for every Keras layer.

    Call arguments:
        x: (B, T, D), D even.
        start: integers (B,), the position of the first token; None: 0.

    Returns:
        (B, T, D).

    Raises:
        ValueError: there is no such layout, or D is odd.

    Example:
    >>> import numpy as np
    >>> encoded = SinusoidalPositions()(np.zeros((1, 2, 4)))
    >>> [round(float(number), 3) for number in encoded[0, 1]]
    [0.841, 0.54, 0.01, 1.0]

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, layout="interleaved", **kwargs):
        super().__init__(**kwargs)
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
        self.layout = layout

    def build(self, x_shape):
        self.width = x_shape[-1]
        sinusoids(ops.arange(1), self.width, self.layout)  # and with the width

    def encode(self, positions):
        return sinusoids(positions, self.width, self.layout)

    def get_config(self):
        return {**super().get_config(), "layout": self.layout}


@keras.saving.register_keras_serializable("keras_attention")
class LearnedPositions(EmbeddingLayer, _Positions):
    """Add a learned vector for each position, as far as there are any.

    Section 3.5 of Vaswani et al. (2017), table 3, row E: about as good as the sinusoids, up to the
    greatest length that was trained.

    Args:
        length: number of positions, at least as many as the longest sentence has tokens.
        **kwargs: initializer, regularizer and constraint of the table, as for
            `keras.layers.Embedding`; the rest as for every Keras layer.

    Call arguments:
        x: (B, T, D).
        start: integers (B,), the position of the first token; None: 0.

    Returns:
        (B, T, D).

    Raises:
        ValueError: `length` is not positive, or T is above it.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, length, **kwargs):
        super().__init__(**kwargs)
        if length < 1:
            raise ValueError(f"length must be a positive integer, got {length}")
        self.length = length

    def build(self, x_shape):
        self.table = self.add_embeddings("table", (self.length, x_shape[-1]))

    def check_length(self, length):
        if isinstance(length, int) and length > self.length:  # JAX has those that are no integers
            raise ValueError(
                f"there are {self.length} learned positions, got a sentence of {length} tokens; "
                "build the model with more, or shorten the sentence"
            )

    def encode(self, positions):
        self.check_length(positions.shape[1])
        return ops.take(self.table, positions, axis=0)

    def get_config(self):
        return {**super().get_config(), "length": self.length}


@keras.saving.register_keras_serializable("keras_attention")
class PositionalEmbedding(EmbeddingLayer):
    """Embed tokens and add where they stand, sections 3.4, 3.5 and 5.4 of Vaswani et al. (2017).

    `PositionalEmbedding` of the TensorFlow tutorial.

    Args:
        vocabulary_size: number of ids, V.
        width: D.
        positions: `"interleaved"`, the sinusoids as the paper lays them out; `"concatenated"`, as
            the tutorial does; or `"learned"`.
        max_positions: number of learned positions: no sentence may have more tokens, padding
            included. Sinusoids need no such number.
        scale: whether embedded tokens are multiplied by √D.
        dropout: fraction of the sum that is dropped in training.
        **kwargs: initializer, regularizer and constraint of the embeddings, as for
            `keras.layers.Embedding`; the rest as for every Keras layer.

    Call arguments:
        ids: integers (B, T); with `reverse`, outputs (B, T, D) of the model.
        start: integers (B,), the position of the first token; None: 0.
        reverse: whether to return logits instead, made with the same embedding.

    Returns:
        (B, T, D), or logits (B, T, V).

    Raises:
        ValueError: there are no such positions, the number of learned ones is not given, or a
            sentence has more tokens.

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
        vocabulary_size,
        width,
        positions="interleaved",
        max_positions=None,
        scale=True,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if positions not in POSITIONS:
            raise ValueError(f"positions must be one of {', '.join(POSITIONS)}, got {positions!r}")
        if positions == "learned" and max_positions is None:
            raise ValueError("learned positions need max_positions, how many there are, got None")
        self.vocabulary_size, self.width = vocabulary_size, width
        self.positions, self.max_positions = positions, max_positions
        self.scale, self.dropout = scale, dropout
        policy = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.ReversibleEmbedding(
            vocabulary_size,
            width,
            tie_weights=True,
            name="embedding",
            **self.weight_options(),
            **policy,
        )
        if positions == "learned":
            self.add_positions = LearnedPositions(max_positions, name="positions", **policy)
        else:
            self.add_positions = SinusoidalPositions(positions, name="positions", **policy)
        self.drop = keras.layers.Dropout(dropout, name="dropout", **policy)

    def build(self, ids_shape):
        self.embedding.build(ids_shape)
        self.add_positions.build((*ids_shape, self.width))

    def call(self, ids, *, start=None, reverse=False):
        if reverse:
            return self.embedding(ids, reverse=True)
        x = self.embedding(ids)
        x = x * math.sqrt(self.width) if self.scale else x
        return self.drop(self.add_positions(x, start=start))

    def compute_output_spec(self, ids, *, start=None, reverse=False):
        # Said outright, as above.
        if reverse:
            shape = (*ids.shape[:-1], self.vocabulary_size)
        else:
            shape = (*ids.shape, self.width)
            self.add_positions.check_length(ids.shape[1])
        return keras.KerasTensor(shape, self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "width": self.width,
            "positions": self.positions,
            "max_positions": self.max_positions,
            "scale": self.scale,
            "dropout": self.dropout,
        }
