"""What happens once: loading and a first translation, and compiling, timed in a fresh process."""

import statistics
import time

import numpy as np


class FirstTranslation:
    """A model that is loaded, and translates for the first time."""

    def __init__(self, run, sentence):
        self.run, self.sentence = run, sentence

    def seconds(self):
        """Return the seconds of loading, and of the first and the second translation."""
        import keras_attention  # noqa: F401 - its import is timed elsewhere
        from keras_attention.translation.translator import Translator

        times = [time.perf_counter()]
        translator = Translator.load(self.run)
        times.append(time.perf_counter())
        for _ in range(2):
            translator(self.sentence, attention=False)
            times.append(time.perf_counter())
        return dict(zip(("load", "first", "second"), map(float, np.diff(times)), strict=True))


class Compiling:
    """An untrained model that compiles a training step and a decoding program for each bucket."""

    def __init__(self, kind, sizes, buckets, batch_size=64):
        from examples.benchmarks.endless import Endless

        self.buckets = buckets
        self.batch_size = batch_size
        self.endless = Endless(kind, sizes)

    def seconds(self):
        """Return the seconds to compile the training step and decoding, by bucket."""
        result = {}
        for bucket in self.buckets:
            result[str(bucket)] = {
                "training": _beyond(self.endless.train, bucket, bucket, self.batch_size),
                "decoding": _beyond(self.endless.decode, bucket, 16, self.batch_size),
            }
        return result


def _beyond(act, *arguments):
    """Return how much longer the first time takes than those that follow, seconds."""
    times = [time.perf_counter()]
    for _ in range(4):
        act(*arguments)
        times.append(time.perf_counter())
    first, *others = map(float, np.diff(times))
    return max(first - statistics.median(others), 0.0)
