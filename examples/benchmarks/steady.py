"""Many translations of random lengths by one translator, and what they leave behind."""

import gc

import numpy as np

from examples.benchmarks import machine


class Steady:
    """A trained translator whose traces are counted.

    Args:
        run: folder of the model.
        quick: whether few lengths will do.
    """

    def __init__(self, run, quick):
        from keras_attention.translation.translator import MOST_TOKENS, Translator

        self.translator = Translator.load(run)
        self.most = 8 if quick else MOST_TOKENS
        self.sizes = (1, 5) if quick else (1, 5, 64, 100)
        self.traces = 0
        for side, name in (("encoder", "context_embedding"), ("decoder", "target_embedding")):
            self._count(self.translator.model.get_layer(side).get_layer(name))
        words = self.translator.context_vocabulary.words[4:]
        self.words = [word for word in words if word.isalpha()]
        self.rng = np.random.default_rng(0)

    def _count(self, layer):
        """Count the calls of a layer, which happen when a program is traced."""
        call = layer.call

        def counted(*arguments, **options):
            self.traces += 1
            return call(*arguments, **options)

        layer.call = counted

    def translate(self, count):
        """Translate so many sentences after the warm-up of every program, and some of all lengths.

        Returns:
            Lists: `translated` so far, `memory_mb` and `traces` then.
        """
        self.translator.warm_up([length + 2 for length in range(1, self.most + 1)])
        for size in self.sizes:
            for length in range(1, self.most + 1):
                self._call(size, length)
        found = {"translated": [], "memory_mb": [], "traces": []}
        done, marks = 0, np.linspace(0, count, 21)
        while True:
            if done >= marks[len(found["translated"])]:
                gc.collect()
                found["translated"].append(done)
                found["memory_mb"].append(machine.memory()["now"])
                found["traces"].append(self.traces)
            if done >= count:
                return found
            size = min(int(self.rng.choice(self.sizes)), count - done)
            self._call(size, int(self.rng.integers(1, self.most + 1)))
            done += size

    def _call(self, size, most):
        """Translate sentences of random words, the longest of `most` tokens or nearly so."""
        sentences = []
        for place in range(size):
            length = most if place == 0 else int(self.rng.integers(1, most + 1))
            sentence = " ".join(self.rng.choice(self.words, length))
            sentences.append(self._shortened(sentence, most))
        self.translator(sentences if size > 1 else sentences[0])

    def _shortened(self, sentence, most):
        """Cut a sentence to so many tokens, where words have several."""
        words = sentence.split()
        tokenize = self.translator.context_vocabulary.tokenize
        while len(words) > 1 and len(tokenize([" ".join(words)])[0]) > most:
            words = words[: max(len(words) * 2 // 3, 1)]
        return " ".join(words)
