"""Scores as layers: a small layer for each way to compare a query with a key.

Every attention layer of the package takes a `score`: a name, a layer of this module, or any
function `(query (B, T, Q), keys (B, S, K)) → scores (B, T, S)`.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import keras
from keras import ops

from keras_attention import menu
from keras_attention.layers.parts import saved, taken
from keras_attention.layers.weights import WeightedLayer
from keras_attention.ops import project, scores
from keras_attention.ops.precision import precise
from keras_attention.types import Array, Shape


class Score(keras.layers.Layer):
    """A function of `keras_attention.ops` as a layer; a subclass names it and its weights.

    A score has two parts. `project` computes what depends on the keys alone, once for a whole
    memory; `compare` then scores queries against the result, at every step of a decoder. A call
    does both.

    Args:
        **kwargs: arguments of `keras.layers.Layer`.

    Attributes:
        function: `function(query, keys, *weights) → scores`, of `keras_attention.ops`.
        shapes: the shape of each weight by name, in the order of the function's arguments. Shapes
            are written with Q and K, the widths of query and keys, and with the names of the
            score's own sizes.
        same_width: whether query and keys must have the same width.

    Call arguments:
        query: (B, T, Q).
        keys: (B, S, K).

    Returns:
        Scores (B, T, S), float32.

    Raises:
        ValueError: if the score needs query and keys of the same width but their widths differ,
            or if a number is not positive.
    """

    function: Callable[..., Array]  # no value: on PyTorch it would hide a layer of that name
    shapes: ClassVar[dict[str, tuple[str, ...]]] = {}
    same_width = False

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        widths: tuple[Any, Any] = (query_shape[-1], keys_shape[-1])
        self.widths = widths
        self.check_widths(query_shape, keys_shape)
        sizes = self.sizes(*widths)
        for name, letters in self.shapes.items():
            make = self.add_bias if "bias" in name else self.add_kernel
            setattr(self, name, make(name, tuple(sizes[letter] for letter in letters)))

    def sizes(self, query_width: int, keys_width: int) -> dict[str, int]:
        """Return the sizes that the names in `shapes` stand for."""
        return {"Q": query_width, "K": keys_width, "Q+K": query_width + keys_width}

    def check_widths(self, query_shape: Shape, keys_shape: Shape) -> None:
        """Check that the widths of query and keys fit this score."""
        if (query_shape[-1], keys_shape[-1]) != self.widths:
            raise ValueError(
                f"the score {self.name!r} was built for query and key widths (Q, K) = "
                f"{self.widths}, got query {tuple(query_shape)} and keys {tuple(keys_shape)}"
            )
        if self.same_width and query_shape[-1] != keys_shape[-1]:
            raise ValueError(
                f"the score {self.name!r} needs query and keys of the same width, got query "
                f"(B, T, Q) = {tuple(query_shape)} and keys (B, S, K) = {tuple(keys_shape)}; "
                'project one of them, or choose "general"'
            )

    def project(self, keys: Array) -> Array:
        """Compute what depends on the keys alone: (B, S, K) → (B, S, …)."""
        return keys

    def compare(self, query: Array, projected: Array) -> Array:
        """Score queries (B, T, Q) against projected keys: (B, T, S)."""
        return self.function(query, projected, *(getattr(self, name) for name in self.shapes))

    def mask(self, keys: Array) -> Array | None:
        """Return which keys (B, S, K) can be scored, booleans (B, S), or None for all of them."""
        del keys
        return None

    def call(self, query: Array, keys: Array) -> Array:
        return self.compare(query, self.project(keys))

    def get_config(self) -> dict[str, Any]:  # or Keras refuses a score made with a dtype policy
        return super().get_config()


@keras.saving.register_keras_serializable("keras_attention")
class DotScore(Score):
    """q·k, `keras_attention.ops.dot`."""

    function = staticmethod(scores.dot)
    same_width = True


@keras.saving.register_keras_serializable("keras_attention")
class ScaledDotScore(Score):
    """q·k / √K, `keras_attention.ops.scaled_dot`."""

    function = staticmethod(scores.scaled_dot)
    same_width = True


@keras.saving.register_keras_serializable("keras_attention")
class CosineScore(Score):
    """β cos(q, k), `keras_attention.ops.cosine`, with a learned strength β = softplus(b) > 0.

    Args:
        strength: β before training.
        **kwargs: arguments of `keras.layers.Layer`.
    """

    function = staticmethod(scores.cosine)
    same_width = True

    def __init__(self, strength: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        if not strength > 0:
            raise ValueError(f"strength must be positive, got {strength}")
        self.strength = strength

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        super().build(query_shape, keys_shape)
        before = math.log(math.expm1(self.strength)) if self.strength < 30 else self.strength
        self.raw_strength = self.add_weight(
            shape=(), initializer=keras.initializers.Constant(before), name="raw_strength"
        )

    def project(self, keys: Array) -> Array:
        return scores.direction(keys)

    def compare(self, query: Array, projected: Array) -> Array:
        strength = ops.softplus(ops.cast(self.raw_strength, projected.dtype))
        return self.function(query, projected, strength, projected=True)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "strength": self.strength}


@keras.saving.register_keras_serializable("keras_attention")
class GeneralScore(WeightedLayer, Score):
    """qᵀ W k, `keras_attention.ops.general`.

    Args:
        **kwargs: initializer, regularizer and constraint of W, as for `keras.layers.Dense`, and
            arguments of `keras.layers.Layer`.
    """

    function = staticmethod(scores.general)
    shapes: ClassVar = {"kernel": ("Q", "K")}


class _NetworkScore(WeightedLayer, Score):
    """A score with one hidden layer, whose half for the keys is computed once.

    Args:
        units: width of the hidden layer; None: as wide as the query.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.
    """

    def __init__(self, units: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if units is not None and units < 1:
            raise ValueError(f"units must be a positive integer, got {units}")
        self.units = units

    def sizes(self, query_width: int, keys_width: int) -> dict[str, int]:
        sizes = super().sizes(query_width, keys_width)
        return {**sizes, "units": self.units or query_width}

    def project(self, keys: Array) -> Array:
        return project(keys, self.kernel[self.widths[0] :])

    def compare(self, query: Array, projected: Array) -> Array:
        weights = (getattr(self, name) for name in self.shapes)
        return self.function(query, projected, *weights, projected=True)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("keras_attention")
class ConcatScore(_NetworkScore):
    """vᵀ tanh(W [q; k]), `keras_attention.ops.concat`."""

    function = staticmethod(scores.concat)
    shapes: ClassVar = {"kernel": ("Q+K", "units"), "v": ("units",)}


@keras.saving.register_keras_serializable("keras_attention")
class AdditiveScore(_NetworkScore):
    """vᵀ tanh(W q + U k), `keras_attention.ops.additive`: Bahdanau's score."""

    function = staticmethod(scores.additive)
    shapes: ClassVar = {
        "query_kernel": ("Q", "units"),
        "key_kernel": ("K", "units"),
        "v": ("units",),
    }

    def project(self, keys: Array) -> Array:
        return project(keys, self.key_kernel)


@keras.saving.register_keras_serializable("keras_attention")
class TwoLayerScore(_NetworkScore):
    """w₂ᵀ tanh(W₁ [q; k] + b₁) + b₂, `keras_attention.ops.two_layer`: the lecture notes' score."""

    function = staticmethod(scores.two_layer)
    shapes: ClassVar = {
        "kernel": ("Q+K", "units"),
        "bias": ("units",),
        "v": ("units",),
        "output_bias": (),
    }


@keras.saving.register_keras_serializable("keras_attention")
class LocationScore(WeightedLayer, Score):
    """(W q)_j, `keras_attention.ops.location`: the query alone decides where to attend.

    Args:
        longest: S_max. Positions from S_max on get no weight.
        **kwargs: initializers, regularizers and constraints of the weights, as for
            `keras.layers.Dense`, and arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if `longest` is not positive, or the score is built for a longer memory.
    """

    function = staticmethod(scores.location)
    shapes: ClassVar = {"kernel": ("Q", "longest")}

    def __init__(self, longest: int = 64, **kwargs: Any):
        super().__init__(**kwargs)
        if longest < 1:
            raise ValueError(f"longest must be a positive integer, got {longest}")
        self.longest = longest

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        if keys_shape[1] is not None and keys_shape[1] > self.longest:
            raise ValueError(
                f"this location score reaches {self.longest} positions, got keys (B, S, K) = "
                f"{tuple(keys_shape)}; use LocationScore(longest={keys_shape[1]})"
            )
        super().build(query_shape, keys_shape)

    def sizes(self, query_width: int, keys_width: int) -> dict[str, int]:
        return {**super().sizes(query_width, keys_width), "longest": self.longest}

    def compare(self, query: Array, projected: Array) -> Array:
        return self.function(query, self.kernel, ops.shape(projected)[1])

    def mask(self, keys: Array) -> Array | None:
        if isinstance(keys.shape[1], int) and keys.shape[1] <= self.longest:
            return None
        reached = scores.location_mask(ops.shape(keys)[1], self.longest)
        return ops.broadcast_to(reached, ops.shape(keys)[:2])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "longest": self.longest}


@keras.saving.register_keras_serializable("keras_attention")
class FunctionScore(Score):
    """A user-defined score.

    Args:
        function: `function(query (B, T, Q), keys (B, S, K)) → scores (B, T, S)`; a function of
            Keras operations, or a layer. To save it, register it with
            `keras.saving.register_keras_serializable`.
        **kwargs: arguments of `keras.layers.Layer`.
    """

    def __init__(self, function: Callable[..., Array], **kwargs: Any):
        super().__init__(**kwargs)
        self.function = taken(function) if isinstance(function, keras.layers.Layer) else function

    def build(self, query_shape: Shape, keys_shape: Shape) -> None:
        super().build(query_shape, keys_shape)
        if isinstance(self.function, keras.layers.Layer) and not self.function.built:
            shapes = query_shape, keys_shape
            self.function(*(keras.KerasTensor(shape, self.compute_dtype) for shape in shapes))

    def compare(self, query: Array, projected: Array) -> Array:
        return precise(self.function(query, projected))

    def get_config(self) -> dict[str, Any]:
        if not isinstance(self.function, keras.layers.Layer) and not _is_registered(self.function):
            raise ValueError(
                "a score function to save must be registered with "
                f"keras.saving.register_keras_serializable, got {self.function!r}"
            )
        return {**super().get_config(), "function": saved(self.function)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "FunctionScore":
        function = keras.saving.deserialize_keras_object(config["function"])
        return cls(**{**config, "function": function})


SCORES: dict[str, type[Score]] = {
    name: globals()[entry.layer] for name, entry in menu.SCORES.items()
}


def make_score(score: str | Callable[..., Array], dtype: Any = None) -> Score:
    """Return the score layer for a name, a score layer or a function.

    Raises:
        ValueError: if the name is unknown, or `score` is none of the three.
    """
    if isinstance(score, Score):
        return score
    if callable(score) and not isinstance(score, type):
        return FunctionScore(score, dtype=dtype, name="score")
    if not isinstance(score, str) or score not in SCORES:
        raise ValueError(
            f"score must be one of {', '.join(SCORES)}, or a function of query and keys, "
            f"got {score!r}"
        )
    return SCORES[score](dtype=dtype, name=score)


def _is_registered(function):
    if not hasattr(function, "__name__"):  # such as `functools.partial`
        return False
    name = keras.saving.get_registered_name(function)
    return keras.saving.get_registered_object(name) is function
