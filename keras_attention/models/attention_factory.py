"""The attentions that a translator can be built with, by name."""

from keras_attention import layers

LOCAL = ("local_m", "local_p")
SCORED = ("global", "hard", *LOCAL)


def make_attention(
    name, units, score=None, half_width=None, *, among, default_score="additive", dtype=None
):
    """Return the attention layer that is meant by a name.

    Args:
        name: `"multi_head"`, one head of Keras' multi-head attention; `"global"`, soft attention
            over the whole context; `"local_m"` and `"local_p"`, over a window of Luong et al.
            (2015); `"hard"`, one position, with straight-through gradients; `"coverage"`,
            `"neural_coverage"`, `"location_aware"` and `"recurrent_location"`, with a state;
            `"last"`, `"max"` and `"mean"`, a summary that ignores what is asked.
        units: width of the query.
        score: a score of `keras_attention.layers.scores.SCORES`, or a layer of that module; None:
            the default. For global, local and hard attention.
        half_width: D of a window; None: 3, for short sentences. For local attention.
        among: the names that the model at hand can do with.
        default_score: that of the model at hand.
        dtype: dtype or dtype policy of the layer.

    Returns:
        An attention layer, named after itself.

    Raises:
        ValueError: there is no such name or score, or the attention has no use for an argument.
    """
    if name not in among:
        raise ValueError(f"attention must be one of {', '.join(among)}, got {name!r}")
    if score is not None and name not in SCORED:
        raise ValueError(f"{name} attention has a score of its own; leave score out, got {score!r}")
    if half_width is not None and name not in LOCAL:
        raise ValueError(f"{name} attention has no window; leave half_width out, got {half_width}")
    score = default_score if score is None else score
    half_width = 3 if half_width is None else half_width
    named = {"name": f"{name}_attention", "dtype": dtype}
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
