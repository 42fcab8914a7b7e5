"""Every layer at work: where the models of the tasks look once they have learned.

And what the parts do that look at nothing: positions, and the network of each position.
"""

import inspect

import keras
import numpy as np
from keras import ops

from examples.mechanisms.task import trained
from keras_attention import layers
from keras_attention.plotting import plot_attention, plot_attention_grid, plot_positions
from keras_attention.plotting.figures import new_figure, save

ASKED = 8  # examples that make the rows where each asks a single question
MOST_PLACES = 32  # of a memory that are drawn


def draw(tasks, folder, progress=iter):
    """Train every task once, and draw a picture of each layer, the first time that it is there.

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
        inputs, _ = task.data(np.random.default_rng([7, *task.mechanism.encode()]), ASKED)
        for name, weights in weights_of(model, inputs).items():
            if name not in captions:
                found = task.answers(inputs) if task.answers else None
                _draw(weights, found, folder / f"{name}.png")
                captions[name] = _caption(task, _of_weights(weights, found))
        if task.mechanism in _PARTS:
            part = next(each for each in model.layers if type(each).__name__ == task.mechanism)
            shown = _PARTS[task.mechanism](model, part, inputs, folder / f"{task.mechanism}.png")
            captions[task.mechanism] = _caption(task, shown, learns=bool(part.weights))
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
        asked = options.get("return_attention_scores") or options.get("return_distribution")
        options["return_attention_scores"] = True
        output, weights, *rest = layer(*arguments, **options)
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


def _draw(weights, found, path):
    """Draw one example, or the only question of several of them; a panel for each head.

    The answers, booleans (B, T, S) or None, are outlined.
    """
    heads = weights if weights.ndim == 4 else weights[:, None]  # (B, H, T, S)
    heads = heads[..., :MOST_PLACES]
    asks_once = heads.shape[2] == 1
    panels = heads[:, :, 0].swapaxes(0, 1) if asks_once else heads[0]
    queries, places = (list(map(str, range(1, count + 1))) for count in panels.shape[1:])
    names = ("example" if asks_once else "query", "place in the memory")
    options = {"axis_names": names, "path": path}
    if found is not None:
        rows = found.any(axis=1) if asks_once else found[0]
        links = [(place, row) for row, place in np.argwhere(rows[..., :MOST_PLACES]).tolist()]
        options |= {"links": links, "outlined": "the answer"}
    if len(panels) == 1:
        plot_attention(panels[0], places, queries, **options)
    else:
        panels = {f"head {number}": panel for number, panel in enumerate(panels, start=1)}
        plot_attention_grid(panels, places, queries, **options)


def _of_weights(weights, found):
    """Say what the rows, the columns and the outlines are."""
    rows = "A row is an example" if weights.shape[-2] == 1 else "A row is a query"
    outlined = "" if found is None else "; outlined: where the answer stands"
    return f"{rows}, a column a place in the memory{outlined}"


def _caption(task, shown, learns=True):
    """Say why the task needs the layer, and what its picture shows."""
    when = f"after {task.steps:,} steps" if task.steps and learns else "with nothing to learn"
    return f"{task.why} {shown}, {when}."


def _draw_positions(model, layer, inputs, path):
    """Draw what is added at each position of a sentence; return what one sees."""
    del model
    length = next(iter(inputs.values())).shape[1]
    plot_positions(ops.convert_to_numpy(layer.encode(ops.arange(length)[None]))[0], path=path)
    return "Left what is added at each position, right how alike any two of them are"


def _draw_hidden_units(model, layer, inputs, path):
    """Draw which hidden units each token of an example sets to work; return what one sees."""
    tensors = [ops.convert_to_tensor(inputs[tensor.name]) for tensor in model.inputs]
    x = keras.Model(model.inputs, layer.input)(tensors, training=False)
    units = ops.convert_to_numpy(layer.widen(layer.before(x)))[0]  # (T, hidden)
    figure = new_figure((8, 2.6), path)
    axes = figure.subplots()
    drawn = axes.imshow(units, cmap="Blues", vmin=0, aspect="auto")
    axes.set(xlabel="hidden unit", ylabel="token")
    axes.set_yticks(range(len(units)), range(1, len(units) + 1))
    figure.colorbar(drawn, ax=axes, label="activation")
    save(figure, path)
    return "A row is a token, a column a hidden unit, white where it is silent"


_PARTS = {
    "FeedForward": _draw_hidden_units,
    "LearnedPositions": _draw_positions,
    "SinusoidalPositions": _draw_positions,
}
