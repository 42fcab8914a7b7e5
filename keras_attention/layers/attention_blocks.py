"""The three kinds of attention of a Transformer, each with its residual connection and layer norm.

y = LayerNorm(x + attention(x, memory)), where the memory is
    all of x itself        `GlobalSelfAttention`, in the encoder
    x up to each position  `CausalSelfAttention`, in the decoder
    the encoder's output   `CrossAttention`, from the decoder to the encoder
"""

import keras
from keras import ops

from keras_attention.layers.base import Memory
from keras_attention.layers.multi_head_attention import MultiHeadAttention
from keras_attention.layers.residual import Residual
from keras_attention.ops import causal_mask, tokens_in_ring, window_mask, write_in_ring


class _AttentionBlock(Residual):
    """What the three share: an attention layer inside a residual connection."""

    def __init__(self, attention, norm_first=False, **kwargs):
        super().__init__(norm_first, **kwargs)
        self.attention = attention

    def build(self, query_shape, memory_shape):
        width = self.attention.compute_output_shape(query_shape, memory_shape)[-1]
        if width != query_shape[-1]:
            raise ValueError(
                "what is read must be as wide as the query to be added to it, got a read of "
                f"{width} for query {tuple(query_shape)} and memory {tuple(memory_shape)}"
            )
        if not self.attention.built:  # a layer that was loaded from a file comes built
            self.attention.build(query_shape, memory_shape)
        self.norm.build(query_shape)

    def get_config(self):
        attention = keras.saving.serialize_keras_object(self.attention)
        return {**super().get_config(), "attention": attention}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})


@keras.saving.register_keras_serializable("keras_attention")
class GlobalSelfAttention(_AttentionBlock):
    """Let every position of a sentence read the whole sentence.

    The encoder's block in figure 1 of Vaswani et al. (2017), and `GlobalSelfAttention` of the
    TensorFlow tutorial.

    Args:
        attention: an attention layer of this package, or Keras' `MultiHeadAttention`, whose read
            is as wide as the query.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    Call arguments:
        x: (B, S, D).
        attention_mask: booleans (B, S) or (B, S, S), True where a position may attend.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, S, D), and on request the weights of the attention layer: (B, H, S, S) with
        heads, (B, S, S) without.

    Raises:
        ValueError: a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> from keras_attention.layers import MultiHeadAttention
    >>> block = GlobalSelfAttention(MultiHeadAttention(num_heads=2, key_dim=4))
    >>> tuple(block(np.ones((2, 3, 8))).shape)
    (2, 3, 8)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def build(self, x_shape):
        super().build(x_shape, x_shape)

    def call(self, x, attention_mask=None, return_attention_scores=False):
        query = self.before(x)
        read, weights = self.attention(
            query, query, attention_mask=attention_mask, return_attention_scores=True
        )
        output = self.after(x, read)
        return (output, weights) if return_attention_scores else output


@keras.saving.register_keras_serializable("keras_attention")
class CausalSelfAttention(_AttentionBlock):
    """Let every position of a sentence read the sentence up to itself.

    The decoder's first block in figure 1 of Vaswani et al. (2017), and `CausalSelfAttention` of the
    TensorFlow tutorial: no position sees what is still to be written, so that all positions can be
    trained at once. Padding comes after the tokens, so that no token sees it.

    A sentence may also come in parts, as it does when it is written token by token: the *past* of a
    part holds the keys and values of the last P tokens before it. It is a ring of as many places,
    whether or not there were so many tokens: token number i stands at place i mod P, over token
    i − P. So each position reads itself and the P − 1 before it, however the sentence is parted. A
    past without a place keeps nothing: what comes with it is a whole sentence.

    Args:
        attention: `MultiHeadAttention`.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    Call arguments:
        x: (B, T, D).
        past: None for a whole sentence; else a dictionary of `keys` (B, H, K, P) and `values`
            (B, H, P, K), as the attention projects them.
        seen: integers (B,), how many tokens came before, the same number for all sentences. Goes
            with `past`.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, T, D), and on request the weights (B, H, T, T), 0 above the diagonal. With a
        past: the output, the weights (B, H, T, P) by place, and the past of the next part; with a
        past without a place the weights (B, H, T, T).

    Raises:
        ValueError: the attention is another, a shape is not as above, or a past comes without
            `seen`.

    Example:
    >>> import numpy as np
    >>> from keras_attention.layers import MultiHeadAttention
    >>> block = CausalSelfAttention(MultiHeadAttention(num_heads=1, key_dim=8))
    >>> _, weights = block(np.ones((1, 3, 8)), return_attention_scores=True)
    >>> [[round(float(weight), 2) for weight in row] for row in weights[0, 0]]
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.33, 0.33, 0.33]]

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def __init__(self, attention, norm_first=False, **kwargs):
        if not isinstance(attention, MultiHeadAttention):
            raise ValueError(
                f"attention must be a MultiHeadAttention, got {type(attention).__name__}"
            )
        super().__init__(attention, norm_first, **kwargs)

    def build(self, x_shape):
        super().build(x_shape, x_shape)

    def call(self, x, past=None, seen=None, return_attention_scores=False):
        query = self.before(x)
        memory = self.attention.project_memory(query)
        if past is not None and seen is None:
            raise ValueError("a past needs seen (B,), how many tokens came before, got None")
        if past is not None:
            self._check_past(past)
        if past is None or past["values"].shape[2] == 0:
            length = x.shape[1] or ops.shape(x)[1]
            memory = memory._replace(mask=causal_mask(length))
            read, weights, _ = self.attention.attend(query, memory, [])
            output = self.after(x, read)
            if past is not None:
                return output, weights, past
            return (output, weights) if return_attention_scores else output
        read, weights, past = self._look_back(query, memory.keys, memory.values, past, seen[0])
        return self.after(x, read), weights, past

    def _check_past(self, past):
        heads, depth = self.attention.num_heads, self.attention.key_dim
        keys, values = (tuple(past[name].shape) for name in ("keys", "values"))
        if keys[1:3] != (heads, depth) or values[1::2] != (heads, depth):
            raise ValueError(
                "a past must have keys (B, H, K, P) and values (B, H, P, K) with H, K = "
                f"{heads}, {depth}, got {keys} and {values}"
            )

    def _look_back(self, query, keys, values, past, start):
        """Read a ring and the part that follows it → the read, weights by place, the next ring."""
        start, places = ops.cast(start, "int32"), ops.shape(past["values"])[2]
        after = {
            "keys": write_in_ring(past["keys"], keys, start, axis=3),
            "values": write_in_ring(past["values"], values, start, axis=2),
        }
        if query.shape[1] == 1:
            # The token that is overwritten is out of reach: reading after writing needs no copy.
            tokens, own = tokens_in_ring(places, start + 1), ops.reshape(start, (1,))
            mask = window_mask(own, tokens, places)
            memory = Memory(after["keys"], after["values"], mask)
            read, weights, _ = self.attention.attend(query, memory, [])
            return read, weights, after
        own = start + ops.arange(ops.shape(query)[1], dtype="int32")
        tokens = ops.concatenate([tokens_in_ring(places, start), own])
        keys = ops.concatenate([past["keys"], keys], axis=3)
        values = ops.concatenate([past["values"], values], axis=2)
        mask = window_mask(own, tokens, places)
        read, weights, _ = self.attention.attend(query, Memory(keys, values, mask), [])
        at = tokens[:, None] % places == ops.arange(places, dtype="int32")
        return read, ops.matmul(weights, ops.cast(at, weights.dtype)), after


@keras.saving.register_keras_serializable("keras_attention")
class CrossAttention(_AttentionBlock):
    """Let every target position read the encoder's output.

    The decoder's second block in figure 1 of Vaswani et al. (2017), and `CrossAttention` of the
    TensorFlow tutorials.

    Args:
        attention: an attention layer of this package, or Keras' `MultiHeadAttention`, whose read
            is as wide as the query.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: the target's tensor, (B, T, D).
        memory: what is attended to, (B, S, E): both keys and values.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend.
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

    def call(self, query, memory, attention_mask=None, return_attention_scores=False):
        read, weights = self.attention(
            self.before(query), memory, attention_mask=attention_mask, return_attention_scores=True
        )
        output = self.after(query, read)
        return (output, weights) if return_attention_scores else output
