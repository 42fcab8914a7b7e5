"""Untrained models by sizes alone: one never ends a sentence, one is compiled and never runs."""

import functools
import os
import string

import numpy as np


class Endless:
    """A translator of this package that writes as many tokens as are asked for.

    Args:
        kind: name of the model.
        sizes: of the model, `vocabulary` among them.
        runtime: of the translator.
    """

    def __init__(self, kind, sizes, runtime="keras"):
        from keras_attention.cli.heap import keep_freed_memory
        from keras_attention.text import END, SPECIAL_WORDS, Vocabulary
        from keras_attention.translation.translator import Translator

        keep_freed_memory()
        self.count = sizes["vocabulary"]
        self.model = _untrained(kind, **sizes)
        logits = self.model.get_layer("decoder").get_layer("logits")
        never = np.zeros(self.count, dtype="float32")
        never[END] = -1e9
        logits.bias.assign(never)
        words = [*SPECIAL_WORDS, *_words(self.count - len(SPECIAL_WORDS))]
        self.translator = Translator(self.model, Vocabulary(words), Vocabulary(words))
        self.translator.runtime = runtime

    def train(self, source, target, batch_size):
        """Take a step of training on random ids (B, S) and (B, T)."""
        inputs = {
            "context": self._ids(batch_size, source),
            "target": self._ids(batch_size, target),
        }
        return float(self.model.train_on_batch(inputs, self._ids(batch_size, target))[0])

    def decode(self, source, target, batch_size, beam=1):
        """Translate random ids (B, S) into so many tokens; return how many there are."""
        ids = self._ids(batch_size, source)
        options = {"max_length": target, "beam": beam, "batch_size": batch_size}
        results = self.translator.generate(ids, **options)
        return sum(int((each[0].tokens != 0).sum()) for each in results)

    def _ids(self, batch_size, length):
        rng = np.random.default_rng(0)
        return rng.integers(4, self.count, (batch_size, length), dtype="int32")


class Compiler:
    """The memory of a model's programs, as XLA states it; nothing runs.

    Args:
        kind: name of the model.
        sizes: of the model, `vocabulary` among them.
    """

    def __init__(self, kind, sizes):
        os.environ["KERAS_BACKEND"] = "jax"  # the only one that tells
        self.model = _untrained(kind, **sizes)

    @functools.cache  # noqa: B019 - the process ends with the object
    def train(self, source, target, batch_size):
        """Return the bytes of a step of training on ids (B, S) and (B, T)."""
        from keras_attention.compiling.programs import training_program

        context, ids = (np.zeros((batch_size, n), "int32") for n in (source, target))
        return _memory(training_program(self.model, {"context": context, "target": ids}, ids, ""))

    @functools.cache  # noqa: B019
    def decode(self, source, target, batch_size, beam=1):
        """Return the bytes of the program that translates ids (B, S) into T tokens."""
        from keras_attention import models
        from keras_attention.compiling.programs import program_of_use
        from keras_attention.decoding import Generator

        encode, step = models.encode(self.model, slots=target), models.step(self.model)
        generator = Generator(encode, step, max_length=target, beam=beam)
        inputs = generator.search.inputs(np.zeros((batch_size, source), "int32"), 0)
        return _memory(program_of_use(generator, inputs, ""))


def _memory(program):
    import jax

    from keras_attention.compiling.topologies import Topology
    from keras_attention.compiling.tpu import compile_program

    device = jax.devices()[0]
    here = Topology("this machine", [device], device.device_kind, 1, 1, None)
    compiled = compile_program(program, here)
    if compiled.error:
        raise RuntimeError(compiled.error)
    return compiled.memory - compiled.code


def _untrained(kind, vocabulary, **sizes):
    """Return an untrained model of some sizes, compiled for training."""
    import keras

    from keras_attention import models
    from keras_attention.training import compile_for_training

    keras.utils.set_random_seed(0)
    build = {"rnn": models.build_rnn_attention, "transformer": models.build_transformer}[kind]
    model = build(vocabulary, vocabulary, **sizes)
    compile_for_training(model)
    return model


def _words(count):
    """Return so many different words of letters."""
    letters = string.ascii_lowercase
    return [
        "".join(letters[number // 26**place % 26] for place in range(4)) for number in range(count)
    ]
