"""An untrained model that never ends a sentence: as many tokens are written as are asked for."""

import string

import numpy as np


class Endless:
    """A translator of this package by sizes alone.

    Args:
        kind: name of the model.
        sizes: of the model, `vocabulary` among them.
    """

    def __init__(self, kind, sizes):
        import keras

        from keras_attention import models
        from keras_attention.cli.heap import keep_freed_memory
        from keras_attention.text import END, SPECIAL_WORDS, Vocabulary
        from keras_attention.training import compile_for_training
        from keras_attention.translation.translator import Translator

        keep_freed_memory()
        keras.utils.set_random_seed(0)
        sizes = dict(sizes)
        self.count = sizes.pop("vocabulary")
        build = {"rnn": models.build_rnn_attention, "transformer": models.build_transformer}[kind]
        self.model = build(self.count, self.count, **sizes)
        compile_for_training(self.model)
        logits = self.model.get_layer("decoder").get_layer("logits")
        never = np.zeros(self.count, dtype="float32")
        never[END] = -1e9
        logits.bias.assign(never)
        words = [*SPECIAL_WORDS, *_words(self.count - len(SPECIAL_WORDS))]
        self.translator = Translator(self.model, Vocabulary(words), Vocabulary(words))

    def train(self, source, target, batch_size):
        """Take a step of training on random ids (B, S) and (B, T)."""
        inputs = {
            "context": self._ids(batch_size, source),
            "target": self._ids(batch_size, target),
        }
        return float(self.model.train_on_batch(inputs, self._ids(batch_size, target))[0])

    def decode(self, source, target, batch_size):
        """Translate random ids (B, S) into so many tokens; return how many there are."""
        ids = self._ids(batch_size, source)
        results = self.translator.generate(ids, max_length=target, batch_size=batch_size)
        return sum(int((each[0].tokens != 0).sum()) for each in results)

    def _ids(self, batch_size, length):
        rng = np.random.default_rng(0)
        return rng.integers(4, self.count, (batch_size, length), dtype="int32")


def _words(count):
    """Return so many different words of letters."""
    letters = string.ascii_lowercase
    return [
        "".join(letters[number // 26**place % 26] for place in range(4)) for number in range(count)
    ]
