"""The Transformer of this package in CTranslate2: weights by `ctranslate2.specs`, and a decoder.

The same function: post-norm or pre-norm, Keras' ε of layer norm, the package's sinusoids, tied or
untied logits. CTranslate2 keeps a matrix as (output, input), Keras as (input, output).
"""

import json
from pathlib import Path

import numpy as np

from examples.benchmarks import machine

# CTranslate2 wants a word for each id; these are the package's, and no word is empty.
SPECIAL_WORDS = ["<blank>", "[UNK]", "[START]", "[END]"]


class Converter:
    """Loads a Transformer of this package, and writes it as CTranslate2 reads it."""

    def convert(self, run, folder):
        """Convert the run in a folder into another folder.

        Raises:
            ValueError: the model is no Transformer that CTranslate2 has.
        """
        from ctranslate2.specs import TransformerSpec

        from keras_attention.translator import Translator

        translator = Translator.load(run)
        encoder, decoder = (translator.model.get_layer(side) for side in ("encoder", "decoder"))
        blocks = [layer for layer in encoder.layers if layer.name.startswith("self_attention_")]
        if not blocks:
            raise ValueError(f"{run} holds no Transformer, CTranslate2 has no {run}")
        attention = blocks[0].attention
        width = blocks[0].norm.gamma.shape[0]
        if attention.num_heads * attention.key_dim != width:
            raise ValueError(
                f"in CTranslate2 the heads are together as wide as the model, {width}, got "
                f"{attention.num_heads} heads of {attention.key_dim}"
            )
        spec = TransformerSpec.from_config(
            len(blocks), attention.num_heads, pre_norm=blocks[0].norm_first
        )
        _encoder(spec.encoder, encoder, len(blocks), width)
        _decoder(spec.decoder, decoder, len(blocks), width)
        sides = (translator.context_vocabulary, translator.target_vocabulary)
        for register, vocabulary in zip(
            (spec.register_source_vocabulary, spec.register_target_vocabulary), sides, strict=True
        ):
            register(SPECIAL_WORDS + list(vocabulary.words[len(SPECIAL_WORDS) :]))
        spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = SPECIAL_WORDS[1:]
        spec.config.decoder_start_token = "[START]"
        spec.config.layer_norm_epsilon = blocks[0].norm.epsilon
        spec.validate()
        spec.optimize(quantization=None)
        folder = Path(folder)
        folder.mkdir(parents=True)
        spec.save(str(folder))
        words = [SPECIAL_WORDS + list(vocabulary.words[4:]) for vocabulary in sides]
        (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")


def _encoder(spec, encoder, num_layers, width):
    spec.scale_embeddings = _scaled(encoder)
    spec.embeddings[0].weight = _array(encoder.get_layer("context_embedding").embeddings)
    spec.position_encodings.encodings = _positions(encoder, "context", width)
    for number, layer in enumerate(spec.layer, start=1):
        _attention(layer.self_attention, encoder.get_layer(f"self_attention_{number}"), own=True)
        _feed_forward(layer.ffn, encoder.get_layer(f"feed_forward_{number}"))
    if len(spec.layer) != num_layers:
        raise ValueError(f"expected {num_layers} layers, got {len(spec.layer)}")
    if spec.pre_norm:
        _norm(spec.layer_norm, encoder.get_layer("context_norm"))


def _decoder(spec, decoder, num_layers, width):
    embedding = decoder.get_layer("target_embedding")
    spec.scale_embeddings = _scaled(decoder)
    spec.embeddings.weight = _array(embedding.embeddings)
    spec.position_encodings.encodings = _positions(decoder, "target", width)
    names = {layer.name for layer in decoder.layers}
    if "logits" in names:
        _linear(spec.projection, [decoder.get_layer("logits")])
    else:
        spec.projection.weight = _array(embedding.embeddings)
    for number in range(1, num_layers + 1):
        layer = spec.layer[number - 1]
        _attention(layer.self_attention, decoder.get_layer(f"self_attention_{number}"), own=True)
        _attention(layer.attention, decoder.get_layer(f"cross_attention_{number}"), own=False)
        _feed_forward(layer.ffn, decoder.get_layer(f"feed_forward_{number}"))
    if spec.pre_norm:
        _norm(spec.layer_norm, decoder.get_layer("target_norm"))


def _attention(spec, block, own):
    """Copy an attention; to its own sentence, or to the memory."""
    query, key, value, output = (
        _dense_of(block.attention.projections, name)
        for name in ("query", "key", "value", "attention_output")
    )
    groups = [[query, key, value], [output]] if own else [[query], [key, value], [output]]
    for linear, parts in zip(spec.linear, groups, strict=True):
        linear.weight = np.concatenate([weight for weight, _ in parts])
        linear.bias = np.concatenate([bias for _, bias in parts])
    _norm(spec.layer_norm, block.norm)


def _dense_of(projections, name):
    """Return weight (output, input) and bias (output,) of one of Keras' projections."""
    by_path = {"/".join(w.path.split("/")[-2:]): _array(w) for w in projections.weights}
    kernel, bias = by_path[f"{name}/kernel"], by_path[f"{name}/bias"].reshape(-1)
    # (D, H, K) of what comes in, (H, K, D) of what goes out
    return np.ascontiguousarray(kernel.reshape(-1, len(bias)).T), bias


def _feed_forward(spec, block):
    _linear(spec.linear_0, [block.widen])
    _linear(spec.linear_1, [block.narrow])
    _norm(spec.layer_norm, block.norm)


def _linear(spec, layers):
    spec.weight = np.concatenate([np.ascontiguousarray(_array(each.kernel).T) for each in layers])
    spec.bias = np.concatenate([_array(each.bias) for each in layers])


def _norm(spec, norm):
    spec.gamma, spec.beta = _array(norm.gamma), _array(norm.beta)


def _scaled(model):
    return any("_scale" in layer.name for layer in model.layers)


def _positions(model, side, width, most=1024):
    """Return what the model's own layer adds to each position, (positions, D)."""
    layer = model.get_layer(f"{side}_positions")
    most = min(most, getattr(layer, "length", most))
    return _array(layer(np.zeros((1, most, width), dtype="float32")))[0]


def _array(tensor):
    import keras

    return np.asarray(keras.ops.convert_to_numpy(tensor), dtype="float32")


class CTranslate2:
    """Decodes with a converted model; on a GPU where CTranslate2 has one.

    Args:
        folder: what `Converter` wrote.
        compute_type: `"float32"` or `"int8"`.
        sentences: ids (N, S).
    """

    def __init__(self, folder, compute_type, sentences):
        import ctranslate2

        self.translator = ctranslate2.Translator(
            str(folder),
            device="cuda" if ctranslate2.get_cuda_device_count() > 0 else "cpu",
            compute_type=compute_type,
            inter_threads=1,
            intra_threads=machine.cores(),
        )
        source, self.target = json.loads((Path(folder) / "words.json").read_text("utf-8"))
        self.ids = {word: number for number, word in enumerate(self.target)}
        self.sentences = [[source[number] for number in row if number] for row in sentences]

    def device(self):
        """Return the name of the device that it computes on."""
        return self.translator.device

    def decode(self, rows, batch_size, beam, max_length):
        """Translate some sentences, in batches of so many: ids of each, without the end.

        Args:
            rows: how many of the sentences; the first ones.
            batch_size: sentences a batch; 1: each by a call of its own; None: CTranslate2 chooses
                what goes together, at most 64 at a time.
            beam: 1 is greedy.
            max_length: most tokens of a translation, the end included.
        """
        options = {
            "beam_size": beam,
            "max_decoding_length": max_length,
            "length_penalty": 0,
            "suppress_sequences": [[SPECIAL_WORDS[0]], [SPECIAL_WORDS[2]]],
        }
        sentences = self.sentences[:rows]
        if batch_size == 1:
            results = [self.translator.translate_batch([each], **options)[0] for each in sentences]
        else:
            most = batch_size or 64
            results = self.translator.translate_batch(sentences, max_batch_size=most, **options)
        return [[self.ids[word] for word in each.hypotheses[0]] for each in results]
