"""Trunk 2: thin Keras layers over `ops`. Attention is returned, never stashed."""

from keras_attention.layers.additive_attention import AdditiveAttention
from keras_attention.layers.cross_attention import CrossAttention
from keras_attention.layers.multi_head_attention import MultiHeadAttention

__all__ = ["AdditiveAttention", "CrossAttention", "MultiHeadAttention"]
