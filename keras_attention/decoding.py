"""From logits to sentences: greedy decoding and sampling over a `step`; knows no model.

    step(tokens (B,), memory, state) → logits (B, V), weights, state

`memory`, `state` and `weights` are any structures of tensors with the batch first, so that one loop
serves recurrent networks and Transformers alike.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree

_IMPOSSIBLE = -1e9


class Generated(NamedTuple):
    """Generated sentences.

    `tokens` (B, L) ids, with 0 after the end token; `weights`, the structure of the step's weights,
    each (B, L, S) or (B, H, L, S), with 0 after the end; `finished` (B,), whether the end token
    came before the limit.
    """

    tokens: Any
    weights: Any
    finished: Any


def generate(step, memory, state, *, max_length, start_id=2, end_id=3, temperature=0.0, draws=None):
    """Decode a batch token by token, until every sentence has ended or the limit is reached.

    Padding, id 0, and the start token are never generated. Traceable: one compiled program holds
    the whole loop.

    Args:
        step: `step(tokens, memory, state) → logits, weights, state`, as in the module's docstring.
        memory: what the step attends to.
        state: the state before the first token.
        max_length: most tokens of a sentence, L, the end token included.
        start_id: id that is fed first.
        end_id: id that ends a sentence.
        temperature: 0 takes the likeliest token (greedy); above 0, a token is drawn from
            softmax(logits / temperature).
        draws: numbers from [0, 1), (B, L), one for each token that is drawn; not read by greedy
            decoding. Given from outside, they make sampling the same on every backend.

    Returns:
        A `Generated`.

    Raises:
        ValueError: the limit is not positive, the temperature negative, or the draws are missing.
    """
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, got {max_length}")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 (greedy) or above, got {temperature}")
    if temperature > 0 and draws is None:
        raise ValueError("sampling needs draws (B, L) from [0, 1), got None")
    batch = ops.shape(tree.flatten(state)[0])[0]

    def advance(position, previous, finished, state):
        logits, weights, state = step(previous, memory, state)
        draw = None if temperature == 0 else ops.take(draws, position, axis=1)
        chosen = _choose(logits, start_id, temperature, draw)
        chosen = ops.where(finished, 0, chosen)
        weights = tree.map_structure(
            lambda w: ops.where(_like(finished, w), ops.zeros_like(w), w), weights
        )
        return chosen, weights, ops.logical_or(finished, chosen == end_id), state

    def record(buffers, values, position):
        here = ops.arange(max_length) == position
        return tree.map_structure(lambda b, v: _write(b, v, here), buffers, values)

    def body(position, previous, finished, state, tokens, weights):
        previous, new_weights, finished, state = advance(position, previous, finished, state)
        tokens, weights = record((tokens, weights), (previous, new_weights), position)
        return position + 1, previous, finished, state, tokens, weights

    def goes_on(position, previous, finished, *_):
        return ops.logical_and(position < max_length, ops.logical_not(ops.all(finished)))

    # The first step stands before the loop, since it shows the shapes of the weights.
    start = ops.full((batch,), start_id, dtype="int32")
    first, weights, finished, state = advance(0, start, ops.zeros((batch,), dtype="bool"), state)
    buffers = tree.map_structure(lambda v: _buffer(v, max_length), (first, weights))
    tokens, weights = record(buffers, (first, weights), 0)
    loop = (ops.convert_to_tensor(1, dtype="int32"), first, finished, state, tokens, weights)
    _, _, finished, _, tokens, weights = ops.while_loop(goes_on, body, loop)
    return Generated(tokens, weights, finished)


def _choose(logits, start_id, temperature, draw):
    """Take the likeliest id of each row, or draw one by inverting the cumulative distribution."""
    logits = ops.cast(logits, "float32")
    ids = ops.arange(logits.shape[-1])
    logits = ops.where(ops.logical_or(ids == 0, ids == start_id), _IMPOSSIBLE, logits)
    if temperature == 0:
        return ops.cast(ops.argmax(logits, axis=-1), "int32")
    below = ops.cumsum(ops.softmax(logits / temperature), axis=-1)
    drawn = ops.sum(ops.cast(below <= draw[:, None] * below[:, -1:], "int32"), axis=-1)
    return ops.minimum(drawn, logits.shape[-1] - 1)  # a draw next to 1 may be rounded up to it


def _like(mask, values):
    return ops.reshape(mask, (-1,) + (1,) * (len(values.shape) - 1))


def _buffer(values, length):
    """Make room for `length` of the values, before their last axis: (B, S) → (B, L, S)."""
    if len(values.shape) == 1:
        return ops.zeros((ops.shape(values)[0], length), dtype=values.dtype)
    shape = ops.shape(values)
    return ops.zeros((*shape[:-1], length, shape[-1]), dtype=values.dtype)


def _write(buffer, values, here):
    """Put values at the one position of the buffer that `here` (L,) marks."""
    if len(values.shape) == 1:
        return ops.where(here, values[:, None], buffer)
    return ops.where(here[:, None], values[..., None, :], buffer)


class Generator(keras.Model):
    """`generate` as one compiled program a shape: ids of sentences in, generated sentences out.

    Being a Keras model, it is compiled by the backend at hand: XLA on TensorFlow and JAX.

    Args:
        encode: layer, ids (B, S) → `{"memory": ..., "state": ...}`.
        step: layer, `step(tokens, memory, state) → logits, weights, state`.
        max_length: most tokens of a sentence, L.
        temperature: 0 is greedy.

    Example: `Generator(encode(model), step(model), max_length=50).run(ids)`, where the views
    `encode` and `step` come from `keras_attention.models`.
    """

    def __init__(self, encode, step, *, max_length, temperature=0.0, **kwargs):
        super().__init__(**kwargs)
        self.encode, self.step = encode, step
        self.max_length, self.temperature = max_length, temperature
        self.compile(jit_compile=keras.backend.backend() != "torch")

    def call(self, inputs):
        encoded = self.encode(inputs["context"])
        return generate(
            self.step,
            encoded["memory"],
            encoded["state"],
            max_length=self.max_length,
            temperature=self.temperature,
            draws=inputs["draws"],
        )._asdict()

    def run(self, context, seed=0):
        """Generate a sentence for each row.

        Args:
            context: ids (B, S).
            seed: of the draws; not read by greedy decoding.

        Returns:
            A `Generated` of NumPy arrays.
        """
        context = np.asarray(context, dtype="int32")
        draws = np.random.default_rng(seed).random((len(context), self.max_length), dtype="float32")
        return Generated(**self.predict_on_batch({"context": context, "draws": draws}))
