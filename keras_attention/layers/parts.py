"""Layers that contain layers: their outputs, and how shared and quantized inner layers are saved.

Dense(float32) → quantize → Dense(int8 and a scale) → save → load → Dense(int8 and a scale)
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import keras


class LayerWithParts(keras.layers.Layer):
    """A layer whose quantized inner layers are quantized again when it is loaded.

    Keras makes the inner layers of a loaded layer as they were made first, in floating point, so
    that it cannot give them their quantized weights; its own `MultiHeadAttention` has this fault.

    `compute_output_shape`, where a layer has it, is the shape of the first output, for layers that
    contain this one, such as `keras.layers.TimeDistributed`.

    Attributes:
        part_names: the arguments that are layers, which `from_config` makes again.
    """

    part_names: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        parts = {
            name: keras.saving.deserialize_keras_object(config[name]) for name in cls.part_names
        }
        return super().from_config({**config, **parts})

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        # Trace `call`: Keras would take `compute_output_shape` for the shape of all outputs.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def get_build_config(self) -> dict[str, Any] | None:
        config = super().get_build_config()
        modes = [part.quantization_mode for part in _innermost(self)]
        return {**config, "quantized": modes} if config and any(modes) else config

    def build_from_config(self, config: dict[str, Any]) -> None:
        super().build_from_config(config)
        for part, mode in zip(_innermost(self), config.get("quantized", ()), strict=False):
            if mode is not None and part.quantization_mode is None:
                part.quantize(mode)


def taken(part: Any) -> Any:
    """Return a part that a layer takes as an argument, and count the layers that it belongs to."""
    if part is not None:
        part._users = getattr(part, "_users", 0) + 1
    return part


def saved(part: Any) -> Any:
    """Return the configuration of a part that was `taken`.

    A part of several layers says so, since Keras' own mark of the first of them is lost in a model,
    which could then not be loaded.
    """
    config = keras.saving.serialize_keras_object(part)
    if getattr(part, "_users", 0) > 1:
        config["shared_object_id"] = id(part)
    return config


def _innermost(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Yield the layers inside a layer that contain no others: those that Keras quantizes."""
    parts = layer._flatten_layers(include_self=False)
    return (part for part in parts if len(list(part._flatten_layers())) == 1)
