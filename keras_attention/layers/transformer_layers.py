"""The two layers that make up a Transformer, figure 1 of Vaswani et al. (2017).

encoder layer: self-attention → feed-forward network
decoder layer: causal self-attention → attention to the encoder → feed-forward network

Each part has a residual connection and a layer norm.
"""

from typing import Any

import keras

from keras_attention.layers.attention_blocks import (
    CausalSelfAttention,
    CrossAttention,
    GlobalSelfAttention,
)
from keras_attention.layers.base import Memory
from keras_attention.layers.feed_forward import FeedForward
from keras_attention.layers.multi_head_attention import MultiHeadAttention
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops.kv_cache import KVCache
from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array, Shape


class _TransformerLayer(WeightedLayer):
    """Base of both layers: their arguments, and the parts made with them."""

    self_attention_block: type[keras.layers.Layer] | None = None  # each subclass sets its own

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        feed_forward_dim: int,
        dropout: float = 0.0,
        norm_first: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_heads, self.key_dim = num_heads, key_dim
        self.feed_forward_dim, self.dropout, self.norm_first = feed_forward_dim, dropout, norm_first
        self.feed_forward = FeedForward(
            feed_forward_dim,
            dropout,
            norm_first,
            **self.weight_options(),
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self.self_attention = self.attention_block(self.self_attention_block, "self_attention")
        self.cross_attention: Any = None  # set by a decoder layer that has a memory

    def attention_block(self, block, name):
        """Make an attention block."""
        attention = MultiHeadAttention(
            self.num_heads,
            self.key_dim,
            dropout=self.dropout,
            **self.weight_options(),
            dtype=self.dtype_policy,
        )
        return block(attention, self.norm_first, dtype=self.dtype_policy, name=name)

    def compute_output_shape(self, x_shape: Shape, memory_shape: Shape | None = None) -> Shape:
        """Return the shape of the output, which is that of the first input."""
        del memory_shape
        return tuple(x_shape)

    # Symbolic outputs. Keras would trace `call` for them, which takes most of the time of building.

    def symbolic_output(self, x):
        """Return the symbolic output for x (B, T, D)."""
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def symbolic_weights(self, x, positions):
        """Return the symbolic weights of x (B, T, D) over some positions."""
        batch, length, _ = x.shape
        shape = (batch, self.num_heads, length, positions)
        return keras.KerasTensor(shape, precise_dtype(self.compute_dtype))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "feed_forward_dim": self.feed_forward_dim,
            "dropout": self.dropout,
            "norm_first": self.norm_first,
        }


@keras.saving.register_keras_serializable("keras_attention")
class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention over the whole sentence, then a feed-forward network at each position.

    The left half of figure 1 of Vaswani et al. (2017); `EncoderLayer` of the TensorFlow tutorial,
    `torch.nn.TransformerEncoderLayer`, and KerasHub's `TransformerEncoder`.

    Args:
        num_heads: H.
        key_dim: depth of a head, K; the paper's d_k.
        feed_forward_dim: hidden width of the feed-forward network; the paper's d_ff.
        dropout: fraction of the attention weights, and of the output of the feed-forward network,
            to drop in training.
        norm_first: pre-norm if set, else post-norm.
        **kwargs: initializers, regularizers and constraints, as for `keras.layers.Dense`; the rest
            as for every Keras layer.

    Call arguments:
        x: (B, S, D).
        attention_mask: booleans (B, S) or (B, S, S), True where a position may attend. Implicit
            Keras masks are ignored.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, S, D), and on request the weights (B, H, S, S).

    Raises:
        ValueError: a number is not positive, the dropout is not in [0, 1), or a shape is not as
            above.

    Example:
    >>> import numpy as np
    >>> layer = TransformerEncoderLayer(num_heads=2, key_dim=4, feed_forward_dim=32)
    >>> tuple(layer(np.ones((2, 3, 8))).shape)
    (2, 3, 8)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    self_attention_block = GlobalSelfAttention

    def build(self, x_shape: Shape) -> None:
        self.self_attention.build(x_shape)
        self.feed_forward.build(x_shape)

    def call(
        self,
        x: Array,
        *,
        attention_mask: Array | None = None,
        return_attention_scores: bool = False,
    ) -> Array | tuple[Array, Array]:
        x, weights = self.self_attention(
            x, attention_mask=attention_mask, return_attention_scores=True
        )
        x = self.feed_forward(x)
        return (x, weights) if return_attention_scores else x

    def compute_output_spec(
        self, x: Array, *, return_attention_scores: bool = False, **inputs: Any
    ) -> Any:
        del inputs
        output = self.symbolic_output(x)
        return (output, self.symbolic_weights(x, x.shape[1])) if return_attention_scores else output


@keras.saving.register_keras_serializable("keras_attention")
class TransformerDecoderLayer(_TransformerLayer):
    """Causal self-attention, attention to the encoder's output, then a feed-forward network.

    The right half of figure 1 of Vaswani et al. (2017); `DecoderLayer` of the TensorFlow tutorial,
    `torch.nn.TransformerDecoderLayer`, and KerasHub's `TransformerDecoder`. Without a memory
    it has no cross-attention, like the layers of a language model such as GPT.

    Args:
        *args, **kwargs: as for `TransformerEncoderLayer`.

    Call arguments:
        x: (B, T, D).
        memory: the encoder's output, (B, S, E), or what `project_memory` made of it; or None.
        attention_mask: booleans (B, S) or (B, T, S), True where a position may attend to the
            memory. The tokens of x need no mask: none attends to the padding that follows it.
            Implicit Keras masks are ignored.
        cache: a `KVCache` of the earlier tokens, with at least T free slots; None if x is a whole
            sentence. W hypotheses may share its rows and those of a projected memory; x is then
            (B·W, 1, D).
        return_attention_scores: whether to return the weights.
        return_cache: whether to return the `KVCache` that includes these tokens.

    Returns:
        The output (B, T, D). On request, the weights come next, as a dictionary: `"self_attention"`
        (B, H, T, T), or (B, H, T, P) with a cache of P slots; and `"cross_attention"` (B, H, T, S)
        if there is a memory. On request, the cache for the next tokens comes last.

    Raises:
        ValueError: a number is not positive, the dropout is not in [0, 1), a shape is not as above,
            the layer was built with a memory and is called without one, or vice versa, or there is
            a mask and no memory.

    Example:
    >>> import numpy as np
    >>> layer = TransformerDecoderLayer(num_heads=2, key_dim=4, feed_forward_dim=32)
    >>> tuple(layer(np.ones((2, 3, 8)), np.ones((2, 7, 5))).shape)
    (2, 3, 8)

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762.
    """

    self_attention_block = CausalSelfAttention

    def build(self, x_shape: Shape, memory_shape: Shape | None = None) -> None:
        self.self_attention.build(x_shape)
        if memory_shape is not None:
            self.cross_attention = self.attention_block(CrossAttention, "cross_attention")
            self.cross_attention.build(x_shape, memory_shape)
        self.feed_forward.build(x_shape)

    def call(
        self,
        x: Array,
        memory: Array | Memory | None = None,
        *,
        attention_mask: Array | None = None,
        cache: KVCache | None = None,
        return_attention_scores: bool = False,
        return_cache: bool = False,
    ) -> Array | tuple[Any, ...]:
        self._check_memory(memory, attention_mask)
        weights = {}
        x, weights["self_attention"], after = self.self_attention(
            x, cache=cache, return_attention_scores=True, return_cache=True
        )
        if memory is not None:
            x, weights["cross_attention"] = self.cross_attention(
                x, memory, attention_mask=attention_mask, return_attention_scores=True
            )
        x = self.feed_forward(x)
        returned = [dict(sorted(weights.items()))] if return_attention_scores else []
        returned += [after] if return_cache else []
        return (x, *returned) if returned else x

    def compute_output_spec(
        self,
        x: Array,
        memory: Array | Memory | None = None,
        *,
        attention_mask: Array | None = None,
        cache: KVCache | None = None,
        return_attention_scores: bool = False,
        return_cache: bool = False,
        **inputs: Any,
    ) -> Any:
        del inputs
        self._check_memory(memory, attention_mask)
        slots = x.shape[1] if cache is None else cache.values.shape[2]
        weights = {"self_attention": self.symbolic_weights(x, slots)}
        if memory is not None:
            of_memory = _shape_of(memory)
            positions = of_memory[2] if isinstance(memory, Memory) else of_memory[1]
            weights["cross_attention"] = self.symbolic_weights(x, positions)
        returned: list[Any] = [dict(sorted(weights.items()))] if return_attention_scores else []
        returned += [self._symbolic_cache(x, cache, slots)] if return_cache else []
        output = self.symbolic_output(x)
        return (output, *returned) if returned else output

    def _symbolic_cache(self, x, before, slots):
        """Return the symbolic cache that follows another one."""
        batch, hypotheses = (x.shape[0], 1) if before is None else before.seen.shape[:2]
        return KVCache(
            *self._symbolic_keys_and_values(batch, slots),
            keras.KerasTensor((batch,), "int32"),
            keras.KerasTensor((batch, hypotheses, slots), "bool"),
        )

    def _symbolic_keys_and_values(self, batch, positions):
        """Return symbolic keys (B, H, K, P) and values (B, H, P, K)."""
        keys, values = (self.key_dim, positions), (positions, self.key_dim)
        return tuple(
            keras.KerasTensor((batch, self.num_heads, *shape), self.compute_dtype)
            for shape in (keys, values)
        )

    def _check_memory(self, memory, attention_mask):
        """Check that there is a memory if the layer was built with one, and no mask without one."""
        if memory is None and attention_mask is not None:
            raise ValueError(
                "attention_mask is for the memory, and there is none; the tokens of x need no "
                f"mask, since padding follows them; got a mask {tuple(attention_mask.shape)}"
            )
        if (memory is None) != (self.cross_attention is None):
            expected = "no memory" if self.cross_attention is None else "a memory (B, S, E)"
            got = "None" if memory is None else f"one of shape {_shape_of(memory)}"
            raise ValueError(f"this layer was built to be called with {expected}, got {got}")

    def project_memory(self, memory: Array) -> Memory:
        """Project the encoder's output (B, S, E) once for many calls, as `CrossAttention` does.

        Raises:
            ValueError: the layer was built without a memory.
        """
        if self.cross_attention is None:
            got = f"got one of shape {tuple(memory.shape)}"
            raise ValueError(f"this layer was built without a memory to project, {got}")
        return self.cross_attention.project_memory(memory)

    def symbolic_memory(self, memory: Array) -> Memory:
        """Return what `project_memory` would return for a symbolic encoder's output (B, S, E).

        Returns:
            Symbolic keys (B, H, K, S) and values (B, H, S, K), without a mask.
        """
        keys, values = self._symbolic_keys_and_values(*memory.shape[:2])
        return Memory(keys, values, None)

    def empty_cache(self, like: Array, slots: int) -> KVCache:
        """Return an empty `KVCache` with this many slots and the batch size of `like` (B, …)."""
        return self.self_attention.empty_cache(like, slots)


def _shape_of(memory):
    """Return the shape of an encoder's output, or of the values projected from it."""
    return tuple((memory.values if isinstance(memory, Memory) else memory).shape)
