"""Trunk 3: one paper or tutorial a file, and the views over the layers of any of them."""

from keras_attention.models.rnn_attention import build_rnn_attention
from keras_attention.models.views import Step, attention, encode, step

BUILDERS = {"rnn": build_rnn_attention}

__all__ = ["BUILDERS", "Step", "attention", "build_rnn_attention", "encode", "step"]
