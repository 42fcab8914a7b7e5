"""CTranslate2: a Transformer's weights by `ctranslate2.specs`, tokens in and tokens out.

The exported model computes the same function: post-norm or pre-norm, Keras' ε of layer norm, the
package's sinusoids, tied or untied logits. CTranslate2 stores a matrix as (output, input), Keras as
(input, output).
"""

from pathlib import Path

import numpy as np

from keras_attention.graphs.transformer import layers_of
from keras_attention.layers import TransformerDecoderLayer, TransformerEncoderLayer
from keras_attention.text import END, SPECIAL_WORDS, START, UNKNOWN
from keras_attention.translation.folders import CONTEXT_FILE, TARGET_FILE
from keras_attention.translation.translator import Translator

_BLANK = "<blank>"  # CTranslate2 needs a word for each id, none of them empty
_MOST_POSITIONS = 1024  # the longest sentence of CTranslate2


def write_ctranslate2(translator: Translator, folder: Path | str) -> None:
    """Write a folder that `ctranslate2.Translator(folder)` loads.

    It takes sentences as lists of tokens, and adds `[START]` and `[END]` itself:

        spanish = WordPieces.load("casa/context_vocabulary.txt")
        tokens = [piece for piece, _ in spanish.tokenize(["¿Todavía están en casa?"])[0]]
        found = ctranslate2.Translator("casa").translate_batch([tokens])[0].hypotheses[0]
        WordPieces.load("casa/target_vocabulary.txt").join(found)

    This package never writes padding or `[START]`. To exclude them in CTranslate2 as well, pass
    `suppress_sequences=[["<blank>"], ["[START]"]]`; a trained model does not write them.

    With `return_attention=True`, CTranslate2 hands out the attention of one head: the one that the
    configuration of the translator names as `alignment_head` (`attributions.aligned_head` finds
    it), else the first of the last layer. Its columns are the tokens given. If it is `fed`, the row
    of a token is the next one.

    Args:
        translator: a `Translator` with a Transformer.
        folder: the folder to create.

    Raises:
        ValueError: the model is not a Transformer that CTranslate2 supports.
    """
    from ctranslate2.specs import TransformerSpec

    encoder, decoder = (translator.model.get_layer(side) for side in ("encoder", "decoder"))
    blocks = layers_of(encoder, TransformerEncoderLayer)
    if not blocks:
        raise ValueError(f"ctranslate2 needs a Transformer, got {translator.model.name}")
    first, width = blocks[0], encoder.get_layer("context_embedding").width
    if first.num_heads * first.key_dim != width:
        raise ValueError(
            f"for CTranslate2 num_heads · key_dim must be the width of the model, {width}, got "
            f"{first.num_heads} heads of {first.key_dim}"
        )
    depths = len(blocks), len(layers_of(decoder, TransformerDecoderLayer))
    chosen = {"layer": depths[1], "head": 1, **translator.config.get("alignment_head", {})}
    for part, most in (("layer", depths[1]), ("head", first.num_heads)):
        if chosen[part] not in range(1, most + 1):
            raise ValueError(
                f"alignment_head in the configuration names {part} {chosen[part]!r}, "
                f"but the decoder has {part}s 1 to {most}"
            )
    spec = TransformerSpec.from_config(
        depths,
        first.num_heads,
        pre_norm=first.norm_first,
        alignment_layer=chosen["layer"] - 1,
        alignment_heads=1,
    )
    _encoder(spec.encoder, encoder)
    _decoder(spec.decoder, decoder, chosen)
    sides = (translator.context_vocabulary, translator.target_vocabulary)
    spec.register_source_vocabulary([_BLANK, *sides[0].words[1:]])
    spec.register_target_vocabulary([_BLANK, *sides[1].words[1:]])
    spec.config.unk_token = SPECIAL_WORDS[UNKNOWN]
    spec.config.bos_token = spec.config.decoder_start_token = SPECIAL_WORDS[START]
    spec.config.eos_token = SPECIAL_WORDS[END]
    spec.config.add_source_bos = spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = first.feed_forward.norm.epsilon
    spec.validate()
    spec.optimize(quantization=None)
    folder = Path(folder)
    folder.mkdir(parents=True)
    spec.save(str(folder))
    for vocabulary, name in zip(sides, (CONTEXT_FILE, TARGET_FILE), strict=True):
        vocabulary.save(folder / name)


def _encoder(spec, encoder):
    _embedding(spec, spec.embeddings[0], encoder.get_layer("context_embedding"))
    for number, layer in enumerate(spec.layer, start=1):
        block = encoder.get_layer(f"encoder_layer_{number}")
        _attention(layer.self_attention, block.self_attention, own=True)
        _feed_forward(layer.ffn, block.feed_forward)
    if spec.pre_norm:
        _norm(spec.layer_norm, encoder.get_layer("encoder_norm"))


def _decoder(spec, decoder, chosen):
    embedding = decoder.get_layer("target_embedding")
    _embedding(spec, spec.embeddings, embedding)
    if "logits" in {layer.name for layer in decoder.layers}:
        _linear(spec.projection, decoder.get_layer("logits"))
    else:
        spec.projection.weight = _array(embedding.embedding.embeddings)
    for number, layer in enumerate(spec.layer, start=1):
        block = decoder.get_layer(f"decoder_layer_{number}")
        _attention(layer.self_attention, block.self_attention, own=True)
        # CTranslate2 hands out the first heads of the layer.
        first = chosen["head"] if number == chosen["layer"] else 1
        _attention(layer.attention, block.cross_attention, own=False, first=first)
        _feed_forward(layer.ffn, block.feed_forward)
    if spec.pre_norm:
        _norm(spec.layer_norm, decoder.get_layer("decoder_norm"))


def _embedding(spec, weights, layer):
    spec.scale_embeddings = layer.scale
    weights.weight = _array(layer.embedding.embeddings)
    # The position encodings, (positions, D)
    most = _MOST_POSITIONS
    most = min(most, layer.max_positions) if layer.positions == "learned" else most
    nothing = np.zeros((1, most, layer.width), dtype="float32")
    spec.position_encodings.encodings = _array(layer.add_positions(nothing))[0]


def _attention(spec, block, own, first=1):
    """Copy a self-attention (`own`) or a cross-attention, with one of its heads as the first."""
    query, key, value, output = (
        _dense_of(block.attention, name, first)
        for name in ("query", "key", "value", "attention_output")
    )
    groups = [[query, key, value], [output]] if own else [[query], [key, value], [output]]
    for linear, parts in zip(spec.linear, groups, strict=True):
        linear.weight = np.concatenate([weight for weight, _ in parts])
        linear.bias = np.concatenate([bias for _, bias in parts])
    _norm(spec.layer_norm, block.norm)


def _dense_of(attention, name, first):
    """Return weight (output, input) and bias (output,) of one of the projections."""
    by_path = {"/".join(w.path.split("/")[-2:]): _array(w) for w in attention.weights}
    kernel, bias = by_path[f"{name}/kernel"], by_path[f"{name}/bias"]
    # Input projections are (D, H, K) with biases (H, K), the output projection is (H, K, D).
    is_output = bias.ndim == 1
    kernel = _with_first(kernel, first, axis=0 if is_output else 1)
    bias = bias if is_output else _with_first(bias, first, axis=0).reshape(-1)
    return np.ascontiguousarray(kernel.reshape(-1, len(bias)).T), bias


def _with_first(array, first, axis):
    """Exchange the first head with another, counted from 1."""
    order = np.arange(array.shape[axis])
    order[[0, first - 1]] = order[[first - 1, 0]]
    return np.take(array, order, axis=axis)


def _feed_forward(spec, block):
    _linear(spec.linear_0, block.widen)
    _linear(spec.linear_1, block.narrow)
    _norm(spec.layer_norm, block.norm)


def _linear(spec, layer):
    spec.weight = np.ascontiguousarray(_array(layer.kernel).T)
    spec.bias = _array(layer.bias)


def _norm(spec, norm):
    spec.gamma, spec.beta = _array(norm.gamma), _array(norm.beta)


def _array(tensor):
    import keras

    return np.asarray(keras.ops.convert_to_numpy(tensor), dtype="float32")
