"""Thin Keras layers over `ops`. They return their attention and never store it."""

from keras_attention.layers import scores
from keras_attention.layers.additive_attention import AdditiveAttention
from keras_attention.layers.attention_blocks import (
    CausalSelfAttention,
    CrossAttention,
    GlobalSelfAttention,
)
from keras_attention.layers.attention_rnn import AttendThenRecur, AttentionRNN, RecurThenAttend
from keras_attention.layers.context_sensitive_memory import ContextSensitiveMemory
from keras_attention.layers.dense_multi_head_attention import DenseMultiHeadAttention
from keras_attention.layers.feed_forward import FeedForward
from keras_attention.layers.glimpses import GlimpseNetwork, GlimpseRNN, Glimpses
from keras_attention.layers.gru import GRU
from keras_attention.layers.hard_attention import HardAttention
from keras_attention.layers.hopfield import Hopfield
from keras_attention.layers.keras_multi_head_attention import KerasMultiHeadAttention
from keras_attention.layers.local_attention import (
    MonotonicLocalAttention,
    PredictiveLocalAttention,
)
from keras_attention.layers.luong_attention import LuongAttention
from keras_attention.layers.memory_network import BagOfWords, MemoryHop, MemoryTimes
from keras_attention.layers.multi_head_attention import MultiHeadAttention
from keras_attention.layers.neural_turing_machine import NTMCell
from keras_attention.layers.over_frames import OverFrames
from keras_attention.layers.pooling import Pooling
from keras_attention.layers.positions import (
    LearnedPositions,
    PositionalEmbedding,
    SinusoidalPositions,
)
from keras_attention.layers.stateful_attention import (
    CoverageAttention,
    LocationAwareAttention,
    NeuralCoverageAttention,
    RecurrentLocationAttention,
)
from keras_attention.layers.token_embedding import TokenEmbedding
from keras_attention.layers.transformer_layers import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)

__all__ = [
    "GRU",
    "AdditiveAttention",
    "AttendThenRecur",
    "AttentionRNN",
    "BagOfWords",
    "CausalSelfAttention",
    "ContextSensitiveMemory",
    "CoverageAttention",
    "CrossAttention",
    "DenseMultiHeadAttention",
    "FeedForward",
    "GlimpseNetwork",
    "GlimpseRNN",
    "Glimpses",
    "GlobalSelfAttention",
    "HardAttention",
    "Hopfield",
    "KerasMultiHeadAttention",
    "LearnedPositions",
    "LocationAwareAttention",
    "LuongAttention",
    "MemoryHop",
    "MemoryTimes",
    "MonotonicLocalAttention",
    "MultiHeadAttention",
    "NTMCell",
    "NeuralCoverageAttention",
    "OverFrames",
    "Pooling",
    "PositionalEmbedding",
    "PredictiveLocalAttention",
    "RecurThenAttend",
    "RecurrentLocationAttention",
    "SinusoidalPositions",
    "TokenEmbedding",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
    "scores",
]
