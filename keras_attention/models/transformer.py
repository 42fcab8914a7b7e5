"""The Transformer of Vaswani et al. (2017), as the TensorFlow tutorial "transformer" has it.

context ids → embedding + positions → N × encoder layer ──┐ memory
target ids  → embedding + positions → N × decoder layer ◄─┘ → logits
              encoder layer = global self-attention → feed-forward
              decoder layer = causal self-attention → cross-attention → feed-forward
"""

import math
from typing import Any, NamedTuple

import keras
from keras import layers, ops

from keras_attention.layers import (
    CausalSelfAttention,
    CrossAttention,
    FeedForward,
    GlobalSelfAttention,
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
)
from keras_attention.models.encoder_decoder import check_sizes, join
from keras_attention.ops import padding_mask

POSITIONS = ("concatenated", "interleaved", "learned")


def build_transformer(
    context_vocabulary_size=8000,
    target_vocabulary_size=8000,
    units=128,
    num_layers=4,
    num_heads=8,
    feed_forward=512,
    key_dim=None,
    dropout=0.1,
    positions="concatenated",
    max_positions=128,
    scale_embedding=True,
    tied=False,
    norm_first=False,
    dtype=None,
    name="transformer",
):
    """Build an encoder-decoder of attention alone, with the sizes of the TensorFlow tutorial.

    Our names / the paper's: `units`, D / d_model; `num_layers` / N; `num_heads` / h;
    `feed_forward` / d_ff; `key_dim` / d_k.

    Args:
        context_vocabulary_size: number of context ids; 0 is padding.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: width of the model, D.
        num_layers: layers of the encoder, and of the decoder.
        num_heads: heads of each attention, H.
        feed_forward: hidden width of the feed-forward networks.
        key_dim: depth of a head, K. None: D / H, as in the paper. The tutorial has D, and so eight
            times as wide an attention.
        dropout: fraction that is dropped in training: of the embedded tokens, of the attention
            weights, and of what the feed-forward networks give.
        positions: `"concatenated"`, the sinusoids as the tutorial lays them out; `"interleaved"`,
            as the paper does; or `"learned"`.
        max_positions: number of learned positions: no sentence may have more tokens, padding
            included.
        scale_embedding: whether embedded tokens are multiplied by √D.
        tied: whether the logits are made with the target embedding itself, section 3.4 of the
            paper, in place of a dense layer of their own. Both embeddings then begin as normal
            numbers of variance 1 / D, in place of Keras' smaller default.
        norm_first: pre-norm: x + f(LayerNorm(x)), with one more norm at the end of encoder and
            decoder; otherwise post-norm: LayerNorm(x + f(x)).
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: Keras' own.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": ids (B, S), "target": ids (B, T)}` → logits
        (B, T, V), with the layers "encoder" and "decoder" like every model of the package. The view
        `attention` shows the weights of every layer n and head, `encoder_self_attention_n`
        (B, H, S, S), `decoder_self_attention_n` (B, H, T, T) and `cross_attention_n` (B, H, T, S).
        The state that `step` carries is the keys and values of the tokens before.

    Raises:
        ValueError: a size is not positive, the width is odd or no multiple of the number of heads,
            there are no such positions, or the dropout is not in [0, 1).

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762;
        https://www.tensorflow.org/text/tutorials/transformer.
    """
    check_sizes(
        context_vocabulary_size=context_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        units=units,
        num_layers=num_layers,
        num_heads=num_heads,
        feed_forward=feed_forward,
        max_positions=max_positions,
    )
    if key_dim is None and units % num_heads:
        raise ValueError(
            "units must be a multiple of num_heads, or key_dim be given, got "
            f"{units} units for {num_heads} heads"
        )
    if positions not in POSITIONS:
        raise ValueError(f"positions must be one of {', '.join(POSITIONS)}, got {positions!r}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
    parts = _Parts(
        units=units,
        num_heads=num_heads,
        key_dim=units // num_heads if key_dim is None else key_dim,
        feed_forward=feed_forward,
        dropout=dropout,
        positions=positions,
        max_positions=max_positions,
        scale_embedding=scale_embedding,
        tied=tied,
        norm_first=norm_first,
        dtype=dtype,
    )
    encoder = _build_encoder(context_vocabulary_size, num_layers, parts)
    decoder = _build_decoder(target_vocabulary_size, num_layers, parts, encoder.output)
    return join(encoder, decoder, name)


class _Parts(NamedTuple):
    """What encoder and decoder are made of; the fields are the arguments of `build_transformer`."""

    units: int
    num_heads: int
    key_dim: int
    feed_forward: int
    dropout: float
    positions: str
    max_positions: int
    scale_embedding: bool
    tied: bool
    norm_first: bool
    dtype: Any

    def embedding(self, layer, vocabulary_size, **options):
        """Make an embedding: for tied logits of the size that keeps these of the size of 1."""
        initializer = keras.initializers.RandomNormal(stddev=self.units**-0.5)
        initializer = initializer if self.tied else "uniform"
        return layer(
            vocabulary_size,
            self.units,
            embeddings_initializer=initializer,
            dtype=self.dtype,
            **options,
        )

    def place(self, x, start, side):
        """Scale embedded tokens, add their positions, drop some."""
        if self.positions == "learned":
            add_positions = LearnedPositions(
                self.max_positions, name=f"{side}_positions", dtype=self.dtype
            )
        else:
            add_positions = SinusoidalPositions(
                self.positions, name=f"{side}_positions", dtype=self.dtype
            )
        if self.scale_embedding:
            x = layers.Rescaling(math.sqrt(self.units), name=f"{side}_scale", dtype=self.dtype)(x)
        return layers.Dropout(self.dropout, name=f"{side}_dropout", dtype=self.dtype)(
            add_positions(x, start=start)
        )

    def attend(self, block, name):
        """Make a block of attention."""
        attention = MultiHeadAttention(
            self.num_heads, self.key_dim, dropout=self.dropout, dtype=self.dtype
        )
        return block(attention, self.norm_first, dtype=self.dtype, name=name)

    def feed(self, name):
        """Make a feed-forward network."""
        return FeedForward(
            self.feed_forward, self.dropout, self.norm_first, name=name, dtype=self.dtype
        )

    def finish(self, x, side):
        """Normalise the sum that pre-norm leaves."""
        return (
            layers.LayerNormalization(name=f"{side}_norm", dtype=self.dtype)(x)
            if self.norm_first
            else x
        )


def _build_encoder(vocabulary_size, num_layers, parts):
    """Ids (B, S) → the memory, a state in which nothing is written, attention weights."""
    context = keras.Input((None,), dtype="int32", name="context")
    mask = padding_mask(context)
    embedding = parts.embedding(layers.Embedding, vocabulary_size, name="context_embedding")
    weights = {}
    x = parts.place(embedding(context), None, "context")
    for n in range(1, num_layers + 1):
        look = parts.attend(GlobalSelfAttention, f"self_attention_{n}")
        x, weights[f"encoder_self_attention_{n}"] = look(
            x, attention_mask=mask, return_attention_scores=True
        )
        x = parts.feed(f"feed_forward_{n}")(x)
    x = parts.finish(x, "context")
    # No place, cut from D, which is always known: S is not, where a program is for any length.
    nothing = ops.expand_dims(ops.expand_dims(x[:, 0, :0], 1), -1)
    nothing = ops.tile(nothing, (1, parts.num_heads, 1, parts.key_dim))
    nothing = {"keys": ops.swapaxes(nothing, 2, 3), "values": nothing}
    state = {
        "past": [nothing for _ in range(num_layers)],
        "seen": ops.zeros_like(context[:, 0]),
    }
    return keras.Model(
        context,
        {
            "memory": {"mask": mask, "values": x},
            "state": state,
            "weights": dict(sorted(weights.items())),
        },
        name="encoder",
    )


def _build_decoder(vocabulary_size, num_layers, parts, encoded):
    """Ids (B, T), memory and state → logits (B, T, V), the next state, attention weights."""
    # Inputs
    target = keras.Input((None,), dtype="int32", name="target")
    mask = keras.Input((None,), dtype="bool", name="mask")
    dtype = encoded["memory"]["values"].dtype
    values = keras.Input((None, parts.units), dtype=dtype, name="values")
    seen = keras.Input((), dtype="int32", name="seen")
    before = [
        {
            "keys": keras.Input(
                (parts.num_heads, parts.key_dim, None), dtype=dtype, name=f"keys_{n}"
            ),
            "values": keras.Input(
                (parts.num_heads, None, parts.key_dim), dtype=dtype, name=f"values_{n}"
            ),
        }
        for n in range(1, num_layers + 1)
    ]

    # Model
    embedding = parts.embedding(
        layers.ReversibleEmbedding, vocabulary_size, tie_weights=True, name="target_embedding"
    )
    weights, after = {}, []
    x = parts.place(embedding(target), seen, "target")
    for n, past in enumerate(before, start=1):
        look_back = parts.attend(CausalSelfAttention, f"self_attention_{n}")
        look_across = parts.attend(CrossAttention, f"cross_attention_{n}")
        x, weights[f"decoder_self_attention_{n}"], past = look_back(x, past=past, seen=seen)
        x, weights[f"cross_attention_{n}"] = look_across(
            x, values, attention_mask=mask, return_attention_scores=True
        )
        x = parts.feed(f"feed_forward_{n}")(x)
        after.append(past)
    x = parts.finish(x, "target")
    if parts.tied:
        logits = embedding(x, reverse=True)
    else:
        logits = layers.Dense(vocabulary_size, name="logits", dtype=parts.dtype)(x)
    return keras.Model(
        {
            "memory": {"mask": mask, "values": values},
            "state": {"past": before, "seen": seen},
            "target": target,
        },
        {
            "logits": logits,
            "state": {"past": after, "seen": seen + ops.sum(ops.ones_like(target), axis=1)},
            "weights": dict(sorted(weights.items())),
        },
        name="decoder",
    )
