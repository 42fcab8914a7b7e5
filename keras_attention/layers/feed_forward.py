"""The position-wise feed-forward network of a Transformer.

FFN(x) = max(0, x W₁ + b₁) W₂ + b₂, at each position separately
"""

from typing import Any

import keras

from keras_attention.layers.dropout import Dropout
from keras_attention.layers.residual import Residual
from keras_attention.layers.weights import WeightedLayer
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class FeedForward(WeightedLayer, Residual):
    """Transform each position separately, eq. 2 of Vaswani et al. (2017), with residual and norm.

    Attention mixes positions; this layer does not: output t depends on input t alone.

    Args:
        hidden: width of the hidden layer, the paper's d_ff.
        dropout: fraction of the output to drop in training.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: initializers, regularizers and constraints of both layers, as for
            `keras.layers.Dense`; the rest as for every Keras layer.

    Call arguments:
        x: (B, T, D).

    Returns:
        (B, T, D).

    Raises:
        ValueError: `hidden` is not positive.

    Example:
    >>> import numpy as np
    >>> tuple(FeedForward(hidden=32)(np.ones((2, 3, 8))).shape)
    (2, 3, 8)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, hidden: int, dropout: float = 0.0, norm_first: bool = False, **kwargs: Any):
        super().__init__(norm_first=norm_first, **kwargs)
        if hidden < 1:
            raise ValueError(f"hidden must be a positive integer, got {hidden}")
        self.hidden, self.dropout = hidden, dropout
        self.widen = self._dense(hidden, activation="relu")
        self.drop = Dropout(dropout, dtype=self.dtype_policy)

    def _dense(self, width, **options):
        options = {**self.weight_options(), **options}
        return keras.layers.Dense(width, dtype=self.dtype_policy, **options)

    def build(self, x_shape: Shape) -> None:
        self.narrow = self._dense(x_shape[-1], name="narrow")
        self.norm.build(x_shape)
        self.widen.build(x_shape)
        self.narrow.build((*x_shape[:-1], self.hidden))

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return tuple(x_shape)

    def call(self, x: Array, training: bool | None = None) -> Array:
        result = self.narrow(self.widen(self.before(x)))
        return self.after(x, self.drop(result, training=training))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "hidden": self.hidden, "dropout": self.dropout}
