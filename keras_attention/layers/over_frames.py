"""One layer for every frame of a clip, whatever the number of frames.

v_i = layer(x_i),   1 ≤ i ≤ S
"""

from typing import Any

import keras
from keras import ops

from keras_attention.layers.parts import LayerWithParts, saved, taken
from keras_attention.types import Array, Shape


@keras.saving.register_keras_serializable("keras_attention")
class OverFrames(LayerWithParts):
    """Apply a layer to every frame of a clip in one call: time is folded into the batch.

    Computes what `keras.layers.TimeDistributed` computes, also where the number of frames is
    unknown until the call.

    Args:
        layer: takes frames (B, …); it draws no random numbers.
        **kwargs: as for every Keras layer.

    Call arguments:
        frames: (B, S, …).

    Returns:
        The layer's output for each frame, (B, S, …).

    Example:
    >>> import keras, numpy as np
    >>> tuple(OverFrames(keras.layers.Flatten())(np.ones((2, 3, 5, 7, 1))).shape)
    (2, 3, 35)
    """

    part_names = ("layer",)

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        self.layer = taken(layer)
        self.supports_masking = True

    def build(self, shape: Shape) -> None:
        if not self.layer.built:  # a layer loaded from a file is built already
            self.layer.build((None, *shape[2:]))

    def call(self, frames: Array) -> Array:
        batch, length, *shape = ops.shape(frames)
        features = self.layer(ops.reshape(frames, (batch * length, *shape)))
        return ops.reshape(features, (batch, length, *features.shape[1:]))

    def compute_output_shape(self, frames_shape: Shape) -> Shape:
        batch, length, *shape = frames_shape
        features: Any = self.layer.compute_output_shape((batch, *shape))
        return (batch, length, *features[1:])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": saved(self.layer)}
