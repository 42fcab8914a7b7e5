"""Every layer at work: where the models of the tasks look once they have learned."""

import inspect

import keras
import numpy as np
from keras import ops

from examples.mechanisms.task import trained
from keras_attention import layers
from keras_attention.plotting import plot_attention, plot_attention_grid

ASKED = 8  # examples that make the rows where each asks a single question
MOST_PLACES = 32  # of a memory that are drawn


def draw(tasks, folder, progress=iter):
    """Train every task once, and draw a picture of each layer that looks, the first time it does.

    Args:
        tasks: `Task`s.
        folder: where `LAYER.png` go.
        progress: wraps the sequence of tasks.

    Returns:
        What each picture shows, by the name of the layer.
    """
    captions = {}
    folder.mkdir(parents=True, exist_ok=True)
    for task in progress(list(tasks)):
        keras.utils.set_random_seed(0)
        model = trained(task, with_mechanism=True, seed=0)
        inputs, _ = task.data(np.random.default_rng(7), ASKED)
        for name, weights in weights_of(model, inputs).items():
            if name not in captions:
                _draw(weights, folder / f"{name}.png")
                captions[name] = _caption(task, weights)
    return captions


def weights_of(model, inputs):
    """Return the weights of every layer of the package in a model, by the name of its class.

    Args:
        model: a functional model whose layers return weights if they are asked to.
        inputs: arrays by name.

    Returns:
        Arrays (B, T, S) or (B, H, T, S).
    """
    found = {}

    def call(layer, *arguments, **options):
        if not _looks(layer):
            return layer(*arguments, **options)
        asked = bool(options.pop("return_attention_scores", False))
        output, weights, *rest = layer(*arguments, **options, return_attention_scores=True)
        # A layer that finds more has the weights first, in a tuple or by name.
        found.setdefault(type(layer).__name__, _first(weights))
        return (output, weights, *rest) if asked else output

    # Layers of their own, since Keras refuses one that is called with and without weights; and no
    # loss, which may be a function that cannot be copied.
    uncompiled = keras.Model(model.inputs, model.outputs)
    clone = keras.models.clone_model(uncompiled, call_function=call)
    if not found:
        return {}
    for layer in clone.layers:
        layer.set_weights(model.get_layer(layer.name).get_weights())
    tensors = [ops.convert_to_tensor(inputs[tensor.name]) for tensor in model.inputs]
    shown = keras.Model(clone.inputs, found)(tensors, training=False)
    return {name: _rows_first(ops.convert_to_numpy(weights)) for name, weights in shown.items()}


def _looks(layer):
    """Tell whether a layer of the package says where it looks."""
    is_ours = type(layer).__name__ in layers.__all__
    return is_ours and "return_attention_scores" in inspect.signature(layer.call).parameters


def _first(weights):
    if isinstance(weights, dict):
        return _first(weights[next(iter(weights))])
    return _first(weights[0]) if isinstance(weights, tuple | list) else weights


def _rows_first(weights):
    """Return weights as (…, T, S): those of a lone query are a column, (B, S, 1)."""
    return weights.swapaxes(-1, -2) if weights.shape[-1] == 1 else weights


def _draw(weights, path):
    """Draw one example, or the only question of several of them; a panel for each head."""
    heads = weights if weights.ndim == 4 else weights[:, None]  # (B, H, T, S)
    heads = heads[..., :MOST_PLACES]
    panels = heads[:, :, 0].swapaxes(0, 1) if heads.shape[2] == 1 else heads[0]
    queries, places = (list(map(str, range(1, count + 1))) for count in panels.shape[1:])
    names = ("example" if heads.shape[2] == 1 else "query", "place in the memory")
    options = {"axis_names": names, "path": path}
    if len(panels) == 1:
        plot_attention(panels[0], places, queries, **options)
    else:
        panels = {f"head {number}": panel for number, panel in enumerate(panels, start=1)}
        plot_attention_grid(panels, places, queries, **options)


def _caption(task, weights):
    """Say what a picture shows, in two sentences."""
    rows = "A row is an example" if weights.shape[-2] == 1 else "A row is a query"
    when = f"after {task.steps:,} steps" if task.steps else "with nothing to learn"
    return f"{task.why} {rows}, a column a place in the memory, {when}."
