"""One layer for every frame of a clip, whatever the number of frames.

v_i = layer(x_i),   1 ≤ i ≤ S
"""

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_attention")
class OverFrames(keras.layers.Layer):
    """Apply a layer to every frame of a clip, all in one call: time is folded into the batch.

    What `keras.layers.TimeDistributed` computes, for a number of frames that is known only then.

    Args:
        layer: of frames (B, …), without random numbers.
        **kwargs: as for every Keras layer.

    Call arguments:
        frames: (B, S, …).

    Returns:
        What the layer makes of each frame, (B, S, …).

    Example:
    >>> import keras, numpy as np
    >>> tuple(OverFrames(keras.layers.Flatten())(np.ones((2, 3, 5, 7, 1))).shape)
    (2, 3, 35)
    """

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer
        self.supports_masking = True

    def build(self, shape):
        if not self.layer.built:  # a layer that was loaded from a file comes built
            self.layer.build((None, *shape[2:]))

    def call(self, frames):
        features = self.layer(ops.reshape(frames, (-1, *frames.shape[2:])))
        return ops.reshape(features, (-1, ops.shape(frames)[1], *features.shape[1:]))

    def get_config(self):
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config["layer"])
        return cls(**{**config, "layer": layer})
