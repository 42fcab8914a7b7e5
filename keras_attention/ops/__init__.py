"""Trunk 1, the mathematics: pure functions over `keras.ops`, no weights and no state.

Attention is one idea with small variations: *score → mask → normalise → read*.
"""

from keras_attention.ops.lookup import Lookup, lookup
from keras_attention.ops.masks import align_mask, masked_softmax, padding_mask
from keras_attention.ops.scores import additive, scaled_dot

__all__ = [
    "Lookup",
    "additive",
    "align_mask",
    "lookup",
    "masked_softmax",
    "padding_mask",
    "scaled_dot",
]
