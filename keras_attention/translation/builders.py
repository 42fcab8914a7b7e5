"""Build or load a model, and say beforehand what is wrong with its arguments or its file."""

import inspect
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import keras

from keras_attention import models
from keras_attention.storage import check_archive, check_hints, check_memory

BYTES = 4  # of a weight, float32


def build(builder: Mapping[str, Any]) -> keras.Model:
    """Build a model.

    Args:
        builder: `{"name": …, "arguments": {…}}`, a name in `models.BUILDERS` and what to call it
            with.

    Raises:
        ValueError: there is no such builder, an argument has another type or is out of range, or
            the model does not fit into memory.
    """
    check_memory(least_weights(builder) * BYTES, f"a model {dict(builder)}")
    return models.BUILDERS[builder["name"]](**builder["arguments"])


def least_weights(builder: Mapping[str, Any]) -> int:
    """Return a number of weights that a model has at least, without making one.

    Every model embeds both vocabularies, and has at least four square matrices; a layer of a
    Transformer projects queries, keys, values and reads, and has two matrices more.

    Args:
        builder: as for `build`.

    Raises:
        ValueError: there is no such builder, or an argument has another type.
    """
    sizes = _sizes(builder)
    units = sizes["units"]
    embedded = units * (sizes["context_vocabulary_size"] + sizes["target_vocabulary_size"])
    if "num_layers" not in sizes:
        return embedded + 4 * units**2
    num_layers = sizes["num_layers"] + (sizes["num_decoder_layers"] or sizes["num_layers"])
    key_dim = sizes["key_dim"] or units // max(sizes["num_heads"], 1)
    of_layer = 4 * sizes["num_heads"] * key_dim + 2 * sizes["feed_forward_dim"]
    return embedded + num_layers * units * of_layer


def load_model(path: Path | str, *, compiled: bool = False) -> keras.Model:
    """Load a model that Keras saved.

    Args:
        path: a `.keras` file.
        compiled: whether to restore its optimizer as well.

    Raises:
        ValueError: it cannot be loaded, or does not fit into memory; the message names the file.
    """
    try:
        check_archive(path)
        return keras.saving.load_model(path, compile=compiled)
    except Exception as error:  # a damaged file may raise anything, from any of its readers
        reason = textwrap.shorten(str(error) or repr(error), 300, placeholder=" …")
        raise ValueError(f"{path} cannot be loaded: {reason}") from error


def _sizes(builder):
    """Return the arguments of a builder with its defaults, after checking their types."""
    name, arguments = builder["name"], builder["arguments"]
    if name not in models.BUILDERS:
        raise ValueError(f"model must be one of {', '.join(models.BUILDERS)}, got {name!r}")
    build_model = models.BUILDERS[name]
    check_hints(arguments, get_type_hints(build_model), name)
    defaults = inspect.signature(build_model).parameters
    return {each: parameter.default for each, parameter in defaults.items()} | dict(arguments)
