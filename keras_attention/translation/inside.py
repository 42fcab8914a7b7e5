"""What evidence needs of a model and a sentence: the layers, the ids, the probabilities."""

from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from keras_attention.layers import (
    CrossAttention,
    MultiHeadAttention,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from keras_attention.text import padded, shifted_right
from keras_attention.translation.result import Translation
from keras_attention.types import Array


@dataclass(frozen=True)
class Layers:
    """The layers of a model of this package.

    Attributes:
        model: the model.
    """

    model: keras.Model

    @property
    def encoder_layers(self) -> list[TransformerEncoderLayer]:
        """The layers of a Transformer's encoder; none in another model."""
        layers = self.model.get_layer("encoder").layers
        return [each for each in layers if isinstance(each, TransformerEncoderLayer)]

    @property
    def decoder_layers(self) -> list[TransformerDecoderLayer]:
        """The layers of a Transformer's decoder; none in another model."""
        layers = self.model.get_layer("decoder").layers
        return [each for each in layers if isinstance(each, TransformerDecoderLayer)]

    @property
    def cross_blocks(self) -> list[CrossAttention]:
        """The blocks that attend from the target to the context, the first layer first.

        Raises:
            ValueError: the model has none with several heads.
        """
        layers = self.model.get_layer("decoder").layers
        blocks = [each.cross_attention for each in self.decoder_layers] or [
            each for each in layers if isinstance(each, CrossAttention)
        ]
        if not blocks or not all(isinstance(b.attention, MultiHeadAttention) for b in blocks):
            raise ValueError(
                "this attribution needs a model with multi-head attention to the context, such as "
                f"the Transformer or the RNN; got the model {self.model.name}"
            )
        return blocks

    @property
    def cross_attentions(self) -> list[MultiHeadAttention]:
        """The attentions of these blocks."""
        return [block.attention for block in self.cross_blocks]

    def need_transformer(self) -> None:
        """Check that the model is a Transformer.

        Raises:
            ValueError: it is not.
        """
        if not self.decoder_layers:
            raise ValueError(
                f"this attribution needs a Transformer, got the model {self.model.name}"
            )


@dataclass(frozen=True)
class Inside(Layers):
    """A model with a sentence and its translation.

    Attributes:
        model: the model.
        context: ids (S,) of the source.
        target: ids (T,) of the translation.
    """

    context: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, model: keras.Model, translation: Translation) -> "Inside":
        """Take the ids of a translation.

        Raises:
            ValueError: the translation has none, or is that of a text in several parts.
        """
        if not (translation.context_ids and translation.target_ids):
            raise ValueError(
                "an attribution needs the translation of one sentence by this translator, with its "
                f"ids; got {translation.source!r}, which has {len(translation.parts)} parts"
            )
        ids = translation.context_ids, translation.target_ids
        return cls(model, *(np.array(each, "int32") for each in ids))

    def inputs(self, copies: int = 1) -> dict[str, np.ndarray]:
        """Return the inputs of the model for teacher forcing: the sentence, a number of times."""
        fed = padded([shifted_right(self.target)])
        return {
            "context": np.repeat(self.context[None], copies, 0),
            "target": np.repeat(fed, copies, 0),
        }

    def answers(self, logits: Array) -> Array:
        """Return the log-probability of each token of the translation, (B, T)."""
        return log_probabilities(logits, self.target)


def log_probabilities(logits: Array, tokens: Array) -> Array:
    """Return the log-probability of each token, (B, T), from logits (B, T, V); see `of_tokens`."""
    return of_tokens(ops.log_softmax(ops.cast(logits, "float32")), tokens)


def of_tokens(values: Array, tokens: Array) -> Array:
    """Return the number of each token among those of the vocabulary.

    Args:
        values: (B, T, V), such as log-probabilities.
        tokens: ids (B, T), or (T,) for all rows.

    Returns:
        (B, T).
    """
    places = ops.broadcast_to(ops.convert_to_tensor(tokens), values.shape[:2])
    return ops.take_along_axis(values, ops.expand_dims(places, -1), axis=-1)[..., 0]
