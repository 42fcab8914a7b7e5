"""Models: one paper or tutorial per file, and views over the layers of any model."""

from collections.abc import Callable

import keras

from keras_attention.models.bilstm_attention import build_bilstm_attention
from keras_attention.models.captioner import build_captioner
from keras_attention.models.character_model import (
    build_character_model,
    character_attention,
    continuation,
    initial_state,
)
from keras_attention.models.deep_recurrent_attention import build_deep_recurrent_attention
from keras_attention.models.divided import DividedModel
from keras_attention.models.inference import (
    Step,
    attention,
    encode,
    most_tokens,
    step,
)
from keras_attention.models.memory_network import (
    build_memory_network,
    memory_hops,
    set_linear,
)
from keras_attention.models.neural_turing_machine import build_neural_turing_machine, tapes
from keras_attention.models.recurrent_attention import build_recurrent_attention
from keras_attention.models.reinforced import Reinforced
from keras_attention.models.rnn_attention import build_rnn_attention
from keras_attention.models.seq2seq import build_seq2seq
from keras_attention.models.transformer import build_transformer

BUILDERS: dict[str, Callable[..., keras.Model]] = {
    "rnn": build_rnn_attention,
    "bilstm": build_bilstm_attention,
    "seq2seq": build_seq2seq,
    "transformer": build_transformer,
}

__all__ = [
    "BUILDERS",
    "DividedModel",
    "Reinforced",
    "Step",
    "attention",
    "build_bilstm_attention",
    "build_captioner",
    "build_character_model",
    "build_deep_recurrent_attention",
    "build_memory_network",
    "build_neural_turing_machine",
    "build_recurrent_attention",
    "build_rnn_attention",
    "build_seq2seq",
    "build_transformer",
    "character_attention",
    "continuation",
    "encode",
    "initial_state",
    "memory_hops",
    "most_tokens",
    "set_linear",
    "step",
    "tapes",
]
