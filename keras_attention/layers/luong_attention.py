"""Luong's attentional state: what was read and what one knew, in one vector.

h̃_t = tanh(W_c [c_t; h_t])
"""

import keras
from keras import ops

from keras_attention.layers.attention import Attention, check_policies
from keras_attention.ops import project


@keras.saving.register_keras_serializable("keras_attention")
class LuongAttention(Attention):
    """Join the read of any attention with its query, eq. 5 of Luong et al. (2015).

    Our names / theirs: query / h_t, the read of the inner attention / c_t, `kernel` / W_c, the
    output / h̃_t. The inner attention is global (`ContextSensitiveMemory`), local, or any other.

    Args:
        attention: an attention layer of the package.
        units: width of the output; None: as wide as the query.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        keys: (B, S, K).
        values: (B, S, D). Defaults to the keys.
        attention_mask: as the inner attention takes it.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, T, units), and on request the weights (B, T, S) of the inner attention.

    Raises:
        ValueError: `units` is not positive, `attention` is no attention layer of the package, or a
            shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> from keras_attention.layers import ContextSensitiveMemory
    >>> luong = LuongAttention(ContextSensitiveMemory(score="general"))
    >>> tuple(luong(np.ones((2, 3, 5)), np.ones((2, 7, 11))).shape)
    (2, 3, 5)

    References:
        Luong, Pham, Manning (2015), Effective approaches to attention-based neural machine
        translation, arXiv:1508.04025.
    """

    def __init__(self, attention, units=None, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(attention, Attention):
            raise ValueError(
                "attention must be a layers.attention.Attention, which can look step by step, "
                f"got {attention!r}"
            )
        if units is not None and units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        self.attention, self.units = attention, units

    def build_parts(self, query_shape, keys_shape, values_shape):
        check_policies(self, self.attention)
        if not self.attention.built:  # a layer that was loaded from a file comes built
            self.attention.build(query_shape, keys_shape, values_shape)
        units = self.units or query_shape[-1]
        read_width = self.attention.read_width(query_shape, values_shape)
        self.kernel = self.add_weight(
            shape=(read_width + query_shape[-1], units), initializer="glorot_uniform", name="kernel"
        )

    def remember(self, keys, values=None, attention_mask=None):
        return self.attention.remember(keys, values, attention_mask)

    def initial_past(self, mask):
        return self.attention.initial_past(mask)

    def draw(self, shape):
        return self.attention.draw(shape)

    def look(self, query, memory, past, noise=None):
        read, weights, past = self.attention.look(query, memory, past, noise)
        joined = ops.concatenate([read, ops.cast(query, read.dtype)], axis=-1)
        return ops.tanh(project(joined, self.kernel)), weights, past

    def read_width(self, query_shape, values_shape):
        return self.units or query_shape[-1]

    def get_config(self):
        attention = keras.saving.serialize_keras_object(self.attention)
        return {**super().get_config(), "attention": attention, "units": self.units}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})
