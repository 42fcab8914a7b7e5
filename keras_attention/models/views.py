"""Views: other ways to call the same layers; no forward pass is written twice.

Every model of the package has two layers by these names:

    encoder(context)                   → {"memory", "state"}
    decoder({"memory", "state", "target"}) → {"logits", "state", "weights"}

`memory` is what the decoder attends to, `state` what it carries from token to token; both are
structures of tensors whose first axis is the batch. `weights` maps names to attention weights.
Dictionaries are written in the order of their keys: backends differ in whether they sort them, and
a model that one of them saved is to be loaded by all.
"""

import keras
from keras import ops


def encode(model):
    """Return the view ids (B, S) → `{"memory": ..., "state": ...}` of a model of this package."""
    return model.get_layer("encoder")


def step(model):
    """Return the view that decodes one token, a `Step`, of a model of this package."""
    return Step(model.get_layer("decoder"))


def attention(model):
    """Return the view that shows every attention weight of a model of this package.

    Returns:
        A functional `keras.Model` with the inputs of the model, and as outputs
        `{"logits": (B, T, V), name: weights, ...}`; weights are (B, H, T, S) or (B, T, S).
    """
    inputs = {tensor.name: tensor for tensor in model.inputs}
    outputs = model.get_layer("decoder")(
        {**model.get_layer("encoder")(inputs["context"]), "target": inputs["target"]}
    )
    return keras.Model(
        inputs, {"logits": outputs["logits"], **outputs["weights"]}, name=f"{model.name}_attention"
    )


class Step(keras.layers.Layer):
    """Decode one token: `step(tokens, memory, state) → logits, weights, state`.

    Args:
        decoder: the layer "decoder" of a model.

    Call arguments:
        tokens: ids (B,), the tokens before those that are wanted.
        memory: from the encoder.
        state: from the encoder for the first token, then from the step before.

    Returns:
        Logits (B, V) for the next tokens; a dictionary of attention weights by name, each (B, H, S)
        or (B, S); and the next state.
    """

    def __init__(self, decoder, **kwargs):
        super().__init__(**kwargs)
        self.decoder = decoder
        self.built = True

    def call(self, tokens, memory, state):
        target = ops.expand_dims(tokens, 1)
        outputs = self.decoder({"memory": memory, "state": state, "target": target})
        weights = {name: weights[..., 0, :] for name, weights in outputs["weights"].items()}
        return outputs["logits"][:, 0], weights, outputs["state"]
