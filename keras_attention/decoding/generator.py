"""Decoding as one compiled program, or at once: ids of sentences in, generated sentences out."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_attention.decoding.beam import beam_search
from keras_attention.decoding.options import Generated, check_options
from keras_attention.decoding.programs import Programs
from keras_attention.decoding.sampling import generate
from keras_attention.decoding.threads import count_of_threads, in_threads
from keras_attention.types import Array


class Search:
    """How sentences are searched for: greedily, by drawing tokens, or with a beam.

    Args:
        max_length: L, maximum number of tokens in a sentence.
        temperature: 0 is greedy; above 0, tokens are drawn.
        top_k: draw among the k likeliest tokens; None or 0 is off.
        top_p: draw among the likeliest tokens with this total probability; None or 1 is off.
        beam: number of hypotheses of a beam search; None or 1: no beam search.
        length_penalty: α of beam search; ignored without a beam.
        n_best: number of sentences to return from a beam, at most its size.

    Attributes:
        has_beam: whether there are several hypotheses.
        count: how many of the likeliest tokens a step must find; None: it needs all logits.

    Raises:
        ValueError: an option is out of range, or conflicts with another.
    """

    def __init__(
        self,
        *,
        max_length: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        beam: int | None = None,
        length_penalty: float = 0.6,
        n_best: int = 1,
    ):
        sampling: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        search: dict[str, Any] = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
        check_options(max_length=max_length, **sampling, **search)
        self.max_length = max_length
        self.has_beam, self._draws = beam is not None and beam > 1, temperature > 0
        self._options = search if self.has_beam else sampling
        self.count = 2 * (beam or 1) if self.has_beam else None if self._draws else 1

    def inputs(self, context: Array, seed: int | tuple[int, ...]) -> dict[str, np.ndarray]:
        """Return what a call needs for ids (B, S): also random numbers, if tokens are drawn."""
        inputs = {"context": np.asarray(context, dtype="int32")}
        if self._draws and not self.has_beam:
            shape = len(inputs["context"]), self.max_length
            inputs["draws"] = np.random.default_rng(seed).random(shape, dtype="float32")
        return inputs

    def inputs_of_batches(
        self, contexts: Iterable[Array], seed: int, numbers: Iterable[int] | None = None
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield the inputs of each batch, with random numbers for the seed and its number."""
        for number, ids in zip(count() if numbers is None else numbers, contexts, strict=False):
            yield self.inputs(ids, (seed, number))

    def __call__(self, encode: Callable, step: Any, inputs: dict[str, Array]) -> Generated:
        """Encode the inputs and search, as `generate` or `beam_search` does."""
        encoded = encode(inputs["context"])
        given = (step, encoded["memory"], encoded["state"])
        options = {"max_length": self.max_length, **self._options}
        if self.has_beam:
            return beam_search(*given, **options)
        return generate(*given, **options, draws=inputs.get("draws"))


class Generator(keras.Model):
    """`generate` or `beam_search` as one compiled program per shape.

    As a Keras model, it is compiled by the current backend: XLA on TensorFlow and JAX.

    Args:
        encode: layer, ids (B, S) → `{"memory": ..., "state": ...}`.
        step: layer, `step(tokens, memory, state) → logits, weights, state`.
        **options: as for `Search`.

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
        **options: Any,
    ):
        super().__init__()
        self.encode, self.step, self.search = encode, step, Search(**options)
        self.programs = Programs(self)
        self.compile(jit_compile=keras.backend.backend() != "torch")

    def call(self, inputs: dict[str, Array]) -> dict[str, Array]:
        return self.search(self.encode, self.step, inputs)._asdict()

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
        inputs = self.search.inputs(context, seed)
        return Generated(**self.programs.predict_on_batch(inputs, run_eagerly))

    def run_batches(
        self,
        contexts: Iterable[Array],
        seed: int = 0,
        run_eagerly: bool = False,
        numbers: Iterable[int] | None = None,
    ) -> list[Generated]:
        """Generate sentences for each row of some batches, without waiting in between.

        Args:
            contexts: ids (B, S) of each batch.
            seed: random seed for sampling; each batch has its own random numbers.
            run_eagerly: whether to do without compiled programs.
            numbers: of the batches; None: 0, 1, 2, …

        Returns:
            What `run` returns for each batch with the seed `(seed, its number)`.
        """
        inputs = self.search.inputs_of_batches(contexts, seed, numbers)
        return [Generated(**each) for each in self.programs.predict(inputs, run_eagerly)]


class DirectGenerator:
    """`generate` or `beam_search` without a program, where encoder and step compute at once.

    Args:
        encode: `encode(ids (B, S))` → `{"memory": ..., "state": ...}`.
        step: a step with the method `take`, see `keras_attention.decoding.loop.until_done`.
            Several threads call it, and `encode`, at the same time.
        search: a `Search`.
    """

    programs = ()  # none is compiled

    def __init__(self, encode: Callable, step: Any, search: Search):
        self.encode, self.step, self.search = encode, step, search

    def run_batches(
        self,
        contexts: Iterable[Array],
        seed: int = 0,
        run_eagerly: bool = False,
        numbers: Iterable[int] | None = None,
    ) -> list[Generated]:
        """Generate sentences for each row of some batches, as `Generator.run_batches` does."""
        del run_eagerly  # there is no other way
        inputs = self.search.inputs_of_batches(contexts, seed, numbers)
        threads = count_of_threads()
        if threads < 2:
            return [*map(self._generate, inputs)]
        return in_threads(self._generate, inputs, threads)

    def _generate(self, inputs):
        generated = self.search(self.encode, self.step, inputs)
        return tree.map_structure(ops.convert_to_numpy, generated)
