"""The parts of an end-to-end memory network: sentences as vectors, their times, and the hop.

m_i = Σ_j l_j ⊙ A x_ij + T_A(i);   p = softmax(uᵀ m_i);   u ← H u + Σ_i p_i c_i
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.base import Attention, Memory
from keras_attention.layers.token_embedding import within
from keras_attention.layers.weights import EmbeddingLayer, WeightedLayer
from keras_attention.ops import align_mask, dot, lookup, padding_mask, position_encoding, project
from keras_attention.ops.precision import matmul, precise_dtype
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class BagOfWords(EmbeddingLayer):
    """Turn each sentence into one vector, the sum of its words' embeddings: Σ_j l_j ⊙ A x_j.

    Section 4.1 of Sukhbaatar et al. (2015). Our names / the paper's: the table / Aᵀ (or B, C, W),
    the encoding / l. Id 0 is padding and adds nothing.

    Args:
        vocabulary_size: number of ids, V.
        units: width of the embedding, D.
        encode_positions: whether to weight words by their position (the paper's PE); else they are
            summed, and their order is lost (its BoW).
        **kwargs: initializer, regularizer and constraint of the table, as for
            `keras.layers.Embedding`; the initializer defaults to the paper's normal distribution
            with standard deviation 0.1. The rest as for every Keras layer.

    Call arguments:
        x: ids (…, J); with `reverse`, vectors (…, D).
        reverse: whether to map vectors to words with the same table: logits W x.

    Returns:
        Vectors (…, D); with `reverse`, logits (…, V).

    Raises:
        ValueError: a number is not positive.

    Example:
    >>> import numpy as np
    >>> tuple(BagOfWords(vocabulary_size=11, units=5)(np.array([[3, 1, 4, 0], [2, 0, 0, 0]])).shape)
    (2, 5)

    References:
        Sukhbaatar, Szlam, Weston, Fergus (2015), End-to-end memory networks, arXiv:1503.08895.
    """

    def __init__(
        self, vocabulary_size: int, units: int, encode_positions: bool = True, **kwargs: Any
    ):
        kwargs.setdefault("embeddings_initializer", keras.initializers.RandomNormal(stddev=0.1))
        super().__init__(**kwargs)
        if vocabulary_size < 1 or units < 1:
            raise ValueError(
                f"vocabulary_size and units must be positive, got {vocabulary_size} and {units}"
            )
        self.vocabulary_size, self.units = vocabulary_size, units
        self.encode_positions = encode_positions

    def build(self, x_shape: Shape) -> None:
        self.table = self.add_embeddings("table", (self.vocabulary_size, self.units))

    def call(self, x: Array, reverse: bool = False) -> Array:
        if reverse:
            return project(x, ops.transpose(self.table))
        mask = padding_mask(x)
        words = ops.take(self.table, within(x, self.vocabulary_size), axis=0)
        weights = mask[..., None]
        if self.encode_positions:
            weights = position_encoding(mask, self.units, precise_dtype(words))
        return ops.sum(words * ops.cast(weights, words.dtype), axis=-2)

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return (*x_shape[:-1], self.units)

    def compute_output_spec(self, x: Array, reverse: bool = False) -> Array:
        width = self.vocabulary_size if reverse else self.units
        return keras.KerasTensor((*x.shape[:-1], width), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "encode_positions": self.encode_positions,
        }


@keras.saving.register_keras_serializable("keras_attention")
class MemoryTimes(keras.layers.Layer):
    """Number the sentences of a memory by age; the latest is 0.

    This is the index i of the temporal encoding T(i), section 4.1 of Sukhbaatar et al. (2015); its
    embedding is what the lecture notes call a separate embedding for each position of the input. In
    training, some times are skipped at random ("RN", in the same section), as if there were empty
    sentences between the others. So a model also learns times beyond the length of its stories.

    Args:
        length: number of times; times beyond the last one become the last one.
        noise: probability of skipping a time before a sentence; the paper uses 0.1.
        seed: random seed.
        **kwargs: as for every Keras layer.

    Call arguments:
        story: sentences (B, S, J), the latest first; only S matters.
        training: whether to skip times.

    Returns:
        Integers (B, S).

    Raises:
        ValueError: there are more sentences than times, `length` is not positive, or `noise` is not
            in [0, 1).

    Example:
    >>> import numpy as np
    >>> np.array(MemoryTimes(length=50)(np.ones((1, 3, 7), "int32"))).tolist()
    [[0, 1, 2]]

    References:
        Sukhbaatar, Szlam, Weston, Fergus (2015), End-to-end memory networks, arXiv:1503.08895.
    """

    def __init__(self, length: int, noise: float = 0.0, seed: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if length < 1 or not 0 <= noise < 1:
            raise ValueError(
                "length must be positive and noise at least 0 and below 1, got "
                f"{length} and {noise}"
            )
        self.length, self.noise, self.seed = length, noise, seed
        self.random = keras.random.SeedGenerator(seed)

    def call(self, story: Array, training: bool = False) -> Array:
        self.check_length(story.shape[1])
        shape = ops.shape(story)[:2]
        times = ops.broadcast_to(ops.arange(shape[1], dtype="int32")[None], shape)
        if training and self.noise > 0:
            skipped = keras.random.uniform(shape, dtype="float32", seed=self.random) < self.noise
            times = times + ops.cumsum(ops.cast(skipped, "int32"), axis=1)
        return ops.minimum(times, self.length - 1)

    def compute_output_shape(self, story_shape: Shape) -> Shape:
        return tuple(story_shape[:2])

    def compute_output_spec(self, story: Array, training: bool = False) -> Array:
        self.check_length(story.shape[1])
        return keras.KerasTensor(story.shape[:2], "int32")

    def check_length(self, length: int | None) -> None:
        """Check that there are times for this many sentences; an unknown number passes."""
        if isinstance(length, int) and length > self.length:  # JAX has symbolic lengths too
            raise ValueError(
                f"there are {self.length} times, got a story of {length} sentences; build the "
                "model with more, or leave out the oldest"
            )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "length": self.length,
            "noise": self.noise,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable("keras_attention")
class MemoryHop(WeightedLayer, Attention):
    """Attend to the memory once and add the read to the question: u ← H u + Σ_i p_i c_i.

    Eqs. 1 and 2 of Sukhbaatar et al. (2015). Our names / the paper's: query / u, key / m, value /
    c, weights / p, read / o.

    Args:
        mapped: whether to multiply the query by a learned matrix H before adding the read, for
            layer-wise tying; else H is the identity.
        linear_start: whether the softmax can be left out, as at the start of the paper's training
            (section 4.2, "LS"). A non-trainable weight, `linear`, is 0 with the softmax and 1
            without. Without it, the "weights" are the scores and do not sum to 1.
        **kwargs: initializer, regularizer and constraint of H, as for `keras.layers.Dense`; the
            initializer defaults to the paper's normal distribution with standard deviation 0.1. The
            rest as for every Keras layer.

    Call arguments:
        query: (B, T, D), or (B, D) for a single query.
        value: (B, S, D).
        key: (B, S, D). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True for memories that are not empty.
        return_attention_scores: whether to return `(query, weights)`.

    Returns:
        The next query, (B, T, D), and on request the weights (B, T, S), float32; for a single query
        (B, D) and (B, S, 1), as for every attention layer of the package.

    Raises:
        ValueError: the widths differ, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> question, memory = np.ones((2, 5)), np.ones((2, 7, 5))
    >>> u, weights = MemoryHop()(question, memory, return_attention_scores=True)
    >>> tuple(u.shape), tuple(weights.shape)
    ((2, 5), (2, 7, 1))

    References:
        Sukhbaatar, Szlam, Weston, Fergus (2015), End-to-end memory networks, arXiv:1503.08895.
    """

    def __init__(self, mapped: bool = False, linear_start: bool = False, **kwargs: Any):
        kwargs.setdefault("kernel_initializer", keras.initializers.RandomNormal(stddev=0.1))
        super().__init__(**kwargs)
        self.mapped, self.linear_start = mapped, linear_start

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        widths = {query_shape[-1], value_shape[-1], key_shape[-1]}
        if len(widths) > 1:
            raise ValueError(
                "query, value and key of a hop must be equally wide, got query (B, T, D) = "
                f"{tuple(query_shape)}, value {tuple(value_shape)} and key {tuple(key_shape)}"
            )
        width = query_shape[-1]
        if self.mapped:
            self.kernel = self.add_kernel("kernel", (width, width))
        if self.linear_start:
            self.linear = self.add_weight(
                shape=(), initializer="zeros", trainable=False, name="linear"
            )

    def attend(
        self, query: Array, memory: Memory, state: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        scores = dot(query, memory.keys)
        read, weights, _ = lookup(scores, memory.values, memory.mask)
        if self.linear_start:
            seen = True if memory.mask is None else align_mask(memory.mask, scores)
            linear = ops.cast(self.linear, scores.dtype)
            weights = ops.where(linear > 0.5, ops.where(seen, scores, 0.0), weights)
            read = matmul(ops.cast(weights, read.dtype), memory.values)
        query = project(query, self.kernel) if self.mapped else query
        return query + read, weights, state

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "mapped": self.mapped,
            "linear_start": self.linear_start,
        }
