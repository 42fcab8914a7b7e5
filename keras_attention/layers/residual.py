"""What every block of a Transformer stands in: a residual connection and a layer norm.

post-norm: y = LayerNorm(x + f(x));   pre-norm: y = x + f(LayerNorm(x))
"""

import keras


class Residual(keras.layers.Layer):
    """Base of the blocks: `before` what the block does to x, and `after` it.

    Post-norm is section 3.1 of Vaswani et al. (2017). Pre-norm leaves a straight path from the
    last layer to the first and trains without warm-up, Xiong et al. (2020); a stack of such blocks
    ends with a norm of its own.

    Args:
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762; Xiong et al. (2020), On
        layer normalization in the Transformer architecture, arXiv:2002.04745.
    """

    def __init__(self, norm_first=False, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.norm_first = norm_first
        self.norm = keras.layers.LayerNormalization(dtype=self.dtype_policy)

    def before(self, x):
        """Return what the block works on."""
        return self.norm(x) if self.norm_first else x

    def after(self, x, result):
        """Return the output of the block from its input, and from what it made of it."""
        return x + result if self.norm_first else self.norm(x + result)

    def get_config(self):
        return {**super().get_config(), "norm_first": self.norm_first}
