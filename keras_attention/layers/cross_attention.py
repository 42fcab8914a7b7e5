"""Cross-attention block: let the target read the context, add it, normalise.

y = LayerNorm(x + attention(x, memory))
"""

import keras

from keras_attention.layers.attention import Attention


@keras.saving.register_keras_serializable("keras_attention")
class CrossAttention(keras.layers.Layer):
    """Let every target position read the encoder's output: attention, residual, layer norm.

    The block of the TensorFlow tutorials (`CrossAttention`) and of figure 1 of Vaswani et al.
    (2017), with post-norm. The attention itself is a layer of this package, usually
    `MultiHeadAttention`.

    Args:
        attention: a layer called as `attention(query, keys, attention_mask=...,
            return_attention_scores=...)` whose read is as wide as the query.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: the target's tensor, (B, T, D).
        memory: what is attended to, (B, S, E): both keys and values.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may look.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, T, D), and on request the weights of the attention layer, after the softmax:
        (B, H, T, S) with heads, (B, T, S) without.

    Raises:
        ValueError: a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> from keras_attention.layers import MultiHeadAttention
    >>> block = CrossAttention(MultiHeadAttention(num_heads=1, key_dim=8))
    >>> tuple(block(np.ones((2, 3, 5)), np.ones((2, 7, 11))).shape)
    (2, 3, 5)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, attention, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.attention = attention
        self.add = keras.layers.Add(dtype=self.dtype_policy)
        self.norm = keras.layers.LayerNormalization(dtype=self.dtype_policy)

    def build(self, query_shape, memory_shape):
        if isinstance(self.attention, Attention):
            width = self.attention.read_width(query_shape, memory_shape)
            if width != query_shape[-1]:
                raise ValueError(
                    "what is read must be as wide as the query to be added to it, got a read of "
                    f"{width} for query {tuple(query_shape)} and memory {tuple(memory_shape)}"
                )
        if not self.attention.built:  # a layer that was loaded from a file comes built
            self.attention.build(query_shape, memory_shape)
        self.add.build([query_shape, query_shape])
        self.norm.build(query_shape)

    def call(self, query, memory, attention_mask=None, return_attention_scores=False):
        read, weights = self.attention(
            query, memory, attention_mask=attention_mask, return_attention_scores=True
        )
        output = self.norm(self.add([query, read]))
        return (output, weights) if return_attention_scores else output

    def get_config(self):
        attention = keras.saving.serialize_keras_object(self.attention)
        return {**super().get_config(), "attention": attention}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})
