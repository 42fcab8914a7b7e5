"""The mathematics of attention: pure functions over `keras.ops`, without weights or state.

Every mechanism is a variation of *score → mask → normalise → read*.
"""

from keras_attention.ops import addressing
from keras_attention.ops.coverage import (
    coverage,
    coverage_loss,
    gated_update,
    location_features,
    uniform_weights,
)
from keras_attention.ops.ctc import ctc_alignment, ctc_loss
from keras_attention.ops.glimpses import glimpse, normal_log_probability
from keras_attention.ops.hard import (
    HardLookup,
    entropy,
    hard_lookup,
    log_probability,
    marginal_log_likelihood,
    reinforce,
)
from keras_attention.ops.kv_cache import (
    KVCache,
    branch_cache,
    cache_mask,
    empty_cache,
    extend_cache,
    follow_cache,
    resize_cache,
)
from keras_attention.ops.local import gaussian, local_lookup, predicted_centres, window
from keras_attention.ops.masks import align_mask, causal_mask, masked_softmax, padding_mask
from keras_attention.ops.positions import position_encoding, sinusoids
from keras_attention.ops.projections import project
from keras_attention.ops.scores import (
    additive,
    concat,
    cosine,
    dot,
    general,
    location,
    location_mask,
    scaled_dot,
    tanh_network,
    two_layer,
)
from keras_attention.ops.soft import Lookup, lookup, retrieve

__all__ = [
    "HardLookup",
    "KVCache",
    "Lookup",
    "additive",
    "addressing",
    "align_mask",
    "branch_cache",
    "cache_mask",
    "causal_mask",
    "concat",
    "cosine",
    "coverage",
    "coverage_loss",
    "ctc_alignment",
    "ctc_loss",
    "dot",
    "empty_cache",
    "entropy",
    "extend_cache",
    "follow_cache",
    "gated_update",
    "gaussian",
    "general",
    "glimpse",
    "hard_lookup",
    "local_lookup",
    "location",
    "location_mask",
    "location_features",
    "log_probability",
    "lookup",
    "marginal_log_likelihood",
    "masked_softmax",
    "normal_log_probability",
    "padding_mask",
    "position_encoding",
    "predicted_centres",
    "project",
    "reinforce",
    "resize_cache",
    "retrieve",
    "scaled_dot",
    "sinusoids",
    "tanh_network",
    "two_layer",
    "uniform_weights",
    "window",
]
