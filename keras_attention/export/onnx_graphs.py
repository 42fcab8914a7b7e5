"""ONNX: `encode.onnx` reads a sentence, `step.onnx` writes tokens, `config.json` connects them.

    encode   context (B, S) → memory…, state…
    step     tokens (B, T), memory…, state… → logits (B, T, V), weights… (B, [H,] T, S), next_state…

Translate ids (B, S) greedily; each row is `[START]`, tokens, `[END]`, then 0:

    config = json.loads((folder / "config.json").read_text())
    encode, step = (onnxruntime.InferenceSession(folder / f"{n}.onnx") for n in ("encode", "step"))
    given = dict(zip(config["encode"]["outputs"], encode.run(None, {"context": ids})))
    tokens = [np.full((len(ids), 1), config["ids"]["start"], "int32")]
    for _ in range(config["max_length"]):
        feed = {"tokens": tokens[-1], **given}
        wanted = ["logits", *config["step"]["state"].values()]
        logits, *state = step.run(wanted, {n: feed[n] for n in config["step"]["inputs"]})
        logits[..., [config["ids"]["padding"], config["ids"]["start"]]] = -np.inf
        tokens.append(logits.argmax(-1).astype("int32"))
        given |= zip(config["step"]["state"], state)

A translation ends at its first `[END]`. `step.onnx` also takes several tokens at once, as long as
the caches of a Transformer have enough slots. The vocabularies list one token per line.
"""

import json
from pathlib import Path

from keras import tree

from keras_attention import __version__, models
from keras_attention.decoding import check_options
from keras_attention.export.formats import check_backend
from keras_attention.text import END, PADDING, START, UNKNOWN
from keras_attention.translation.folders import CONFIG_FILE, CONTEXT_FILE, TARGET_FILE
from keras_attention.translation.translator import Translator

OPSET = 17
# Of tf2onnx, but not `BackToBackOptimizer`: of two `Reshape`s in a row it drops the first, although
# a 0 in the shape of the second stands for a dimension of the first, as it does for a single head.
OPTIMIZERS = ("Transpose", "ConstFold", "Loop", "MergeDuplicatedNodes", "Identity")


def write_onnx(translator: Translator, folder: Path | str, *, max_length: int = 50) -> None:
    """Write the graphs, the vocabularies and their configuration.

    Args:
        translator: a `Translator`.
        folder: the folder to create.
        max_length: maximum number of tokens in a translation; a Transformer's caches have that many
            slots.

    Raises:
        ValueError: an option is out of range, the model does not compute in float32, or the
            backend is not TensorFlow.
        ImportError: tf2onnx or onnx is not installed.
    """
    check_options(max_length=max_length)
    check_backend("onnx")
    model, folder = translator.model, Path(folder)
    encode, decoder = models.encode(model, slots=max_length), models.step(model).decoder
    carried = {part: encode.output[part] for part in ("memory", "state")}
    names = ["_".join(map(str, path)) for path, _ in tree.flatten_with_path(carried)]
    specs = [_spec(name, tensor) for name, tensor in zip(names, tree.flatten(carried), strict=True)]
    tokens = [_spec(name, decoder.input["target"]) for name in ("context", "tokens")]

    def encode_flat(context):
        encoded = encode(context, training=False)
        tensors = tree.flatten({part: encoded[part] for part in carried})
        return dict(zip(names, tensors, strict=True))

    def step_flat(tokens, *given):
        given = tree.pack_sequence_as(carried, given)
        outputs = decoder({**given, "target": tokens}, training=False)
        state = zip(_of_state(names), tree.flatten(outputs["state"]), strict=True)
        after = {f"next_{name}": tensor for name, tensor in state}
        weights = {
            f"{kind}_{n}": each
            for kind, layers in outputs["weights"].items()
            for n, each in enumerate(layers, start=1)
        }
        return {"logits": outputs["logits"], **weights, **after}

    folder.mkdir(parents=True)
    config = {
        "keras_attention": __version__,
        "model": model.name,
        "tokens": translator.context_vocabulary.kind,
        "max_length": max_length,
        "ids": {"padding": PADDING, "unknown": UNKNOWN, "start": START, "end": END},
        "vocabularies": {"context": CONTEXT_FILE, "target": TARGET_FILE},
        "encode": _convert(encode_flat, tokens[:1], folder / "encode.onnx"),
        "step": {
            **_convert(step_flat, [tokens[1], *specs], folder / "step.onnx"),
            "state": {name: f"next_{name}" for name in _of_state(names)},
        },
    }
    translator.context_vocabulary.save(folder / CONTEXT_FILE)
    translator.target_vocabulary.save(folder / TARGET_FILE)
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")


def _of_state(names):
    return [name for name in names if name.startswith("state")]


def _spec(name, tensor):
    """Describe an input with the shape and dtype of a symbolic tensor."""
    import tensorflow as tf

    if tensor.dtype not in ("float32", "int32", "bool"):
        raise ValueError(
            f"onnx needs models that compute in float32, got {tensor.dtype} for {name}: train "
            "with --dtype-policy float32"
        )
    return tf.TensorSpec(tensor.shape, tensor.dtype, name=name)


def _convert(function, specs, path):
    """Convert a function that returns a dictionary of tensors; return the names in the graph."""
    import tensorflow as tf
    from tf2onnx import optimizer, tf_loader, tfonnx

    traced = tf.function(function, input_signature=specs, autograph=False).get_concrete_function()
    given = traced.inputs[: len(specs)]  # the others are weights
    inputs = {tensor.name: spec.name for tensor, spec in zip(given, specs, strict=True)}
    outputs = {tensor.name: name for name, tensor in traced.structured_outputs.items()}
    frozen = tf_loader.from_function(traced, list(inputs), list(outputs))
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        converted = tfonnx.process_tf_graph(
            graph,
            opset=OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            tensors_to_rename=inputs | outputs,
        )
    optimizers = {name: getattr(optimizer, f"{name}Optimizer") for name in OPTIMIZERS}
    converted = optimizer.optimize_graph(converted, optimizers=optimizers)
    model = converted.make_model(path.stem)
    path.write_bytes(model.SerializeToString())
    return {
        "inputs": [each.name for each in model.graph.input],
        "outputs": [each.name for each in model.graph.output],
    }
