"""Hard attention: attend to one position at a time.

training  z ~ Cat(α), read = values_z;   inference  z = argmax α
"""

from collections.abc import Callable
from typing import Any

import keras

from keras_attention.layers.base import Memory, ScoredAttention
from keras_attention.ops import hard_lookup
from keras_attention.ops.precision import precise_dtype
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class HardAttention(ScoredAttention):
    """Read exactly one value for each query: a random one in training, else the most likely one.

    See section 4.1 of Xu et al. (2015). The choice has no gradient, so the score needs help to
    learn. `straight_through=True` passes on the gradients of soft attention and works in any model.
    Otherwise call the layer with `return_distribution=True` and train with REINFORCE
    (`keras_attention.ops.reinforce`, or the model `keras_attention.models.Reinforced`) or, if every
    position can be tried, with the exact marginal (`ops.marginal_log_likelihood`).

    Args:
        score: as for `ContextSensitiveMemory`.
        straight_through: whether gradients flow as if the read were soft.
        seed: random seed.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`; the weights are one-hot.
        return_distribution: whether to return `AttentionRead(read, weights, distribution)`: also
            the softmax (B, T, S) from which positions are drawn. Layers around this one, such as
            `LuongAttention` and `AttentionRNN`, also return it on request.
        training: whether to draw positions at random.

    Returns:
        The read (B, T, D), and on request weights and distribution (B, T, S), float32.

    Raises:
        ValueError: if the score is unknown, or a shape or the mask is not as above.

    Example:
    >>> import numpy as np
    >>> keys, values = np.eye(3)[None], np.array([[[1.0], [10.0], [100.0]]])
    >>> query = np.array([[[0.1, 0.3, 0.2]]])
    >>> float(HardAttention(score="dot")(query, values, keys)[0, 0, 0])
    10.0

    References:
        Xu et al. (2015), Show, attend and tell, arXiv:1502.03044; Bengio, Léonard, Courville
        (2013), arXiv:1308.3432.
    """

    def __init__(
        self,
        score: str | Callable[..., Array] = "scaled_dot",
        straight_through: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(score, **kwargs)
        self.straight_through, self.seed = straight_through, seed
        self.generator = keras.random.SeedGenerator(seed)

    def draw_noise(self, shape: Shape) -> Array:
        # Half precision has so few numbers that many draws would be the same
        dtype = precise_dtype(self.compute_dtype)
        return keras.random.uniform(shape, dtype=dtype, seed=self.generator)

    def attend(
        self, query: Array, memory: Memory, state: list[Array], noise: Array | None = None
    ) -> tuple[Array, tuple[Array, Array], list[Array]]:
        scores = self.score.compare(query, memory.keys)
        read, weights, distribution = hard_lookup(
            scores, memory.values, memory.mask, noise, self.straight_through
        )
        return read, (weights, distribution), state

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "straight_through": self.straight_through,
            "seed": self.seed,
        }
