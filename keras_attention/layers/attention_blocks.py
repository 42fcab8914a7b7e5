"""A Transformer's three kinds of attention, each with a residual connection and a layer norm.

y = LayerNorm(x + attention(x, memory)), where the memory is
    all of x itself        `GlobalSelfAttention`, in the encoder
    x up to each position  `CausalSelfAttention`, in the decoder
    the encoder's output   `CrossAttention`, from the decoder to the encoder
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.base import Attention, Memory
from keras_attention.layers.keras_multi_head_attention import KerasMultiHeadAttention
from keras_attention.layers.multi_head_attention import MultiHeadAttention
from keras_attention.layers.parts import saved, taken
from keras_attention.layers.residual import Residual
from keras_attention.ops import cache_mask, causal_mask, empty_cache, extend_cache
from keras_attention.ops.kv_cache import KVCache
from keras_attention.types import Array, Shape


class _AttentionBlock(Residual):
    """Base of the three blocks: an attention layer inside a residual connection."""

    part_names = ("attention",)

    def __init__(self, attention, norm_first=False, **kwargs):
        super().__init__(norm_first, **kwargs)
        if not isinstance(attention, (Attention, KerasMultiHeadAttention)):
            raise ValueError(
                "attention must be an attention layer of keras_attention.layers, such as "
                f"MultiHeadAttention or KerasMultiHeadAttention, got {_type_of(attention)}"
            )
        self.attention = taken(attention)

    def build(self, query_shape, memory_shape):
        width = self.attention.compute_output_shape(query_shape, memory_shape)[-1]
        if width != query_shape[-1]:
            raise ValueError(
                "the read must be as wide as the query, to which it is added, got a read of width "
                f"{width} for query {tuple(query_shape)} and memory {tuple(memory_shape)}"
            )
        if not self.attention.built:  # a layer loaded from a file is already built
            self.attention.build(query_shape, memory_shape)
        self.norm.build(query_shape)

    def compute_output_shape(self, x_shape: Shape, memory_shape: Shape | None = None) -> Shape:
        """Return the shape of the output, which is that of the first input."""
        del memory_shape
        return tuple(x_shape)

    def _attend_together(self, query, memory):
        """Attend with queries (B·W, T, D) to a projected memory of B rows, each shared by W."""
        batch, heads, _, sources = ops.shape(memory.keys)
        rows, tokens, width = ops.shape(query)
        read, weights, _ = self.attention.attend(_together(query, batch), memory, [])
        weights = ops.reshape(weights, (batch, heads, -1, tokens, sources))
        weights = ops.reshape(ops.swapaxes(weights, 1, 2), (rows, heads, tokens, sources))
        return ops.reshape(read, (rows, tokens, width)), weights

    def get_config(self):
        return {**super().get_config(), "attention": saved(self.attention)}


def _together(query, batch):
    """Put the rows that share one of the memory next to each other: (B·W, T, D) → (B, W·T, D)."""
    return ops.reshape(query, (batch, -1, query.shape[2]))


def _check_has_heads(attention):
    """Check that an attention layer projects keys and values for heads."""
    if not isinstance(attention, MultiHeadAttention):
        raise ValueError(
            "attention must be a keras_attention.layers.MultiHeadAttention, "
            f"got {_type_of(attention)}"
        )


def _type_of(value):
    return f"{type(value).__module__}.{type(value).__qualname__}"


@keras.saving.register_keras_serializable("keras_attention")
class GlobalSelfAttention(_AttentionBlock):
    """Let every position of a sentence attend to the whole sentence.

    The encoder's block in figure 1 of Vaswani et al. (2017), and `GlobalSelfAttention` of the
    TensorFlow tutorial.

    Args:
        attention: an attention layer of this package whose read is as wide as the query; Keras' own
            `MultiHeadAttention` comes as `KerasMultiHeadAttention`.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    Call arguments:
        x: (B, S, D).
        attention_mask: booleans (B, S) or (B, S, S), True where a position may attend. Implicit
            Keras masks are ignored.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, S, D), and on request the weights of the attention layer: (B, H, S, S) with
        heads, (B, S, S) without.

    Raises:
        ValueError: `attention`, a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> from keras_attention.layers import MultiHeadAttention
    >>> block = GlobalSelfAttention(MultiHeadAttention(num_heads=2, key_dim=4))
    >>> tuple(block(np.ones((2, 3, 8))).shape)
    (2, 3, 8)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def build(self, x_shape: Shape) -> None:  # type: ignore[override]  # named after call's x
        super().build(x_shape, x_shape)

    def call(
        self,
        x: Array,
        attention_mask: Array | None = None,
        return_attention_scores: bool = False,
    ) -> Array | tuple[Array, Array]:
        query = self.before(x)
        read, weights = self.attention(
            query, query, attention_mask=attention_mask, return_attention_scores=True
        )
        output = self.after(x, read)
        return (output, weights) if return_attention_scores else output


@keras.saving.register_keras_serializable("keras_attention")
class CausalSelfAttention(_AttentionBlock):
    """Let every position of a sentence attend to itself and to all earlier positions.

    The decoder's first block in figure 1 of Vaswani et al. (2017), and `CausalSelfAttention` of the
    TensorFlow tutorial. No position attends to later tokens, so all positions can be trained at
    once. Padding follows the tokens, so no token attends to it.

    A sentence may also arrive in parts, for example token by token. A `KVCache` then stores the
    projected keys and values of the earlier tokens.

    W hypotheses may share a row of the cache, which `ops.branch_cache` made for them. Each has one
    new token, in W rows of x that follow each other, (B·W, 1, D); the weights are (B·W, H, 1, P).

    Args:
        attention: `MultiHeadAttention`.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    Call arguments:
        x: (B, T, D).
        cache: a `KVCache` of the earlier tokens, with at least T free slots; None if x is a whole
            sentence.
        return_attention_scores: whether to return the weights.
        return_cache: whether to return the `KVCache` that includes these tokens.

    Returns:
        The output (B, T, D). On request, the weights come next: (B, H, T, T), 0 above the diagonal,
        or (B, H, T, P) with a cache of P slots. On request, the cache for the next tokens comes
        last.

    Raises:
        ValueError: `attention` is not a `MultiHeadAttention`, or a shape is not as above.

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

    def __init__(self, attention: MultiHeadAttention, norm_first: bool = False, **kwargs: Any):
        _check_has_heads(attention)
        super().__init__(attention, norm_first, **kwargs)

    def build(self, x_shape: Shape) -> None:  # type: ignore[override]  # named after call's x
        super().build(x_shape, x_shape)

    def call(
        self,
        x: Array,
        *,
        cache: KVCache | None = None,
        return_attention_scores: bool = False,
        return_cache: bool = False,
    ) -> Array | tuple[Any, ...]:
        query = self.before(x)
        if cache is None:
            memory = self.attention.project_memory(query)
            after = extend_cache(None, memory.keys, memory.values)
            memory = memory._replace(mask=causal_mask(x.shape[1] or ops.shape(x)[1]))
            read, weights, _ = self.attention.attend(query, memory, [])
        else:
            self._check_cache(x, cache)
            together = _together(query, ops.shape(cache.keys)[0])
            memory = self.attention.project_memory(together)
            after = extend_cache(cache, memory.keys, memory.values)
            mask = cache_mask(after, together.shape[1] or ops.shape(together)[1])
            read, weights = self._attend_together(query, Memory(after.keys, after.values, mask))
        output = self.after(x, read)
        returned = [weights] if return_attention_scores else []
        returned += [after] if return_cache else []
        return (output, *returned) if returned else output

    def empty_cache(self, like: Array, slots: int) -> KVCache:
        """Return an empty `KVCache` with this many slots and the batch size of `like` (B, …)."""
        attention = self.attention
        sizes = attention.num_heads, attention.key_dim, attention.value_dim
        return empty_cache(like, *sizes, slots, self.compute_dtype)

    def _check_cache(self, x, cache):
        heads = self.attention.num_heads
        key_dim, value_dim = self.attention.key_dim, self.attention.value_dim
        keys, values = tuple(cache.keys.shape), tuple(cache.values.shape)
        if (keys[1:3], values[1::2]) != ((heads, key_dim), (heads, value_dim)):
            raise ValueError(
                f"a cache of this layer has keys (B, {heads}, {key_dim}, P) and values "
                f"(B, {heads}, P, {value_dim}), got {keys} and {values}"
            )
        hypotheses, tokens = cache.seen.shape[1], x.shape[1]
        if hypotheses != 1 and tokens not in (1, None):
            raise ValueError(
                f"{hypotheses} hypotheses that share a cache have one new token each, "
                f"got x {tuple(x.shape)}"
            )


@keras.saving.register_keras_serializable("keras_attention")
class CrossAttention(_AttentionBlock):
    """Let every target position attend to the encoder's output.

    The decoder's second block in figure 1 of Vaswani et al. (2017), and `CrossAttention` of the
    TensorFlow tutorials.

    Args:
        attention: an attention layer of this package whose read is as wide as the query; Keras' own
            `MultiHeadAttention` comes as `KerasMultiHeadAttention`.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: the target, (B, T, D).
        memory: the encoder's output, (B, S, E), which provides both keys and values; or what
            `project_memory` made of it, so that a target that comes token by token does not
            project it again and again. In this form W rows of the query that follow each other may
            share a row of the memory: the query is then (B·W, T, D).
        attention_mask: booleans (B, S), or (B, T, S) where no rows are shared, True where a query
            may attend. Implicit Keras masks are ignored.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, T, D), and on request the weights of the attention layer, after the softmax:
        (B, H, T, S) with heads, (B, T, S) without.

    Raises:
        ValueError: `attention`, a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> from keras_attention.layers import MultiHeadAttention
    >>> block = CrossAttention(MultiHeadAttention(num_heads=1, key_dim=8))
    >>> tuple(block(np.ones((2, 3, 5)), np.ones((2, 7, 11))).shape)
    (2, 3, 5)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    def project_memory(self, memory: Array) -> Memory:
        """Project the encoder's output once for many calls of this layer, which must be built.

        Args:
            memory: (B, S, E).

        Returns:
            A `Memory` of keys (B, H, K, S) and values (B, H, S, V), without a mask.

        Raises:
            ValueError: `attention` is not a `MultiHeadAttention`.
        """
        _check_has_heads(self.attention)
        return self.attention.project_memory(memory)

    def call(
        self,
        query: Array,
        memory: Array | Memory,
        attention_mask: Array | None = None,
        return_attention_scores: bool = False,
    ) -> Array | tuple[Array, Array]:
        x = self.before(query)
        if isinstance(memory, Memory):
            read, weights = self._attend_together(x, memory._replace(mask=attention_mask))
        else:
            read, weights = self.attention(
                x, memory, attention_mask=attention_mask, return_attention_scores=True
            )
        output = self.after(query, read)
        return (output, weights) if return_attention_scores else output
