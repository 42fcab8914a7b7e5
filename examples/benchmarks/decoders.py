"""The contestants in decoding that run on this package's models: its translator, and a loop."""

import statistics
import time

import numpy as np

from examples.benchmarks import machine


class ThisPackage:
    """A trained translator.

    Args:
        run: folder of the model.
        sentences: strings.
        most: sentences with more tokens are left out.
        quantized: None, or the precision of the weights of its products, such as "int8".
        runtime: what translates.
    """

    def __init__(self, run, sentences, most=62, quantized=None, runtime="keras"):
        from keras_attention.translation.translator import Translator

        self.translator = Translator.load(run)
        if quantized:
            self.translator.model.quantize(quantized)
        self.translator.runtime = runtime
        vocabulary = self.translator.context_vocabulary
        lengths = [len(tokens) for tokens in vocabulary.tokenize(sentences)]
        fits = [0 < length <= most for length in lengths]
        self.sentences = [each for each, fit in zip(sentences, fits, strict=True) if fit]
        self.ids = vocabulary.ids(self.sentences)

    def inputs(self):
        """Return the sentences as ids (N, S)."""
        return self.ids

    def device(self):
        """Return the name of the device that it computes on."""
        return machine.device()

    def decode(self, rows, batch_size, beam, max_length):
        """Translate as `CTranslate2.decode` does; None is the translator's own batch size."""
        options = {"max_length": max_length, "beam": beam, "length_penalty": 0.0}
        ids = self.ids[:rows]
        if batch_size == 1:
            results = [self.translator.generate(ids[n : n + 1], **options)[0] for n in range(rows)]
        elif batch_size is None:
            results = self.translator.generate(ids, **options)
        else:
            results = self.translator.generate(ids, batch_size=batch_size, **options)
        return [up_to_end(each[0].tokens) for each in results]

    def loop(self, rows, batch_size, max_length):
        """Translate greedily as the TensorFlow tutorial does: the whole model, token by token.

        Each token costs a pass over the sentence and all that was written so far; a loop in Python,
        not compiled. Sentences of about equal length share a batch, as they do in `decode`.
        """
        from keras import ops

        from keras_attention.text import END, START

        lengths = (self.ids[:rows] != 0).sum(1)
        order = np.argsort(lengths, kind="stable")
        results = [[] for _ in order]
        for start in range(0, rows, batch_size):
            places = order[start : start + batch_size]
            ids = self.ids[places, : lengths[places].max()]
            context = ops.convert_to_tensor(ids)
            written = np.full((len(ids), 1), START, dtype="int32")
            finished = np.zeros(len(ids), dtype=bool)
            while written.shape[1] <= max_length and not finished.all():
                target = ops.convert_to_tensor(written)
                logits = self.translator.model({"context": context, "target": target})[:, -1]
                logits = np.array(ops.convert_to_numpy(logits))
                logits[:, [0, START]] = -np.inf
                tokens = np.where(finished, 0, logits.argmax(-1)).astype("int32")
                written = np.concatenate([written, tokens[:, None]], axis=1)
                finished |= tokens == END
            for place, row in zip(places, written, strict=True):
                results[place] = up_to_end(row[1:])
        return results

    def latency(self, sentence, calls, attention, beam):
        """Return the median milliseconds of a call with a sentence, from text to text."""
        times = []
        for _ in range(calls):
            begun = time.perf_counter()
            self.translator(sentence, attention=attention, beam=beam)
            times.append(1000 * (time.perf_counter() - begun))
        return statistics.median(times)


def up_to_end(tokens):
    """Return the ids of a translation as a list, without the end and what comes after it."""
    from keras_attention.text import END

    tokens = np.asarray(tokens).tolist()
    return tokens[: tokens.index(END)] if END in tokens else [token for token in tokens if token]
