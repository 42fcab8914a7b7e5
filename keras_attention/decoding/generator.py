"""Decoding as one compiled program: ids of sentences in, generated sentences out."""

import keras
import numpy as np

from keras_attention.decoding.beam import beam_search
from keras_attention.decoding.options import Generated, check_options
from keras_attention.decoding.programs import Programs
from keras_attention.decoding.sampling import generate


class Generator(keras.Model):
    """`generate` or `beam_search` as one compiled program a shape.

    Being a Keras model, it is compiled by the backend at hand: XLA on TensorFlow and JAX.

    Args:
        encode: layer, ids (B, S) → `{"memory": ..., "state": ...}`.
        step: layer, `step(tokens, memory, state) → logits, weights, state`.
        max_length: most tokens of a sentence, L.
        temperature: 0 is greedy; above, tokens are drawn.
        top_k: draw among the k likeliest tokens; None or 0 is off.
        top_p: draw among the likeliest tokens with this probability; None or 1 is off.
        beam: above 1, beam search with so many hypotheses; None or 1 is none.
        length_penalty: α of beam search; not read without a beam.
        n_best: sentences that are wanted of a beam, at most as many as it has.

    Attributes:
        programs: what has been compiled, one program for each shape of ids; `len` counts them.

    Raises:
        ValueError: an option is out of range, or does not go with another.

    Example: `Generator(encode(model), step(model), max_length=50).run(ids)`, where the views
    `encode` and `step` come from `keras_attention.models`.
    """

    def __init__(
        self,
        encode,
        step,
        *,
        max_length,
        temperature=0.0,
        top_k=None,
        top_p=None,
        beam=None,
        length_penalty=0.6,
        n_best=1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        search = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
        check_options(max_length=max_length, **sampling, **search)
        self.encode, self.step = encode, step
        self.max_length = max_length
        self.searches = beam is not None and beam > 1
        self.options = search if self.searches else sampling
        self.programs = Programs(self)
        self.compile(jit_compile=keras.backend.backend() != "torch")

    def call(self, inputs):
        encoded = self.encode(inputs["context"])
        options = {"max_length": self.max_length, **self.options}
        if self.searches:
            generated = beam_search(self.step, encoded["memory"], encoded["state"], **options)
        else:
            options["draws"] = inputs.get("draws")
            generated = generate(self.step, encoded["memory"], encoded["state"], **options)
        return generated._asdict()

    def run(self, context, seed=0):
        """Generate sentences for each row.

        Args:
            context: ids (B, S).
            seed: random seed for sampling, an integer or a tuple of integers.

        Returns:
            A `Generated` of NumPy arrays: tokens (B, L); of a beam above 1, (B, n_best, L).
        """
        inputs = {"context": np.asarray(context, dtype="int32")}
        if self.options.get("temperature"):
            shape = len(inputs["context"]), self.max_length
            inputs["draws"] = np.random.default_rng(seed).random(shape, dtype="float32")
        return Generated(**self.programs.predict_on_batch(inputs))
