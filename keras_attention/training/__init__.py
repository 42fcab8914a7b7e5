"""Training: what `fit` minimizes, reports and schedules, and its callbacks."""

from keras_attention.training.callbacks import RunCheckpoint, SeedEachEpoch, StopOnDivergence
from keras_attention.training.compile import compile_for_training, steps_at_once, uses_xla
from keras_attention.training.losses import MaskedCrossentropy, token_weights
from keras_attention.training.metrics import MaskedAccuracy, MaskedLoss
from keras_attention.training.optimizers import Adam, Muon
from keras_attention.training.schedules import WarmUp, vaswani_peak

__all__ = [
    "Adam",
    "MaskedAccuracy",
    "MaskedCrossentropy",
    "MaskedLoss",
    "Muon",
    "RunCheckpoint",
    "SeedEachEpoch",
    "StopOnDivergence",
    "WarmUp",
    "compile_for_training",
    "steps_at_once",
    "token_weights",
    "uses_xla",
    "vaswani_peak",
]
