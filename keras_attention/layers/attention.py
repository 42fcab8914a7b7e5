"""What the attention layers share: score → mask → normalise → read, in steps a decoder can take.

A memory is prepared once and looked into as often as there are queries; what a look leaves behind
for the next one, where an attention has a past, is carried from look to look.
"""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_attention.layers.scores import make_score
from keras_attention.ops import align_mask, lookup


class Memory(NamedTuple):
    """What is attended to: `keys` as the score has projected them, `values`, `mask` or None.

    `more` is what else a layer has prepared.
    """

    keys: Any
    values: Any
    mask: Any
    more: Any = None


class Attention(keras.layers.Layer):
    """The one call of all attention layers; a subclass says how it looks.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        keys: (B, S, K).
        values: (B, S, D). Defaults to the keys.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may look. Padding is seen
            unless it is masked here; implicit Keras masks are not consulted. The argument is not
            called `mask`, since Keras takes that one for the mask of the first argument, the
            query. Where a query has nothing to look at, weights and read are 0.
        return_attention_scores: whether to return `(read, weights)`; the argument keeps Keras'
            name, what comes is after the softmax.

    Returns:
        The read (B, T, D), or (B, D) for a single query; and on request the weights (B, T, S),
        float32. Those of a single query are (B, S, 1): as in the lecture, they sum to 1 along
        axis 1.

    Raises:
        ValueError: a shape or the mask is not as above.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, query_shape, keys_shape, values_shape=None):
        values_shape = values_shape or keys_shape
        check_shapes(query_shape, keys_shape, values_shape, query_ranks=(2, 3))
        if len(query_shape) == 2:
            query_shape = (query_shape[0], 1, query_shape[1])
        self.widths = (query_shape[-1], keys_shape[-1])
        self.build_parts(query_shape, keys_shape, values_shape)

    def build_parts(self, query_shape, keys_shape, values_shape):
        """Make the weights, for shapes (B, T, Q), (B, S, K) and (B, S, D)."""

    def read_width(self, query_shape, values_shape):
        """Return the width D of what is read, for shapes (B, T, Q) and (B, S, D)."""
        del query_shape
        return values_shape[-1]

    def remember(self, keys, values=None, attention_mask=None):
        """Prepare a memory: what depends on it alone is computed here, once."""
        return Memory(keys, keys if values is None else values, attention_mask)

    def initial_past(self, mask):
        """Return what the first look is given, for a mask (B, S): a list of tensors, batch first.

        Attention without a past has none: an empty list.
        """
        del mask
        return []

    def draw(self, shape):
        """Return the random numbers that looks of a shape (B, T, S) take in training, or None."""
        del shape

    def look(self, query, memory, past, noise=None):
        """Look with queries (B, T, Q): return read (B, T, D), weights (B, T, S) and the past.

        `noise` is what `draw` gave, or None.
        """
        raise NotImplementedError

    def call(
        self,
        query,
        keys,
        values=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        values = keys if values is None else values
        check_shapes(query.shape, keys.shape, values.shape, query_ranks=(2, 3))
        if (query.shape[-1], keys.shape[-1]) != self.widths:
            raise ValueError(
                f"this layer was built for queries and keys of the widths (Q, K) = {self.widths}, "
                f"got query {tuple(query.shape)} and keys {tuple(keys.shape)}"
            )
        single = len(query.shape) == 2
        query = ops.expand_dims(query, 1) if single else query
        memory = self.remember(keys, values, attention_mask)
        noise = self.draw((*ops.shape(query)[:2], ops.shape(keys)[1])) if training else None
        read, weights, _ = self.look(query, memory, self.initial_past(memory.mask), noise)
        if single:
            read = read[:, 0]
            weights = tree.map_structure(lambda each: ops.swapaxes(each, 1, 2), weights)
        return (read, weights) if return_attention_scores else read


class ScoredAttention(Attention):
    """Soft attention with a score of the menu; `look` is the package's lookup.

    Args:
        score: name of a score (`keras_attention.layers.scores.SCORES`), a layer of that module, or
            a function `(query (B, T, Q), keys (B, S, K)) → scores (B, T, S)`.
        **kwargs: as for every Keras layer.
    """

    def __init__(self, score="scaled_dot", **kwargs):
        super().__init__(**kwargs)
        self.score = make_score(score, dtype=self.dtype_policy)

    def build_parts(self, query_shape, keys_shape, values_shape):
        if self.score.built:  # it was used before, or comes from a file
            self.score.check_widths(query_shape, keys_shape)
        else:
            self.score.build(query_shape, keys_shape)

    def remember(self, keys, values=None, attention_mask=None):
        values = keys if values is None else values
        return Memory(self.score.project(keys), values, attention_mask)

    def look(self, query, memory, past, noise=None):
        scores = self.score.compare(query, memory.keys)
        read, weights, _ = lookup(scores, memory.values, memory.mask)
        return read, weights, past

    def get_config(self):
        score = keras.saving.serialize_keras_object(self.score)
        return {**super().get_config(), "score": score}

    @classmethod
    def from_config(cls, config):
        if isinstance(config.get("score"), dict):
            config = {**config, "score": keras.saving.deserialize_keras_object(config["score"])}
        return cls(**config)


def check_shapes(query_shape, keys_shape, values_shape, query_ranks=(3,)):
    """Check that query, keys and values go together.

    Raises:
        ValueError: one has a wrong rank, or they differ in batch, or keys and values in length.
    """
    if len(query_shape) not in query_ranks or len(keys_shape) != 3 or len(values_shape) != 3:
        query = "(B, T, Q) or (B, Q)" if 2 in query_ranks else "(B, T, Q)"
        raise ValueError(
            f"query must have shape {query}, keys (B, S, K) and values (B, S, D), "
            f"got {tuple(query_shape)}, {tuple(keys_shape)} and {tuple(values_shape)}"
        )
    batches = {shape[0] for shape in (query_shape, keys_shape, values_shape)}
    if len({batch for batch in batches if isinstance(batch, int)}) > 1:
        raise ValueError(
            "query, keys and values must have the same batch size B, "
            f"got {tuple(query_shape)}, {tuple(keys_shape)} and {tuple(values_shape)}"
        )
    lengths = keys_shape[1], values_shape[1]
    if all(isinstance(length, int) for length in lengths) and lengths[0] != lengths[1]:
        raise ValueError(
            "every key needs a value: keys (B, S, K) and values (B, S, D) must have the same "
            f"length, got {tuple(keys_shape)} and {tuple(values_shape)}"
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


def full_mask(keys, attention_mask):
    """Return a mask (B, S), all True where none is given.

    Raises:
        ValueError: the mask is none that is the same for every query.
    """
    if attention_mask is None:
        return ops.ones(ops.shape(keys)[:2], dtype="bool")
    if len(attention_mask.shape) != 2:
        raise ValueError(
            "attention_mask must have shape (B, S) for an attention with a past, a window or a "
            f"summary, and in a loop, got {tuple(attention_mask.shape)}"
        )
    mask = align_mask(attention_mask, keys[..., 0][:, None])[:, 0]
    return ops.broadcast_to(mask, ops.shape(keys)[:2])
