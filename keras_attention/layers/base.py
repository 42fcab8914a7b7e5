"""The protocol of all attention layers: project a memory once, attend to it with every query.

scores → mask → softmax → read; a layer whose next step depends on the last one carries a state.
"""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_attention.layers.scores import make_score
from keras_attention.ops import align_mask, lookup


class Memory(NamedTuple):
    """What is attended to: `keys` as the layer has projected them, `values`, `mask` or None.

    `more` is whatever else a layer has computed from the memory.
    """

    keys: Any
    values: Any
    mask: Any
    more: Any = None


class AttentionRead(NamedTuple):
    """What a call with `return_distribution` returns."""

    read: Any
    weights: Any
    distribution: Any


class Attention(keras.layers.Layer):
    """An attention layer, called as `keras.layers.MultiHeadAttention` is.

    A call is two steps, which a decoder takes by itself: `project_memory` computes what depends on
    the memory alone, once; `attend` reads it with one or more queries. A layer with a state, such
    as the coverage, starts from `initial_state` and returns the next state with every read.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend. Implicit Keras
            masks are ignored, so mask the padding here. A query that may attend to nothing gets
            weights 0 and a read of 0.
        return_attention_scores: whether to return `(read, weights)`. Keras' name; the weights come
            after the softmax.
        return_distribution: whether to return `AttentionRead(read, weights, distribution)`. The
            distribution differs from the weights where a position is chosen: `HardAttention`.
        training: whether the layer is training; only layers with random numbers care.

    Returns:
        The read (B, T, D), or (B, D) for a single query. On request also the weights (B, T, S),
        float32; those of a single query are (B, S, 1) and sum to 1 along axis 1.

    Raises:
        ValueError: a shape or the mask is not as above.
    """

    query_ranks = (2, 3)  # of a single query, of several

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = key_shape or value_shape
        check_shapes(query_shape, value_shape, key_shape, self.query_ranks)
        if len(query_shape) == 2:
            query_shape = (query_shape[0], 1, query_shape[1])
        self.widths = (query_shape[-1], key_shape[-1])
        self.build_parts(query_shape, value_shape, key_shape)

    def build_parts(self, query_shape, value_shape, key_shape):
        """Make the weights, for shapes (B, T, Q), (B, S, D) and (B, S, K)."""

    def project_memory(self, value, key=None, attention_mask=None):
        """Return the `Memory` of a value (B, S, D), a key (B, S, K) and a mask."""
        return Memory(value if key is None else key, value, attention_mask)

    def initial_state(self, mask):
        """Return the state before the first query, for a mask (B, S): a list of tensors.

        Their first axis is the batch. A layer without a state has an empty list.
        """
        del mask
        return []

    def draw_noise(self, shape):
        """Return the random numbers that training needs for weights of a shape (B, T, S), or None.

        A layer that draws some takes them as the argument `noise` of `attend`.
        """
        del shape

    def attend(self, query, memory, state):
        """Read a `Memory` with queries (B, T, Q).

        Returns:
            The read (B, T, D), the weights (B, T, S) and the next state. A layer that chooses
            returns a pair in place of the weights: these, and the distribution.
        """
        raise NotImplementedError

    def call(
        self,
        query,
        value,
        key=None,
        *,
        attention_mask=None,
        return_attention_scores=False,
        return_distribution=False,
        training=None,
    ):
        key = value if key is None else key
        check_shapes(query.shape, value.shape, key.shape, self.query_ranks)
        if (query.shape[-1], key.shape[-1]) != self.widths:
            raise ValueError(
                f"this layer was built for query and key of the widths (Q, K) = {self.widths}, "
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

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        """Return the shape of the read, without the weights."""
        del key_shape
        return (*query_shape[:-1], value_shape[-1])

    def compute_output_spec(self, *args, **kwargs):
        # By tracing `call`, since Keras would take `compute_output_shape` for all that is returned.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)


def attend(attention, query, memory, state, noise=None):
    """Return what `attention.attend` does, with noise for a layer that has drawn some."""
    return attention.attend(query, memory, state, **({} if noise is None else {"noise": noise}))


def both(weights):
    """Return weights and distribution, of what `attend` returned: one or both."""
    return weights if isinstance(weights, tuple) else (weights, weights)


class ScoredAttention(Attention):
    """Soft attention with a score of the menu.

    Args:
        score: the name of a score (`keras_attention.layers.scores.SCORES`), a layer of that module,
            or a function `(query (B, T, Q), key (B, S, K)) → scores (B, T, S)`.
        **kwargs: as for every Keras layer.
    """

    def __init__(self, score="scaled_dot", **kwargs):
        super().__init__(**kwargs)
        self.score = make_score(score, dtype=self.dtype_policy)

    def build_parts(self, query_shape, value_shape, key_shape):
        if self.score.built:  # it was used before, or comes from a file
            self.score.check_widths(query_shape, key_shape)
        else:
            self.score.build(query_shape, key_shape)

    def project_memory(self, value, key=None, attention_mask=None):
        key = value if key is None else key
        mask = self.score.mask(key)
        if mask is None:
            mask = attention_mask
        elif attention_mask is not None:
            mask = mask[:, None] if len(attention_mask.shape) == 3 else mask
            mask = ops.logical_and(mask, attention_mask)
        return Memory(self.score.project(key), value, mask)

    def attend(self, query, memory, state):
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = lookup(scores, memory.values, memory.mask)
        return read, weights, state

    def get_config(self):
        score = keras.saving.serialize_keras_object(self.score)
        return {**super().get_config(), "score": score}

    @classmethod
    def from_config(cls, config):
        if isinstance(config.get("score"), dict):
            config = {**config, "score": keras.saving.deserialize_keras_object(config["score"])}
        return cls(**config)


def check_shapes(query_shape, value_shape, key_shape, query_ranks=(3,)):
    """Check that query, value and key go together.

    Raises:
        ValueError: one has a wrong rank, or they differ in batch, or value and key in length.
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


def check_policies(layer, *parts):
    """Check that the parts of a layer compute with its precision.

    Raises:
        ValueError: one has another dtype policy.
    """
    for part in parts:
        if part.compute_dtype != layer.compute_dtype:
            raise ValueError(
                f"{layer.name} computes in {layer.compute_dtype}, and its part {part.name} in "
                f"{part.compute_dtype}: give them the same dtype policy"
            )


def full_mask(value, attention_mask):
    """Return a mask (B, S) for a value (B, S, D), all True where none is given.

    Raises:
        ValueError: the mask differs from query to query.
    """
    if attention_mask is None:
        return ops.ones(ops.shape(value)[:2], dtype="bool")
    if len(attention_mask.shape) != 2:
        raise ValueError(
            "attention_mask must have shape (B, S) for an attention with a state, a window or a "
            f"summary, and in a loop, got {tuple(attention_mask.shape)}"
        )
    mask = align_mask(attention_mask, value[..., 0][:, None])[:, 0]
    return ops.broadcast_to(mask, ops.shape(value)[:2])
