"""The attention layers that a translator can use, by name."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_attention import layers

LOCAL = ("local_m", "local_p")
SCORED = ("global", "hard", *LOCAL)


def make_attention(
    name: str,
    units: int,
    score: str | keras.layers.Layer | None = None,
    half_width: int | None = None,
    *,
    among: Sequence[str],
    default_score: str = "additive",
    dtype: str | keras.DTypePolicy | None = None,
) -> keras.layers.Layer:
    """Return the attention layer with a given name.

    Args:
        name: `"multi_head"`, multi-head attention with one head; `"global"`, soft attention
            over the whole context; `"local_m"` and `"local_p"`, soft attention over a window (Luong
            et al., 2015); `"hard"`, one position, with straight-through gradients; `"coverage"`,
            `"neural_coverage"`, `"location_aware"` and `"recurrent_location"`, with a state;
            `"last"`, `"max"` and `"mean"`, summaries that ignore the query.
        units: width of the query.
        score: a score of `keras_attention.layers.scores.SCORES`, or a layer of that module; None:
            the default. For global, local and hard attention.
        half_width: half width D of the window; None: 3, for short sentences. For local attention.
        among: the names that the model supports.
        default_score: the default score of the model.
        dtype: dtype or dtype policy of the layer.

    Returns:
        An attention layer, named after its kind.

    Raises:
        ValueError: the name or score is unknown, or the attention does not take an argument.
    """
    if name not in among:
        raise ValueError(f"attention must be one of {', '.join(among)}, got {name!r}")
    if score is not None and name not in SCORED:
        raise ValueError(f"{name} attention has a score of its own; leave score out, got {score!r}")
    if half_width is not None and name not in LOCAL:
        raise ValueError(f"{name} attention has no window; leave half_width out, got {half_width}")
    score = default_score if score is None else score
    half_width = 3 if half_width is None else half_width
    named: dict[str, Any] = {"name": f"{name}_attention", "dtype": dtype}
    makers = {
        "multi_head": lambda: layers.MultiHeadAttention(1, units, **named),
        "global": lambda: layers.ContextSensitiveMemory(score, **named),
        "local_m": lambda: layers.MonotonicLocalAttention(half_width, score, **named),
        "local_p": lambda: layers.PredictiveLocalAttention(half_width, score, **named),
        "hard": lambda: layers.HardAttention(score, straight_through=True, **named),
        "coverage": lambda: layers.CoverageAttention(units, **named),
        "neural_coverage": lambda: layers.NeuralCoverageAttention(units, **named),
        "location_aware": lambda: layers.LocationAwareAttention(units, **named),
        "recurrent_location": lambda: layers.RecurrentLocationAttention(units, **named),
        "last": lambda: layers.Pooling("last", **named),
        "max": lambda: layers.Pooling("max", **named),
        "mean": lambda: layers.Pooling("mean", **named),
    }
    return makers[name]()
