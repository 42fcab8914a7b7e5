"""A model that writes a text character by character and may attend to what it has written.

ids → embedding → LSTM                                                   → logits   "lstm"
ids → embedding → LSTM → causal self-attention                           → logits   "lstm_attention"
ids → embedding, 3 characters each, + positions
                      → N × (causal self-attention → feed-forward)       → logits   "transformer"
"""

from typing import Any

import keras
from keras import layers, ops, tree

from keras_attention.layers import (
    CausalSelfAttention,
    MultiHeadAttention,
    SinusoidalPositions,
    TokenEmbedding,
    TransformerDecoderLayer,
)
from keras_attention.models.caches import (
    cache_inputs,
    cached_layers,
    next_position,
    of_the_same_tokens,
)
from keras_attention.models.encoder_decoder import check_sizes
from keras_attention.types import Array

KINDS = ("lstm", "lstm_attention", "transformer")
_TOGETHER = 3  # characters that a Transformer embeds together
_UNITS = {"lstm": 423, "lstm_attention": 369, "transformer": 128}


def build_character_model(
    vocabulary_size: int,
    kind: str = "lstm",
    units: int | None = None,
    embedding: int = 64,
    num_layers: int = 4,
    num_heads: int = 4,
    key_dim: int = 32,
    dropout: float = 0.0,
    dtype: str | keras.DTypePolicy | None = None,
    name: str | None = None,
) -> keras.Model:
    """Build a language model over characters, of one of three kinds.

    `"lstm"` is the CharRNN: a state of fixed size holds all that it knows of the text so far.
    `"lstm_attention"` lets each output of such an LSTM attend to all earlier outputs, so that old
    text is as near as recent text. `"transformer"` has no LSTM. It embeds each character together
    with the two before it, as Mohamed et al. (2019) do, so that it need not first learn which
    characters are neighbours.

    Args:
        vocabulary_size: number of ids, V; 0 is padding.
        kind: one of `KINDS`.
        units: width, D; None: 423, 369 and 128 for the three kinds, about 860,000 weights each.
        embedding: width of an embedded character in a model with an LSTM; in a Transformer it is D.
        num_layers: layers of the Transformer.
        num_heads: heads of each attention, H.
        key_dim: depth of a head, K.
        dropout: fraction dropped in training, of the attention weights and of the output of the
            LSTM or of the feed-forward networks.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model; None: its kind.

    Returns:
        A functional `keras.Model`, ids (B, T) → logits (B, T, V) for the character after each. Its
        layer "decoder" is `{"ids", "state"}` → `{"logits", "state", "weights"}`. The view
        `continuation` continues from a state, such as that of `initial_state`, so that a text may
        come one character at a time. The view `character_attention` shows the attention weights.

    Raises:
        ValueError: the kind is unknown, a size is not positive, the width of the Transformer is
            odd, or the dropout is not in [0, 1).

    References:
        Karpathy (2015), The unreasonable effectiveness of recurrent neural networks; Cheng, Dong,
        Lapata (2016), Long short-term memory-networks for machine reading, arXiv:1601.06733, for an
        LSTM that attends to its earlier states; Vaswani et al. (2017), arXiv:1706.03762; Mohamed,
        Okhonko, Zettlemoyer (2019), Transformers with convolutional context for ASR,
        arXiv:1904.11660.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    units = _UNITS[kind] if units is None else units
    check_sizes(
        vocabulary_size=vocabulary_size,
        units=units,
        embedding=embedding,
        num_layers=num_layers,
        num_heads=num_heads,
        key_dim=key_dim,
    )
    if kind == "transformer" and units % 2:
        raise ValueError(f"units must be even for a transformer, got {units}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")

    attention: dict[str, Any] = {
        "num_heads": num_heads,
        "key_dim": key_dim,
        "dropout": dropout,
        "dtype": dtype,
    }
    if kind == "transformer":
        # As large as the sinusoids: a character counts as much as its position
        normal = keras.initializers.RandomNormal(stddev=1.0)
        stack = [
            TokenEmbedding(vocabulary_size, units, normal, name="embedding", dtype=dtype),
            layers.Conv1D(units, _TOGETHER, name="together", dtype=dtype),
            SinusoidalPositions(name="positions", dtype=dtype),
        ]
        options: dict[str, Any] = {"feed_forward_dim": 4 * units, "norm_first": True, **attention}
        for n in range(1, num_layers + 1):
            stack.append(TransformerDecoderLayer(**options, name=f"decoder_layer_{n}"))
    else:
        lstm = {"return_sequences": True, "return_state": True, "dtype": dtype}
        stack = [
            TokenEmbedding(vocabulary_size, embedding, name="embedding", dtype=dtype),
            layers.LSTM(units, **lstm, name="lstm"),
            layers.Dropout(dropout, name="dropout", dtype=dtype),
        ]
    if kind == "lstm_attention":
        block = CausalSelfAttention(
            MultiHeadAttention(**attention), norm_first=True, name="self_attention", dtype=dtype
        )
        stack.append(block)
    if kind != "lstm":
        stack.append(layers.LayerNormalization(name="norm", dtype=dtype))
    stack.append(layers.Dense(vocabulary_size, name="logits", dtype=dtype))

    decoder = _build_decoder(stack)
    ids = keras.Input((None,), dtype="int32", name="ids")
    outputs = decoder({"ids": ids, "state": initial_state(decoder, ids)})
    return keras.Model(ids, outputs["logits"], name=name or kind)


def continuation(model: keras.Model) -> keras.Model:
    """Return the view of a character model that reads a text in parts of any length.

    Returns:
        A functional model `{"ids": (B, T), "state"}` → `{"logits", "state", "weights"}`. The first
        state comes from `initial_state`; it holds a `KVCache` for each attention layer.
    """
    decoder = model.get_layer("decoder")
    stack = [layer for layer in decoder.layers if not isinstance(layer, layers.InputLayer)]
    return _build_decoder(stack, cache_inputs(cached_layers(decoder)))


def _build_decoder(stack, caches=()):
    """Ids (B, T) and state → logits (B, T, V), the next state, attention weights.

    Args:
        stack: the layers, in order.
        caches: a symbolic cache for each layer that takes one, if the text comes in parts.
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    layer = {each.name: each for each in stack}
    if "lstm" in layer:
        x, state, after = _recur(layer, ids)
    else:
        x, state, after = _convolve(layer, ids, next_position(caches))
    state["caches"], after["caches"] = list(caches), []
    weights, before = [], iter(of_the_same_tokens(caches))
    for each in stack:
        if isinstance(each, (CausalSelfAttention, TransformerDecoderLayer)):
            x, attended, cache = each(
                x, cache=next(before, None), return_attention_scores=True, return_cache=True
            )
            weights.append(attended["self_attention"] if isinstance(attended, dict) else attended)
            after["caches"].append(cache)
    x = layer["norm"](x) if "norm" in layer else x
    return keras.Model(
        {"ids": ids, "state": dict(sorted(state.items()))},
        {
            "logits": layer["logits"](x),
            "state": dict(sorted(after.items())),
            "weights": {"decoder_self_attention": weights},
        },
        name="decoder",
    )


def _recur(layer, ids):
    """Return the outputs of the LSTM for the ids, and its first and last state."""
    lstm, names = layer["lstm"], ("hidden", "carry")
    first = [keras.Input((lstm.units,), dtype=lstm.compute_dtype, name=name) for name in names]
    x, *last = lstm(layer["embedding"](ids), initial_state=first)
    return layer["dropout"](x), {"recurrent": first}, {"recurrent": last}


def _convolve(layer, ids, start):
    """Embed each character with the ones before it; the state holds the most recent."""
    recent = keras.Input((_TOGETHER - 1,), dtype="int32", name="recent")
    read = ops.concatenate([recent, ids], axis=1)
    x = layer["positions"](layer["together"](layer["embedding"](read)), start=start)
    return x, {"recent": recent}, {"recent": read[:, 1 - _TOGETHER :]}


def initial_state(decoder: keras.Model, ids: Array, slots: int = 0) -> dict[str, Any]:
    """Return the state before the first character, symbolic if the ids are.

    Args:
        decoder: the view `continuation`, or the layer "decoder", of a character model.
        ids: (B, T); only B matters.
        slots: slots of each cache, at least the number of characters to come.
    """

    def nothing(tensor):
        sizes = [slots if size is None else size for size in tensor.shape[1:]]
        zeros = ops.zeros_like(ids[:, 0], dtype=tensor.dtype)
        return ops.tile(ops.reshape(zeros, (-1, *(1 for _ in sizes))), (1, *sizes))

    return tree.map_structure(nothing, decoder.input["state"])


def character_attention(model: keras.Model) -> keras.Model:
    """Return the view of a character model that shows its attention weights.

    Returns:
        A functional model, ids (B, T) → `{"logits": (B, T, V), "decoder_self_attention": [...]}`,
        with weights (B, H, T, T) for each attention layer; none for a model without attention.
    """
    decoder = model.get_layer("decoder")
    outputs = decoder({"ids": model.input, "state": initial_state(decoder, model.input)})
    return keras.Model(
        model.input, {"logits": outputs["logits"], **outputs["weights"]}, name="character_attention"
    )
