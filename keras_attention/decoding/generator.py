"""Decoding as one compiled program: ids of sentences in, generated sentences out."""

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from keras_attention.decoding.beam import beam_search
from keras_attention.decoding.options import Generated, check_options
from keras_attention.decoding.programs import Programs
from keras_attention.decoding.sampling import generate
from keras_attention.types import Array


class Generator(keras.Model):
    """`generate` or `beam_search` as one compiled program per shape.

    As a Keras model, it is compiled by the current backend: XLA on TensorFlow and JAX.

    Args:
        encode: layer, ids (B, S) → `{"memory": ..., "state": ...}`.
        step: layer, `step(tokens, memory, state) → logits, weights, state`.
        max_length: L, maximum number of tokens in a sentence.
        temperature: 0 is greedy; above 0, tokens are drawn.
        top_k: draw among the k likeliest tokens; None or 0 is off.
        top_p: draw among the likeliest tokens with this total probability; None or 1 is off.
        beam: number of hypotheses of a beam search; None or 1: no beam search.
        length_penalty: α of beam search; ignored without a beam.
        n_best: number of sentences to return from a beam, at most its size.

    Attributes:
        programs: the compiled programs, one for each shape of ids; `len` counts them.

    Raises:
        ValueError: an option is out of range, or conflicts with another.

    Example: `Generator(encode(model), step(model), max_length=50).run(ids)`, where the views
    `encode` and `step` come from `keras_attention.models`.
    """

    def __init__(
        self,
        encode: keras.layers.Layer,
        step: keras.layers.Layer,
        *,
        max_length: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        beam: int | None = None,
        length_penalty: float = 0.6,
        n_best: int = 1,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        sampling: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        search: dict[str, Any] = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
        check_options(max_length=max_length, **sampling, **search)
        self.encode, self.step = encode, step
        self.max_length = max_length
        self.searches = beam is not None and beam > 1
        self.options = search if self.searches else sampling
        self.programs = Programs(self)
        self.compile(jit_compile=keras.backend.backend() != "torch")

    def call(self, inputs: dict[str, Array]) -> dict[str, Array]:
        encoded = self.encode(inputs["context"])
        options = {"max_length": self.max_length, **self.options}
        if self.searches:
            generated = beam_search(self.step, encoded["memory"], encoded["state"], **options)
        else:
            options["draws"] = inputs.get("draws")
            generated = generate(self.step, encoded["memory"], encoded["state"], **options)
        return generated._asdict()

    def run(
        self, context: Array, seed: int | tuple[int, ...] = 0, run_eagerly: bool = False
    ) -> Generated:
        """Generate sentences for each row.

        Args:
            context: ids (B, S).
            seed: random seed for sampling.
            run_eagerly: whether to do without a compiled program.

        Returns:
            A `Generated` of NumPy arrays: tokens (B, L); with a beam above 1, (B, n_best, L).
        """
        return Generated(**self.programs.predict_on_batch(self._inputs(context, seed), run_eagerly))

    def run_batches(
        self, contexts: Iterable[Array], seed: int = 0, run_eagerly: bool = False
    ) -> list[Generated]:
        """Generate sentences for each row of some batches, without waiting in between.

        Args:
            contexts: ids (B, S) of each batch.
            seed: random seed for sampling; each batch has its own random numbers.
            run_eagerly: whether to do without compiled programs.

        Returns:
            What `run` returns for each batch with the seed `(seed, its number)`.
        """
        inputs = (self._inputs(ids, (seed, number)) for number, ids in enumerate(contexts))
        return [Generated(**each) for each in self.programs.predict(inputs, run_eagerly)]

    def _inputs(self, context, seed):
        inputs = {"context": np.asarray(context, dtype="int32")}
        if self.options.get("temperature"):
            shape = len(inputs["context"]), self.max_length
            inputs["draws"] = np.random.default_rng(seed).random(shape, dtype="float32")
        return inputs
