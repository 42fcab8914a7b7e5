"""Ask a model about a sentence and its translation, in a compiled program where that pays.

A program is compiled for a bucket of lengths, to which it pads. JAX needs one at once: without a
program it compiles every operation by itself, for every length anew. TensorFlow computes a few
sentences faster than it makes a program, and PyTorch and NumPy have none.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_attention import models
from keras_attention.corpora import bucket_of
from keras_attention.decoding.programs import Programs
from keras_attention.text import padded, shifted_right
from keras_attention.translation.inside import Inside, log_probabilities
from keras_attention.translation.relevance import Relevance, Relevances
from keras_attention.types import Array

# How many questions about a bucket of lengths come before its program
EAGER = {"tensorflow": 6, "jax": 0}


class Evidence:
    """What a model says about where the tokens of a translation come from.

    Args:
        model: a model of this package, inputs `{"context", "target"}`.

    Attributes:
        model: the model.
    """

    def __init__(self, model: keras.Model):
        self.model = model
        self._asked: Counter[tuple[Programs, int]] = Counter()
        self._log_probabilities = Programs(LogProbabilities(model))
        self._relevances = Programs(Relevances(model))

    @property
    def programs(self) -> int:
        """The number of compiled programs in memory, at most two for each bucket of lengths."""
        return len(self._log_probabilities) + len(self._relevances)

    def log_probabilities(self, contexts: Sequence[Array], target: Array) -> np.ndarray:
        """Return the log-probability of each token of a translation of other contexts, (N, T).

        Args:
            contexts: N contexts, each (S,), ids.
            target: ids (T,) of the translation.
        """
        answers = self._ask(self._log_probabilities, contexts, target)
        return answers[: len(contexts), : len(target)]

    def relevance(self, inside: Inside) -> Relevance:
        """Share out the logit of each token of a translation among the inputs.

        Args:
            inside: a Transformer with a sentence and its translation.

        Raises:
            ValueError: the model is not a Transformer.
        """
        inside.need_transformer()
        tokens, sources = len(inside.target), len(inside.context)
        copies = [inside.context] * tokens  # copy t is for token t
        found = self._ask(self._relevances, copies, inside.target)
        return Relevance(
            found["context"][:tokens, :sources],
            found["target"][:tokens, :tokens],
            found["logits"][:tokens],
        )

    def _ask(self, programs: Programs, contexts: Sequence[Array], target: Array) -> Any:
        """Ask for each context; in a program, rows and columns are padded to a bucket."""
        inputs = {
            "context": padded(contexts),
            "target": padded([shifted_right(target)] * len(contexts)),
            "tokens": padded([target] * len(contexts)),
        }
        bucket = bucket_of(max(*inputs["context"].shape, len(target)))
        self._asked[programs, bucket] += 1
        if self._asked[programs, bucket] <= EAGER.get(keras.backend.backend(), math.inf):
            return programs.predict_on_batch(inputs, run_eagerly=True)
        of_context, of_target = (min(bucket, n or bucket) for n in models.most_tokens(self.model))
        columns = {"context": of_context, "target": of_target, "tokens": of_target}
        return programs.predict_on_batch(
            {name: _enlarged(ids, bucket, columns[name]) for name, ids in inputs.items()}
        )


class LogProbabilities(keras.Model):
    """Ids (N, S) and (N, T), and tokens (N, T) → the log-probability of each token, (N, T)."""

    def __init__(self, model: keras.Model):
        super().__init__()
        self.model = model
        self.compile(jit_compile=keras.backend.backend() == "jax")

    def call(self, inputs: dict[str, Array]) -> Array:
        ids = {name: inputs[name] for name in ("context", "target")}
        return log_probabilities(self.model(ids, training=False), inputs["tokens"])


def _enlarged(ids, rows, columns):
    """Repeat the last row, and pad all rows with 0."""
    more_rows, more_columns = rows - ids.shape[0], columns - ids.shape[1]
    ids = np.pad(ids, ((0, more_rows), (0, 0)), mode="edge")
    return np.pad(ids, ((0, 0), (0, more_columns)))
