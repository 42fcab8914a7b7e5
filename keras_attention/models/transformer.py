"""The Transformer of Vaswani et al. (2017), as in the TensorFlow tutorial "transformer".

context ids → embedding + positions → N × encoder layer ──┐ memory
target ids  → embedding + positions → N × decoder layer ◄─┘ → logits
              encoder layer = global self-attention → feed-forward
              decoder layer = causal self-attention → cross-attention → feed-forward
"""

from collections.abc import Mapping
from typing import Any

import keras
from keras import layers

from keras_attention.layers import (
    PositionalEmbedding,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from keras_attention.layers.base import Memory
from keras_attention.layers.layer_norm import LayerNormalization
from keras_attention.models.caches import (
    cache_inputs,
    cached_layers,
    next_position,
    of_the_same_tokens,
)
from keras_attention.models.encoder_decoder import check_sizes, inputs_like, join
from keras_attention.ops import padding_mask
from keras_attention.types import Array


def build_transformer(
    context_vocabulary_size: int = 8000,
    target_vocabulary_size: int = 8000,
    units: int = 128,
    num_layers: int = 4,
    num_heads: int = 8,
    feed_forward_dim: int = 512,
    key_dim: int | None = None,
    num_decoder_layers: int | None = None,
    dropout: float = 0.1,
    positions: str = "concatenated",
    max_positions: int = 128,
    scale_embedding: bool = True,
    tied: bool = False,
    norm_first: bool = False,
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "transformer",
) -> keras.Model:
    """Build an encoder-decoder of attention alone, with the sizes of the TensorFlow tutorial.

    Our names / the paper's: `units`, D / d_model; `num_layers` / N; `num_heads` / h;
    `feed_forward_dim` / d_ff; `key_dim` / d_k.

    Args:
        context_vocabulary_size: number of context ids; 0 is padding.
        target_vocabulary_size: number of target ids, V; 0 is padding.
        units: width of the model, D.
        num_layers: layers of the encoder.
        num_heads: heads of each attention, H.
        feed_forward_dim: hidden width of the feed-forward networks.
        key_dim: depth of a head, K. None: D / H, as in the paper. The tutorial uses D, which makes
            its attention eight times as wide.
        num_decoder_layers: layers of the decoder; None: as many as the encoder has. A deep encoder
            with a shallow decoder is about as good and decodes faster (Kasai et al. 2021).
        dropout: fraction dropped in training, of the embedded tokens, of the attention weights, and
            of the outputs of the feed-forward networks.
        positions: `"concatenated"`, the sinusoids in the tutorial's order; `"interleaved"`, in the
            paper's order; or `"learned"`.
        max_positions: number of learned positions; no sentence may have more tokens, including
            padding.
        scale_embedding: whether to multiply embedded tokens by √D.
        tied: whether the target embedding also computes the logits, section 3.4 of the paper, in
            place of a separate dense layer. Both embeddings then start as normal numbers of
            variance 1 / D, in place of Keras' smaller default.
        norm_first: pre-norm, x + f(LayerNorm(x)), with a final norm in encoder and decoder;
            otherwise post-norm, LayerNorm(x + f(x)).
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.

    Returns:
        A functional `keras.Model`: `{"context": ids (B, S), "target": ids (B, T)}` → logits
        (B, T, V), with the layers "encoder" and "decoder" like every model of the package. The view
        `attention` shows the weights of every layer and head: lists of
        `"encoder_self_attention"` (B, H, S, S), `"decoder_self_attention"` (B, H, T, T) and
        `"cross_attention"` (B, H, T, S). The state that `step` carries is a list of caches.

    Raises:
        ValueError: a size is not positive, the width is odd or not a multiple of the number of
            heads, the kind of positions is unknown, or the dropout is not in [0, 1).

    References:
        Vaswani et al. (2017), Attention is all you need, arXiv:1706.03762;
        https://www.tensorflow.org/text/tutorials/transformer. Kasai et al. (2021), Deep encoder,
        shallow decoder, arXiv:2006.10369.
    """
    num_decoder_layers = num_layers if num_decoder_layers is None else num_decoder_layers
    check_sizes(
        context_vocabulary_size=context_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        units=units,
        num_layers=num_layers,
        num_decoder_layers=num_decoder_layers,
        num_heads=num_heads,
        feed_forward_dim=feed_forward_dim,
        max_positions=max_positions,
    )
    if key_dim is None and units % num_heads:
        raise ValueError(
            "units must be a multiple of num_heads unless key_dim is given, got "
            f"{units} units for {num_heads} heads"
        )
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
    key_dim = units // num_heads if key_dim is None else key_dim

    # Layers
    def embedding(vocabulary_size, name):
        normal = keras.initializers.RandomNormal(stddev=units**-0.5)  # so that logits are near 1
        return PositionalEmbedding(
            vocabulary_size,
            units,
            positions,
            max_positions,
            scale_embedding,
            dropout,
            embeddings_initializer=normal if tied else "uniform",
            name=name,
            dtype=dtype,
        )

    block: dict[str, Any] = {
        "num_heads": num_heads,
        "key_dim": key_dim,
        "feed_forward_dim": feed_forward_dim,
        "dropout": dropout,
        "norm_first": norm_first,
        "dtype": dtype,
    }

    def layers_of(kind, name, count):
        return [kind(**block, name=f"{name}_{n}") for n in range(1, count + 1)]

    embed_context = embedding(context_vocabulary_size, "context_embedding")
    embed_target = embedding(target_vocabulary_size, "target_embedding")
    encoder_layers = layers_of(TransformerEncoderLayer, "encoder_layer", num_layers)
    decoder_layers = layers_of(TransformerDecoderLayer, "decoder_layer", num_decoder_layers)
    if norm_first:
        decoder_layers.append(LayerNormalization(name="decoder_norm", dtype=dtype))
    if not tied:
        decoder_layers.append(layers.Dense(target_vocabulary_size, name="logits", dtype=dtype))

    # Encoder
    context = keras.Input((None,), dtype="int32", name="context")
    mask = padding_mask(context)
    x, own = embed_context(context), []
    for layer in encoder_layers:
        x, attended = layer(x, attention_mask=mask, return_attention_scores=True)
        own.append(attended)
    x = LayerNormalization(name="encoder_norm", dtype=dtype)(x) if norm_first else x
    memory = {"mask": mask, "values": x}
    weights = {"encoder_self_attention": own}
    encoder = keras.Model(
        context, {"memory": memory, "state": [], "weights": weights}, name="encoder"
    )

    # Decoder
    decoder = _build_decoder([embed_target, *decoder_layers], memory)
    return join(encoder, decoder, name)


def decoder_with_caches(decoder: keras.Model) -> keras.Model:
    """Return the view of a Transformer's decoder that takes its target in parts, such as one token.

    Its memory is what `ProjectedMemory` returns. Its state is a list of `KVCache`, one per decoder
    layer, for the previous tokens.
    """
    stack = [layer for layer in decoder.layers if not isinstance(layer, layers.InputLayer)]
    memory = ProjectedMemory(decoder)(decoder.input["memory"])
    return _build_decoder(stack, memory, cache_inputs(cached_layers(decoder), None))


class ProjectedMemory(layers.Layer):
    """Project what the encoder returns for every decoder layer, once for all tokens of a target.

    Args:
        decoder: the layer "decoder" of a Transformer.

    Call arguments:
        memory: mask (B, S) and values (B, S, D).

    Returns:
        The mask; lists of keys (B, H, K, S) and values (B, H, S, V), one per decoder layer.
    """

    def __init__(self, decoder: keras.Model):
        super().__init__(autocast=False)  # each layer computes in its own dtype
        self.layers = cached_layers(decoder)
        self.built = True

    def call(self, memory: Mapping[str, Array]) -> dict[str, Any]:
        each = [layer.project_memory(memory["values"]) for layer in self.layers]
        return self._returned(memory["mask"], each)

    def compute_output_spec(self, memory: Mapping[str, Array]) -> dict[str, Any]:
        each = [layer.symbolic_memory(memory["values"]) for layer in self.layers]
        return self._returned(keras.KerasTensor(memory["mask"].shape, "bool"), each)

    def _returned(self, mask, memories):
        return {
            "keys": [each.keys for each in memories],
            "mask": mask,
            "values": [each.values for each in memories],
        }


def _build_decoder(stack, memory, caches=()):
    """Ids (B, T) and the memory → logits (B, T, V), attention weights, the next caches.

    Args:
        stack: the embedding, N decoder layers, and the layers that follow them.
        memory: symbolic mask (B, S) and values (B, S, D); or, with caches, what
            `ProjectedMemory` returns. The decoder's inputs have their shapes.
        caches: symbolic caches, one per decoder layer, if the target comes in parts.
    """
    target = keras.Input((None,), dtype="int32", name="target")
    memory = inputs_like(memory)
    if caches:
        pairs = zip(memory["keys"], memory["values"], strict=True)
        memories = [Memory(keys, values, None) for keys, values in pairs]
    else:
        memories = [memory["values"]] * len(stack)
    embed, *stack = stack
    x = embed(target, start=next_position(caches))
    before, memories = iter(of_the_same_tokens(caches)), iter(memories)
    after, cross, own = [], [], []
    for layer in stack:
        if isinstance(layer, TransformerDecoderLayer):
            x, attended, cache = layer(
                x,
                next(memories),
                attention_mask=memory["mask"],
                cache=next(before, None),
                return_attention_scores=True,
                return_cache=True,
            )
            cross.append(attended["cross_attention"])
            own.append(attended["self_attention"])
            after.append(cache)
        else:
            x = layer(x)
    tied = stack[-1].name != "logits"
    return keras.Model(
        {"memory": memory, "state": list(caches), "target": target},
        {
            "logits": embed(x, reverse=True) if tied else x,
            "state": after,
            "weights": {"cross_attention": cross, "decoder_self_attention": own},
        },
        name="decoder",
    )
