"""A sequence-to-sequence Neural Turing Machine, and the view that shows its tapes.

x → controller ⇄ heads ⇄ memory → dense → logits
"""

from typing import Any

import keras
from keras import layers

from keras_attention.layers import NTMCell
from keras_attention.models.encoder_decoder import check_sizes


def build_neural_turing_machine(
    channels: int = 9,
    bits: int = 8,
    dtype: str | keras.DTypePolicy | None = None,
    name: str = "neural_turing_machine",
    **cell: Any,
) -> keras.Model:
    """Build the machine of section 4 of Graves et al. (2014), by default with the sizes of table 1.

    Args:
        channels: width of the input, F.
        bits: width of the output.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: the default.
        name: name of the model.
        **cell: arguments of `layers.NTMCell`: sizes, heads, the controller, and the start.

    Returns:
        A functional `keras.Model`: inputs (B, T, channels) → logits (B, T, bits). The view
        `tapes` shows the positions of its heads.

    Raises:
        ValueError: a size is not positive, there are more shifts than rows, or the controller or
            start is unknown.

    Example:
    >>> machine = build_neural_turing_machine(rows=16, width=5, controller="lstm")
    >>> machine.output_shape
    (None, None, 8)

    References:
        Graves, Wayne, Danihelka (2014), Neural Turing Machines, arXiv:1410.5401.
    """
    check_sizes(channels=channels, bits=bits)

    # Layers
    cell = NTMCell(**cell, return_attention_scores=True, name="cell", dtype=dtype)
    machine = layers.RNN(cell, return_sequences=True, name="machine", dtype=dtype)
    to_logits = layers.Dense(bits, name="logits", dtype=dtype)

    # Model
    inputs = keras.Input((None, channels), name="inputs")
    logits = to_logits(cell.split(machine(inputs))["output"])
    return keras.Model(inputs, logits, name=name)


def tapes(model: keras.Model) -> keras.Model:
    """Return the view of a machine that shows the positions of its heads.

    Args:
        model: from `build_neural_turing_machine`, or loaded from a file.

    Returns:
        A functional `keras.Model`: inputs (B, T, channels) → `{"logits": (B, T, bits),
        "read_weights": (B, T, H_r, N), "write_weights": (B, T, H_w, N)}`, over the same layers.
    """
    machine = model.get_layer("machine")
    weights = machine.cell.split(machine.output)
    names = ("read_weights", "write_weights")
    return keras.Model(
        model.input,
        {"logits": model.output, **{name: weights[name] for name in names}},
        name=f"{model.name}_tapes",
    )
