"""Luong's attentional state: the read and the query, combined in one vector.

h̃_t = tanh(W_c [c_t; h_t])
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.base import Attention, Memory, attend, check_attends, check_policies
from keras_attention.layers.parts import saved, taken
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import project
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class LuongAttention(WeightedLayer, Attention):
    """Combine the read of any attention with its query, eq. 5 of Luong et al. (2015).

    Our names / theirs: query / h_t, the read of the inner attention / c_t, `kernel` / W_c, the
    output / h̃_t. The inner attention is global (`ContextSensitiveMemory`), local, or any other.

    Args:
        attention: an attention layer of the package.
        units: width of the output; None: as wide as the query.
        **kwargs: initializers, regularizers and constraints of `kernel`, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.

    Call arguments:
        query: (B, T, Q), or (B, Q) for a single query.
        value: (B, S, D).
        key: (B, S, K). Defaults to `value`.
        attention_mask: as for the inner attention.
        return_attention_scores: whether to return `(output, weights)`.

    Returns:
        The output (B, T, units), and on request the weights (B, T, S) of the inner attention.

    Raises:
        ValueError: if `units` is not positive, `attention` is not an attention layer of the
            package, or a shape or the mask is not as above.

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

    part_names = ("attention",)

    def __init__(self, attention: Attention, units: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        check_attends(attention)
        if units is not None and units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        self.attention, self.units = taken(attention), units

    def build_parts(self, query_shape: Shape, value_shape: Shape, key_shape: Shape) -> None:
        check_policies(self, self.attention)
        if not self.attention.built:  # a layer loaded from a file is already built
            self.attention.build(query_shape, value_shape, key_shape)
        units = self.units or query_shape[-1]
        read_shape = self.attention.compute_output_shape(query_shape, value_shape, key_shape)
        widths: tuple[Any, Any] = (read_shape[-1], query_shape[-1])
        self.kernel = self.add_kernel("kernel", (sum(widths), units))

    def project_memory(
        self, value: Array, key: Array | None = None, attention_mask: Array | None = None
    ) -> Memory:
        return self.attention.project_memory(value, key, attention_mask)

    def initial_state(self, mask: Array) -> list[Array]:
        return self.attention.initial_state(mask)

    def draw_noise(self, shape: Shape) -> Array | None:
        return self.attention.draw_noise(shape)

    def attend(
        self, query: Array, memory: Memory, state: list[Array], noise: Array | None = None
    ) -> tuple[Array, Array, list[Array]]:
        read, weights, state = attend(self.attention, query, memory, state, noise)
        joined = ops.concatenate([read, ops.cast(query, read.dtype)], axis=-1)
        return ops.tanh(project(joined, self.kernel)), weights, state

    def compute_output_shape(
        self, query_shape: Shape, value_shape: Shape, key_shape: Shape | None = None
    ) -> Shape:
        return (*query_shape[:-1], self.units or query_shape[-1])

    def get_config(self) -> dict[str, Any]:
        attention = saved(self.attention)
        return {**super().get_config(), "attention": attention, "units": self.units}
