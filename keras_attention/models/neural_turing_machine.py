"""A Neural Turing Machine from sequence to sequence, and the view that shows its tapes.

x → controller ⇄ heads ⇄ memory → dense → logits
"""

import keras
from keras import layers

from keras_attention.layers import NTMCell
from keras_attention.models.encoder_decoder import check_sizes


def build_neural_turing_machine(
    channels=9, bits=8, dtype=None, name="neural_turing_machine", **cell
):
    """Build the machine of section 4 of Graves et al. (2014), by default with the sizes of table 1.

    Args:
        channels: width of the input, F.
        bits: width of the output.
        dtype: dtype or dtype policy of the layers, such as `"mixed_bfloat16"`; None: Keras' own.
        name: name of the model.
        **cell: arguments of `layers.NTMCell`: sizes, heads, the controller, and how it begins.

    Returns:
        A functional `keras.Model`: inputs (B, T, channels) → logits (B, T, bits). `tapes` shows
        where its heads were.

    Raises:
        ValueError: a size is not positive, there are more shifts than rows, or there is no such
            controller or start.

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


def tapes(model):
    """Return the view of a machine that shows where its heads were.

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
