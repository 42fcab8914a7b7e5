"""A model that writes a text character by character, and may look back at what it has written.

ids → embedding → LSTM                                                   → logits   "lstm"
ids → embedding → LSTM → causal self-attention                           → logits   "lstm_attention"
ids → embedding, 3 characters each, + positions
                      → N × (causal self-attention → feed-forward)       → logits   "transformer"
"""

from typing import Any, NamedTuple

import keras
from keras import layers, ops, tree

from keras_attention.layers import (
    CausalSelfAttention,
    FeedForward,
    MultiHeadAttention,
    SinusoidalPositions,
)
from keras_attention.models.encoder_decoder import check_sizes

KINDS = ("lstm", "lstm_attention", "transformer")
_TOGETHER = 3  # characters that a Transformer embeds together
_UNITS = {"lstm": 423, "lstm_attention": 369, "transformer": 128}


def build_character_model(
    vocabulary_size,
    kind="lstm",
    units=None,
    embedding=64,
    num_layers=4,
    num_heads=4,
    key_dim=32,
    dropout=0.0,
    dtype=None,
    name=None,
):
    """Build a language model over characters, of one of three kinds.

    `"lstm"` is the CharRNN: all that it knows of the text so far is in a state of fixed size.
    `"lstm_attention"` lets each output of such an LSTM read all outputs before it, so that what was
    written long ago is as near as what was written just now. `"transformer"` does without an LSTM;
    so that it need not learn first what stands beside what, it embeds each character together with
    the two before it, as Mohamed et al. (2019) do.

    Args:
        vocabulary_size: number of ids, V; 0 is padding.
        kind: one of `KINDS`.
        units: width, D; None: 423, 369 and 128 for the three kinds, about 860,000 weights each.
        embedding: width of an embedded character, where there is an LSTM; in a Transformer it is D.
        num_layers: layers of the Transformer.
        num_heads: heads of each attention, H.
        key_dim: depth of a head, K.
        dropout: fraction of the attention weights, and of the output of the LSTM or of the
            feed-forward networks, that is dropped in training.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: Keras' own.
        name: of the model; None: its kind.

    Returns:
        A functional `keras.Model`, ids (B, T) → logits (B, T, V) for the character after each. Its
        layer "decoder", `{"ids", "state"}` → `{"logits", "state", "weights"}`, goes on from a state
        such as `initial_state` makes; so a text may come at once, or one character at a time. The
        view `look_back` shows the attention weights.

    Raises:
        ValueError: there is no such kind, a size is not positive, the width of the Transformer is
            odd, or the dropout is not in [0, 1).

    References:
        Karpathy (2015), The unreasonable effectiveness of recurrent neural networks; Cheng, Dong,
        Lapata (2016), Long short-term memory-networks for machine reading, arXiv:1601.06733, for an
        LSTM that attends to its own past; Vaswani et al. (2017), arXiv:1706.03762; Mohamed,
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

    looks = _Looks(num_heads, key_dim, dropout, dtype)
    if kind == "transformer":
        decoder = _build_transformer(vocabulary_size, units, num_layers, looks)
    else:
        looks = looks if kind == "lstm_attention" else None
        decoder = _build_lstm(vocabulary_size, units, embedding, dropout, looks, dtype)
    ids = keras.Input((None,), dtype="int32", name="ids")
    outputs = decoder({"ids": ids, "state": initial_state(decoder, ids)})
    return keras.Model(ids, outputs["logits"], name=name or kind)


class _Looks(NamedTuple):
    """Looks back: the fields are those of `MultiHeadAttention`."""

    num_heads: int
    key_dim: int
    dropout: float
    dtype: Any

    def inputs(self, count, dtype):
        """Return the symbolic state of some attentions: keys and values of characters before."""
        shapes = {
            "keys": (self.num_heads, self.key_dim, None),
            "values": (self.num_heads, None, self.key_dim),
        }
        past = [
            {
                part: keras.Input(shape, dtype=dtype, name=f"{part}_{n}")
                for part, shape in shapes.items()
            }
            for n in range(1, count + 1)
        ]
        return {"past": past, "seen": keras.Input((), dtype="int32", name="seen")}

    def block(self, n):
        """Make the n-th block of attention."""
        return CausalSelfAttention(
            MultiHeadAttention(**self._asdict()),
            norm_first=True,
            name=f"self_attention_{n}",
            dtype=self.dtype,
        )


def _build_lstm(vocabulary_size, units, embedding, dropout, looks, dtype):
    """Ids (B, T) and state → logits (B, T, V), the next state, attention weights, if it looks."""
    # Inputs
    ids = keras.Input((None,), dtype="int32", name="ids")
    embed = layers.Embedding(vocabulary_size, embedding, name="embedding", dtype=dtype)
    state = looks.inputs(1, embed.compute_dtype) if looks else {}
    state["recurrent"] = [
        keras.Input((units,), dtype=embed.compute_dtype, name=part) for part in ("hidden", "carry")
    ]

    # Model
    lstm = layers.LSTM(units, return_sequences=True, return_state=True, name="lstm", dtype=dtype)
    x, *recurrent = lstm(embed(ids), initial_state=state["recurrent"])
    x = layers.Dropout(dropout, name="dropout", dtype=dtype)(x)
    after, weights = {"recurrent": recurrent}, {}
    if looks:
        x, weights["self_attention_1"], past = looks.block(1)(
            x, past=state["past"][0], seen=state["seen"]
        )
        after |= {"past": [past], "seen": _seen_after(state, ids)}
        x = layers.LayerNormalization(name="norm", dtype=dtype)(x)
    return _decoder(vocabulary_size, ids, state, x, after, weights, dtype)


def _build_transformer(vocabulary_size, units, num_layers, looks):
    """Ids (B, T) and state → logits (B, T, V), the next state, attention weights."""
    # Inputs
    ids = keras.Input((None,), dtype="int32", name="ids")
    # Of such a size that what a character is counts as much as where it stands
    normal = keras.initializers.RandomNormal(stddev=1.0)
    embed = layers.Embedding(vocabulary_size, units, normal, name="embedding", dtype=looks.dtype)
    state = looks.inputs(num_layers, embed.compute_dtype)
    state["recent"] = keras.Input((_TOGETHER - 1,), dtype="int32", name="recent")

    # Model
    read = ops.concatenate([state["recent"], ids], axis=1)
    x = layers.Conv1D(units, _TOGETHER, name="together", dtype=looks.dtype)(embed(read))
    x = SinusoidalPositions(name="positions", dtype=looks.dtype)(x, start=state["seen"])
    after = {"past": [], "recent": read[:, 1 - _TOGETHER :], "seen": _seen_after(state, ids)}
    weights = {}
    for n, past in enumerate(state["past"], start=1):
        x, weights[f"self_attention_{n}"], past = looks.block(n)(x, past=past, seen=state["seen"])
        after["past"].append(past)
        feed = FeedForward(
            4 * units, looks.dropout, norm_first=True, name=f"feed_forward_{n}", dtype=looks.dtype
        )
        x = feed(x)
    x = layers.LayerNormalization(name="norm", dtype=looks.dtype)(x)
    return _decoder(vocabulary_size, ids, state, x, after, weights, looks.dtype)


def _seen_after(state, ids):
    return state["seen"] + ops.sum(ops.ones_like(ids), axis=1)


def _decoder(vocabulary_size, ids, state, x, after, weights, dtype):
    """Make the model of its inputs and of what came of them, dictionaries in the order of keys."""
    logits = layers.Dense(vocabulary_size, name="logits", dtype=dtype)(x)
    return keras.Model(
        {"ids": ids, "state": dict(sorted(state.items()))},
        {"logits": logits, "state": dict(sorted(after.items())), "weights": weights},
        name="decoder",
    )


def initial_state(decoder, ids, room=0):
    """Return the state before the first character, symbolic or not.

    Args:
        decoder: the layer "decoder" of a character model.
        ids: (B, T), of which only B counts.
        room: places for the keys and values of the characters before; what is older is forgotten.
    """

    def nothing(tensor):
        sizes = [room if size is None else size for size in tensor.shape[1:]]
        zeros = ops.zeros_like(ids[:, 0], dtype=tensor.dtype)
        return ops.tile(ops.reshape(zeros, (-1, *(1 for _ in sizes))), (1, *sizes))

    return tree.map_structure(nothing, decoder.input["state"])


def look_back(model):
    """Return the view of a character model that shows where each character looked back to.

    Returns:
        A functional model, ids (B, T) → `{"logits": (B, T, V), "self_attention_n": (B, H, T, T)}`
        for each attention n; a model without one has the logits alone.
    """
    decoder = model.get_layer("decoder")
    outputs = decoder({"ids": model.input, "state": initial_state(decoder, model.input)})
    return keras.Model(
        model.input, {"logits": outputs["logits"], **outputs["weights"]}, name="look_back"
    )
