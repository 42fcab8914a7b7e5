"""The protocol of all attention layers: project a memory once, attend to it with every query.

scores → mask → softmax → read; a layer whose steps depend on earlier ones carries a state.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_attention.layers.parts import LayerWithParts, saved, taken
from keras_attention.layers.scores import make_score
from keras_attention.ops import align_mask, lookup
from keras_attention.types import Array, Shape


class Memory(NamedTuple):
    """What a layer attends to: the projected `keys`, the `values`, and the `mask` or None.

    `more` holds anything else that the layer has computed from the memory.
    """

    keys: Array
    values: Array
    mask: Array | None
    more: Any = None


class AttentionRead(NamedTuple):
    """The result of a call with `return_distribution=True`."""

    read: Array
    weights: Array
    distribution: Array


class Attention(LayerWithParts):
    """An attention layer with the call signature of `keras.layers.MultiHeadAttention`.

    A call has two parts, which a decoder calls separately. `project_memory` computes once what
    depends on the memory alone; `attend` reads the memory with one or more queries. A layer with a
    state, such as coverage, starts from `initial_state` and returns the next state with every read.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend. Implicit Keras
            masks are ignored, so mask the padding here. A query with nothing to attend to gets
            weights 0 and a read of 0.
        return_attention_scores: whether to return `(read, weights)`. The name is Keras'; the
            weights come after the softmax.
        return_distribution: whether to return `AttentionRead(read, weights, distribution)`. The
            distribution differs from the weights in a layer that chooses: `HardAttention`.
        training: whether the layer is training; it matters only to layers with random numbers.

    Returns:
        The read (B, T, D), or (B, D) for a single query. On request also the weights (B, T, S),
        float32, or float64 under that policy; those of a single query are (B, S, 1) and sum to 1
        along axis 1.

    Raises:
        ValueError: if a shape or the mask is not as above.
    """

    query_ranks: tuple[int, ...] = (2, 3)  # a single query, several queries

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None) -> None:
        key_shape = key_shape or value_shape
        check_shapes(query_shape, value_shape, key_shape, self.query_ranks)
        if len(query_shape) == 2:
            query_shape = (query_shape[0], 1, query_shape[1])
        self.widths = (query_shape[-1], key_shape[-1])
        self.build_parts(query_shape, value_shape, key_shape)

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        """Make the weights for shapes (B, T, Q), (B, S, D) and (B, S, K)."""

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        """Return the `Memory` of a value (B, S, D), a key (B, S, K) and a mask."""
        return Memory(value if key is None else key, value, attention_mask)

    def initial_state(self, mask: Array) -> list[Array]:
        """Return the state before the first query, for a mask (B, S).

        The first axis of each tensor is the batch. The list is empty for a layer without a state.
        """
        del mask
        return []

    def draw_noise(self, shape: Shape) -> Array | None:
        """Return the random numbers that training needs for weights (B, T, S), or None.

        A layer that needs them takes them as the argument `noise` of `attend`.
        """
        del shape
        return None

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        """Read a `Memory` with queries (B, T, Q).

        Returns:
            The read (B, T, D), the weights (B, T, S) and the next state. A layer that chooses
            positions returns a pair in place of the weights: `(weights, distribution)`.
        """
        raise NotImplementedError

    def call(
        self,
        query: Array,
        value: Array,
        key: Array | None = None,
        *,
        attention_mask: Array | None = None,
        return_attention_scores: bool = False,
        return_distribution: bool = False,
        training: bool | None = None,
    ) -> Array | tuple[Array, Array] | AttentionRead:
        key = value if key is None else key
        check_shapes(query.shape, value.shape, key.shape, self.query_ranks)
        if (query.shape[-1], key.shape[-1]) != self.widths:
            raise ValueError(
                f"this layer was built for query and key widths (Q, K) = {self.widths}, "
                f"got query {tuple(query.shape)} and key {tuple(key.shape)}"
            )
        single = len(query.shape) == 2
        query = ops.expand_dims(query, 1) if single else query
        memory = self.project_memory(value, key, attention_mask)
        noise = self.draw_noise((*ops.shape(query)[:2], ops.shape(key)[1])) if training else None
        state = self.initial_state(memory.mask)
        read, weights, _ = attend(self, query, memory, state, noise)
        if single:
            read = read[:, 0]
            weights = tree.map_structure(lambda each: ops.swapaxes(each, -2, -1), weights)
        weights, distribution = both(weights)
        if return_distribution:
            return AttentionRead(read, weights, distribution)
        return (read, weights) if return_attention_scores else read

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        """Return the shape of the read, without the weights."""
        del key_shape
        return (*query_shape[:-1], value_shape[-1])


def attend(
    attention: Attention,
    query: Array,
    memory: Memory,
    state: list[Array],
    noise: Array | None = None,
) -> tuple[Array, Array, list[Array]]:
    """Call `attention.attend`, with the noise if the layer has drawn some."""
    return attention.attend(query, memory, state, **({} if noise is None else {"noise": noise}))


def both(weights: Array) -> tuple[Array, Array]:
    """Return `(weights, distribution)` for what `attend` returned: the weights, or such a pair."""
    return weights if isinstance(weights, tuple) else (weights, weights)


class ScoredAttention(Attention):
    """Soft attention with any score.

    Args:
        score: the name of a score (`keras_attention.layers.scores.SCORES`), a layer of that module,
            or a function `(query (B, T, Q), key (B, S, K)) → scores (B, T, S)`.
        **kwargs: arguments of `keras.layers.Layer`.
    """

    def __init__(self, score: str | Callable[..., Array] = "scaled_dot", **kwargs: Any):
        super().__init__(**kwargs)
        self.score = taken(make_score(score, dtype=self.dtype_policy))

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        if self.score.built:  # shared with another layer, or loaded from a file
            self.score.check_widths(query_shape, key_shape)
        else:
            self.score.build(query_shape, key_shape)

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        key = value if key is None else key
        mask = self.score.mask(key)
        if mask is None:
            mask = attention_mask
        elif attention_mask is not None:
            mask = mask[:, None] if len(attention_mask.shape) == 3 else mask
            mask = ops.where(mask, attention_mask, False)  # keeps a wrong dtype, to be refused
        return Memory(self.score.project(key), value, mask)

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = lookup(scores, memory.values, memory.mask)
        return read, weights, state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "score": saved(self.score)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "ScoredAttention":
        if isinstance(config.get("score"), dict):
            config = {**config, "score": keras.saving.deserialize_keras_object(config["score"])}
        return cls(**config)


def check_attends(attention: Any) -> None:
    """Check that a part is an attention layer of this package.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(attention, Attention):
        raise ValueError(
            "attention must be a layers.base.Attention, which attends step by step, "
            f"got {attention!r}"
        )


def zeros_for_each(sequences: Array, width: int, dtype: str) -> Array:
    """Return zeros (B, width) for sequences (B, S), also if these are empty."""
    column = ops.sum(ops.zeros_like(sequences, dtype=dtype), axis=1, keepdims=True)
    return ops.repeat(column, width, axis=-1)


def check_shapes(
    query_shape: Shape,
    value_shape: Shape,
    key_shape: Shape,
    query_ranks: tuple[int, ...] = (3,),
) -> None:
    """Check that the shapes of query, value and key fit together.

    Raises:
        ValueError: if a rank is wrong, batch sizes differ, or value and key differ in length.
    """
    shapes = query_shape, value_shape, key_shape
    got = "got {}, {} and {}".format(*map(tuple, shapes))
    if len(query_shape) not in query_ranks or len(value_shape) != 3 or len(key_shape) != 3:
        query = "(B, T, Q) or (B, Q)" if 2 in query_ranks else "(B, T, Q)"
        raise ValueError(f"query must have shape {query}, value (B, S, D) and key (B, S, K), {got}")
    batches = {shape[0] for shape in shapes}
    if len({batch for batch in batches if isinstance(batch, int)}) > 1:
        raise ValueError(f"query, value and key must have the same batch size B, {got}")
    lengths = value_shape[1], key_shape[1]
    if all(isinstance(length, int) for length in lengths) and lengths[0] != lengths[1]:
        raise ValueError(
            "every key needs a value: value (B, S, D) and key (B, S, K) must have the same "
            f"length, {got}"
        )


def check_policies(layer: keras.layers.Layer, *parts: keras.layers.Layer) -> None:
    """Check that the parts of a layer compute with its precision.

    Raises:
        ValueError: if a part computes in another dtype.
    """
    for part in parts:
        if part.compute_dtype != layer.compute_dtype:
            raise ValueError(
                f"{layer.name} computes in {layer.compute_dtype}, but its part {part.name} in "
                f"{part.compute_dtype}; give both the same dtype policy"
            )


def full_mask(value: Array, attention_mask: Array | None) -> Array:
    """Return a mask (B, S) for a value (B, S, D), all True if none is given.

    Raises:
        ValueError: if the mask is not the same for all queries, or is not boolean.
    """
    if attention_mask is None:
        return ops.ones(ops.shape(value)[:2], dtype="bool")
    if len(attention_mask.shape) != 2:
        raise ValueError(
            "attention_mask must have shape (B, S) in a loop, and for attention with a state, a "
            f"window or a summary, got {tuple(attention_mask.shape)}"
        )
    mask = align_mask(attention_mask, value[..., 0][:, None])[:, 0]
    return ops.broadcast_to(mask, ops.shape(value)[:2])
