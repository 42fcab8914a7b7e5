"""The frame of every block of a Transformer: a residual connection and a layer norm.

post-norm: y = LayerNorm(x + f(x));   pre-norm: y = x + f(LayerNorm(x))
"""

from typing import Any

from keras_attention.layers.layer_norm import LayerNormalization
from keras_attention.layers.parts import LayerWithParts
from keras_attention.types import Array


class Residual(LayerWithParts):
    """Base of the blocks: each calls `before` on its input and `after` on its result.

    Post-norm is section 3.1 of Vaswani et al. (2017). Pre-norm leaves a straight path from the
    last layer to the first and trains without warm-up (Xiong et al., 2020); a stack of such blocks
    ends with a norm of its own.

    Args:
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762; Xiong et al. (2020), On
        layer normalization in the Transformer architecture, arXiv:2002.04745.
    """

    def __init__(self, norm_first: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.norm_first = norm_first
        self.norm = LayerNormalization(dtype=self.dtype_policy)

    def before(self, x: Array) -> Array:
        """Return the block's input, normalized for pre-norm."""
        return self.norm(x) if self.norm_first else x

    def after(self, x: Array, result: Array) -> Array:
        """Return the block's output from its input and its result."""
        return x + result if self.norm_first else self.norm(x + result)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "norm_first": self.norm_first}
