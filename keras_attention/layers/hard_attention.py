"""Hard attention: look at one position at a time.

training  z ~ Cat(α), read = values_z;   inference  z = argmax α
"""

import keras

from keras_attention.layers.base import ScoredAttention
from keras_attention.ops import hard_lookup


@keras.saving.register_keras_serializable("keras_attention")
class HardAttention(ScoredAttention):
    """Let each query read exactly one value: drawn in training, the likeliest one afterwards.

    Section 4.1 of Xu et al. (2015). The choice has no gradient, so that the score learns only with
    help: `straight_through=True` passes the gradients of soft attention and works in any model;
    else call it with `return_distribution=True`, and train with REINFORCE
    (`keras_attention.ops.reinforce`, or the model `keras_attention.models.Reinforced`) or, where
    every position can be tried, with the exact marginal (`ops.marginal_log_likelihood`).

    Args:
        score: as for every attention layer of the package.
        straight_through: whether gradients flow as if the read had been soft.
        seed: random seed.
        **kwargs: as for every Keras layer.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: booleans (B, S) or (B, T, S), True where a query may attend.
        return_attention_scores: whether to return `(read, weights)`; the weights are one-hot.
        return_distribution: whether to return `AttentionRead(read, weights, distribution)`: also
            the softmax (B, T, S) that positions are drawn from. Layers around this one, such as
            `LuongAttention` and `AttentionRNN`, return it as well when asked.
        training: whether to draw.

    Returns:
        The read (B, T, D), and on request weights and distribution (B, T, S), float32.

    Raises:
        ValueError: there is no such score, or a shape or the mask is not as above.

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
        score="scaled_dot",
        straight_through=False,
        seed=None,
        **kwargs,
    ):
        super().__init__(score, **kwargs)
        self.straight_through, self.seed = straight_through, seed
        self.generator = keras.random.SeedGenerator(seed)

    def draw_noise(self, shape):
        return keras.random.uniform(shape, seed=self.generator)

    def attend(self, query, memory, state, noise=None):
        scores = self.score.compare(query, memory.keys)
        read, weights, distribution = hard_lookup(
            scores, memory.values, memory.mask, noise, self.straight_through
        )
        return read, (weights, distribution), state

    def get_config(self):
        return {
            **super().get_config(),
            "straight_through": self.straight_through,
            "seed": self.seed,
        }
