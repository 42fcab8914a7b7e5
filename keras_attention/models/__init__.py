"""Trunk 3: one paper or tutorial a file, and the views over the layers of any of them."""

from keras_attention.models.bilstm_attention import build_bilstm_attention
from keras_attention.models.reinforced import Reinforced
from keras_attention.models.rnn_attention import build_rnn_attention
from keras_attention.models.seq2seq import build_seq2seq
from keras_attention.models.transformer import build_transformer
from keras_attention.models.views import Step, attention, encode, most_tokens, step

BUILDERS = {
    "rnn": build_rnn_attention,
    "bilstm": build_bilstm_attention,
    "seq2seq": build_seq2seq,
    "transformer": build_transformer,
}

__all__ = [
    "BUILDERS",
    "Reinforced",
    "Step",
    "attention",
    "build_bilstm_attention",
    "build_rnn_attention",
    "build_seq2seq",
    "build_transformer",
    "encode",
    "most_tokens",
    "step",
]
