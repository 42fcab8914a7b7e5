"""Words need no TensorFlow: on JAX nothing imports it from a corpus to a translation."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules["tensorflow"] = None  # who imports it gets an ImportError
import numpy as np
from keras_attention import Translator, corpora, runs
pairs = corpora.Grammar.load().generate(97, seed=5)
settings = runs.Settings(units=8, vocabulary=211, batch_size=7, epochs=2, steps=3)
translator = runs.train(pairs[:73], pairs[73:], "run", settings, verbose=0)
sentences = [pair.context for pair in pairs[73:77]]
found = translator(sentences, beam=2)
again = Translator.load("run")(sentences, beam=2)
assert [each.text for each in found] == [each.text for each in again]
found[0].plot("heatmap.png")
shape = len(found[0].target_tokens), len(found[0].context_tokens)
print(len(found), found[0].attention.shape == shape)
"""


@pytest.mark.extra("jax")
def test_training_decoding_and_translation_with_words_import_no_tensorflow(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4", "True"]
    assert (tmp_path / "heatmap.png").read_bytes().startswith(b"\x89PNG")
