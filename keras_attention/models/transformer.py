"""The Transformer of Vaswani et al. (2017), as the TensorFlow tutorial "transformer" has it.

context ids → embedding + positions → N × (global self-attention → feed-forward) ────────┐ memory
target ids  → embedding + positions → N × (causal self-attention → cross-attention ◄─────┘
                                           → feed-forward) → logits
"""

import math

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
    context_vocabulary=8000,
    target_vocabulary=8000,
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
    name="transformer",
):
    """Build an encoder-decoder of attention alone, with the sizes of the TensorFlow tutorial.

    Our names / the paper's: `units`, D / d_model; `num_layers` / N; `num_heads` / h;
    `feed_forward` / d_ff; `key_dim` / d_k.

    Args:
        context_vocabulary: number of context ids; 0 is padding.
        target_vocabulary: number of target ids, V; 0 is padding.
        units: width of the model, D.
        num_layers: layers of the encoder, and of the decoder.
        num_heads: heads of each attention, H.
        feed_forward: hidden width of the feed-forward networks.
        key_dim: depth of a head, K. None: D / H, as in the paper. The tutorial has D, and so eight
            times as wide an attention.
        dropout: share that is dropped in training: of the embedded tokens, of the attention
            weights, and of what the feed-forward networks give.
        positions: `"concatenated"`, the sinusoids as the tutorial lays them out; `"interleaved"`,
            as the paper does; or `"learned"`.
        max_positions: number of learned positions: no sentence may have more tokens.
        scale_embedding: whether embedded tokens are multiplied by √D.
        tied: whether the logits are made with the target embedding itself, section 3.4 of the
            paper, in place of a dense layer of their own.
        norm_first: pre-norm: x + f(LayerNorm(x)), with one more norm at the end of encoder and
            decoder; otherwise post-norm: LayerNorm(x + f(x)).
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": ids (B, S), "target": ids (B, T)}` → logits
        (B, T, V), with the layers "encoder" and "decoder" like every model of the package. The view
        `attention` shows the weights of every layer n and head, `encoder_self_attention_n`
        (B, H, S, S), `decoder_self_attention_n` (B, H, T, T) and `cross_attention_n` (B, H, T, S).
        The state that `step` carries is the keys and values of the tokens before.

    Raises:
        ValueError: a size is not positive, the width is odd or no multiple of the number of heads,
            there are no such positions, or the dropout is no share.

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762;
        https://www.tensorflow.org/text/tutorials/transformer.
    """
    check_sizes(
        context_vocabulary=context_vocabulary,
        target_vocabulary=target_vocabulary,
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
    key_dim = units // num_heads if key_dim is None else key_dim
    # Tied, the embedding has to suit both its ends: √D of it is a token, all of it makes logits.
    initializer = keras.initializers.RandomNormal(stddev=units**-0.5) if tied else "uniform"

    def attention():
        return MultiHeadAttention(num_heads, key_dim, dropout=dropout)

    def think(name):
        return FeedForward(feed_forward, dropout, norm_first, name=name)

    def place(x, start, side):
        """Scale embedded tokens, add their positions, drop some."""
        if positions == "learned":
            add_positions = LearnedPositions(max_positions, name=f"{side}_positions")
        else:
            add_positions = SinusoidalPositions(positions, name=f"{side}_positions")
        if scale_embedding:
            x = layers.Rescaling(math.sqrt(units), name=f"{side}_scale")(x)
        return layers.Dropout(dropout, name=f"{side}_dropout")(add_positions(x, start=start))

    def finish(x, side):
        """Pre-norm leaves the sum of all layers, which has not been normalised yet."""
        return layers.LayerNormalization(name=f"{side}_norm")(x) if norm_first else x

    # Encoder: ids (B, S) → the memory, and a state in which nothing has been written
    context = keras.Input((None,), dtype="int32", name="context")
    mask = padding_mask(context)
    weights = {}
    x = layers.Embedding(
        context_vocabulary, units, embeddings_initializer=initializer, name="context_embedding"
    )(context)
    x = place(x, None, "context")
    for n in range(1, num_layers + 1):
        attend = GlobalSelfAttention(attention(), norm_first, name=f"self_attention_{n}")
        x, weights[f"encoder_self_attention_{n}"] = attend(
            x, attention_mask=mask, return_attention_scores=True
        )
        x = think(f"feed_forward_{n}")(x)
    x = finish(x, "context")
    no_tokens = ops.tile(ops.expand_dims(x[:, :0, :1], -1), (1, 1, num_heads, key_dim))
    encoder = keras.Model(
        context,
        {
            "memory": {"mask": mask, "values": x},
            "state": {
                "past": [{"keys": no_tokens, "values": no_tokens} for _ in range(num_layers)],
                "seen": ops.zeros_like(context[:, 0]),
            },
            "weights": dict(sorted(weights.items())),
        },
        name="encoder",
    )

    # Decoder: ids (B, T), memory and state → logits (B, T, V), weights, the next state
    target = keras.Input((None,), dtype="int32", name="target")
    memory = {
        "mask": keras.Input((None,), dtype="bool", name="mask"),
        "values": keras.Input((None, units), name="values"),
    }
    before = [
        {
            part: keras.Input((None, num_heads, key_dim), name=f"{part}_{n}")
            for part in ("keys", "values")
        }
        for n in range(1, num_layers + 1)
    ]
    seen = keras.Input((), dtype="int32", name="seen")
    weights, after = {}, []
    embedding = layers.ReversibleEmbedding(
        target_vocabulary,
        units,
        tie_weights=True,
        embeddings_initializer=initializer,
        name="target_embedding",
    )
    x = place(embedding(target), seen, "target")
    for n, past in enumerate(before, start=1):
        attend = CausalSelfAttention(attention(), norm_first, name=f"self_attention_{n}")
        look = CrossAttention(attention(), norm_first, name=f"cross_attention_{n}")
        x, weights[f"decoder_self_attention_{n}"], past = attend(x, past=past, seen=seen)
        x, weights[f"cross_attention_{n}"] = look(
            x, memory["values"], attention_mask=memory["mask"], return_attention_scores=True
        )
        x = think(f"feed_forward_{n}")(x)
        after.append(past)
    x = finish(x, "target")
    logits = (
        embedding(x, reverse=True) if tied else layers.Dense(target_vocabulary, name="logits")(x)
    )
    decoder = keras.Model(
        {"memory": memory, "state": {"past": before, "seen": seen}, "target": target},
        {
            "logits": logits,
            "state": {"past": after, "seen": seen + ops.sum(ops.ones_like(target), axis=1)},
            "weights": dict(sorted(weights.items())),
        },
        name="decoder",
    )
    return join(encoder, decoder, name)
