"""The contestants in training that run on Keras: this package, plain Keras, KerasHub.

All report the same loss and metrics. Plain Keras computes them with Keras' functions, as the
TensorFlow tutorial does; KerasHub, which has none of its own, with those of this package. These are
faster, so plain Keras also takes part with them.
"""

import math

import numpy as np

from examples.benchmarks import batches as on_batches
from examples.benchmarks import machine
from examples.benchmarks.batches import DROPOUT, LABEL_SMOOTHING, LEARNING_RATE


class _Trainer:
    """A compiled model, and a dataset for each condition.

    Args:
        kind: of the model.
        sizes: of the model.
        pool: context and target ids.
        conditions: `Condition`s by name.
        keep_memory: whether the process keeps the memory that it frees.
    """

    def __init__(self, kind, sizes, pool, conditions, keep_memory=True):
        import keras

        from keras_attention.cli.heap import keep_freed_memory

        if keep_memory:
            keep_freed_memory()
        keras.utils.set_random_seed(0)
        self.kind, self.sizes = kind, sizes
        self.steps = {name: condition.steps for name, condition in conditions.items()}
        self.model = self.build()
        self.datasets = {
            name: self.dataset(*pool, condition) for name, condition in conditions.items()
        }

    def deliver(self, name, count):
        """Take so many batches of a condition and do nothing with them; return the real tokens."""
        batches = _first(self.datasets[name], count)
        return int(sum(np.count_nonzero(labels) for _, labels in batches))

    def train(self, name):
        """Train on the batches of a condition, and return the mean loss, smoothed if it is."""
        history = self.model.fit(
            self.datasets[name], steps_per_epoch=self.steps[name], shuffle=False, verbose=0
        )
        return history.history["loss"][0]

    def count(self, name):
        """Count what the batches of a condition hold, and the parameters of the model."""
        elements = _first(self.datasets[name], self.steps[name])
        pairs = ((inputs["context"], labels) for inputs, labels in elements)
        counts = on_batches.counted(pairs, self.kind, self.sizes)
        return {**counts, "parameters": self.model.count_params()}

    def device(self):
        """Return the name of the device that it computes on."""
        return machine.device()

    def multiply(self, dtype="float32"):
        """Return the fastest matrix product of Keras' backend or NumPy, operations a second."""
        from keras import ops

        def by_keras(a, b, count):
            products = [ops.matmul(a, b) for _ in range(count)]
            float(products[-1][0, 0])  # waits for the product

        def by_numpy(a, b, count):
            for _ in range(count):
                np.matmul(a, b)

        def prepare(array):
            return ops.cast(ops.convert_to_tensor(array), dtype)

        rate = machine.multiply_rate(by_keras, prepare, self.device())
        return max(rate, machine.multiply_rate(by_numpy)) if dtype == "float32" else rate


class ThisPackage(_Trainer):
    """The package, as `keras-attention train` uses it, or with a choice made otherwise.

    Args:
        *common: as for every contestant.
        jit_compile: whether XLA compiles the steps; None: as the package chooses.
        dtype_policy: of the layers.
        dropout: of a Transformer.
        **named: as for every contestant.
    """

    def __init__(
        self,
        *common,
        jit_compile=None,
        dtype_policy="float32",
        dropout=DROPOUT,
        **named,
    ):
        from keras_attention.cli.dividing import one_thread_an_operation
        from keras_attention.training import uses_xla

        if jit_compile is None:
            one_thread_an_operation()  # as `train` does
        self.jit_compile = uses_xla() if jit_compile is None else jit_compile
        self.dtype_policy, self.dropout = dtype_policy, dropout
        super().__init__(*common, **named)

    def build(self):
        """Build and compile."""
        from keras_attention import models
        from keras_attention.training import compile_for_training

        sizes = {**self.sizes, "dtype": self.dtype_policy}
        vocabulary = sizes.pop("vocabulary")
        if self.kind == "rnn":
            model = models.build_rnn_attention(vocabulary, vocabulary, **sizes)
        else:
            model = models.build_transformer(
                vocabulary, vocabulary, **sizes, dropout=self.dropout, tied=True
            )
        smoothing = LABEL_SMOOTHING[self.kind]
        compile_for_training(
            model,
            LEARNING_RATE,
            label_smoothing=smoothing,
            jit_compile=self.jit_compile,
            steps_per_execution=self.steps_at_once(),
        )
        return model

    def steps_at_once(self):
        """Return the steps of a call that divide the turns of all conditions, as `train` does."""
        from keras_attention.training import steps_at_once

        return steps_at_once(math.gcd(*self.steps.values()))

    def dataset(self, context_ids, target_ids, condition):
        """Return batches of the package; if compiled, in its shapes for the whole pool.

        They are spread evenly over the lengths: few batches drawn at random would often have much
        more or less padding than the whole pass has.
        """
        from keras_attention.corpora import Batches

        size, batched = condition.batch_size, condition.batched
        if batched in (on_batches.TO_THE_LONGEST, on_batches.SORTED):
            return _padded_to_longest(context_ids, target_ids, condition)
        ids = [each[condition.rows] for each in (context_ids, target_ids)]
        tokens = None
        if batched == on_batches.BY_TOKENS:
            tokens = int(size * np.maximum(*((each != 0).sum(1) for each in ids)).mean())
        padded = {"most_shapes": None}
        if self.jit_compile:
            padded = {"shapes": Batches(context_ids, target_ids, size).shapes}
        batches = Batches(*ids, size, batch_tokens=tokens, **padded)
        rng = np.random.default_rng(0)
        plan = sorted(batches.plan.batches(rng), key=lambda batch: sum(batch[0]))
        middles = (np.arange(condition.steps) + 0.5) * len(plan) / condition.steps
        chosen = [plan[int(place)] for place in rng.permutation(middles)]
        if batched == on_batches.IN_MEMORY:
            kept = [batches.batch(*each) for each in chosen]
            return _again_and_again(kept.__getitem__, len(kept), size)
        return _again_and_again(
            lambda number: batches.batch(*chosen[number]), len(chosen), None if tokens else size
        )


class Recipe(ThisPackage):
    """The Transformer as `keras-attention train --model transformer` trains it.

    So with its norms, its dropout, Muon with weight decay, and batches of as many tokens, in some
    of which sentences are joined.
    """

    def build(self):
        """Build and compile."""
        from keras_attention import runs

        settings = self.settings = runs.Settings(model="transformer", **self.sizes)
        words = range(self.sizes["vocabulary"])
        model = runs.build(settings, words, words)
        options = {"jit_compile": self.jit_compile, "steps_per_execution": self.steps_at_once()}
        runs.compile_model(model, settings, **options)
        return model

    def dataset(self, context_ids, target_ids, condition):
        """Return the first batches of `train`, but for the largest one, made beforehand."""
        from keras_attention.corpora import Batches

        ids = [each[condition.rows] for each in (context_ids, target_ids)]
        shapes = {} if self.jit_compile else {"most_shapes": None}
        batches = Batches(*ids, **self.settings.size, joined=self.settings.joined, **shapes)
        kept = [*_first(batches.shuffled(start=1), condition.steps)]
        return _again_and_again(kept.__getitem__, len(kept), None)


def _padded_to_longest(context_ids, target_ids, condition):
    """Return the batches of a turn, each as long as its longest sentences, as `fit` takes them."""
    rows = on_batches.rows_of_a_turn(context_ids, target_ids, condition)

    def make(number):
        context, target, labels = on_batches.padded_to_longest(
            context_ids, target_ids, rows[number]
        )
        return {"context": context, "target": target}, labels

    return _again_and_again(make, condition.steps, condition.batch_size)


def _again_and_again(make, count, size):
    """Return `count` batches without end, as `fit` takes them, made while the model trains.

    Args:
        make: a function, the number of a batch → the batch.
        count: how many different ones there are.
        size: sentences in a batch; None: it differs.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        from keras_attention.corpora.batches import Planned

        return Planned(lambda index: make(index % count))
    import tensorflow as tf

    ids = tf.TensorSpec((size, None), tf.int32)
    signature = ({"context": ids, "target": ids}, ids)
    dataset = tf.data.Dataset.from_generator(
        lambda: map(make, range(count)), output_signature=signature
    )
    options = tf.data.Options()
    options.autotune.enabled = False  # as in keras_attention.corpora, which says why
    return dataset.repeat().prefetch(4).with_options(options)


def _first(dataset, count):
    """Return the first batches of a dataset as arrays."""
    if hasattr(dataset, "as_numpy_iterator"):
        return dataset.take(count).as_numpy_iterator()
    return (dataset[index] for index in range(count))


class PlainKeras(_Trainer):
    """The architecture as one writes it with Keras' layers and defaults; batch-maximum padding.

    Attributes:
        has_our_loss: whether loss and metrics are those of this package.
    """

    has_our_loss = False

    def build(self):
        """Build and compile."""
        import keras

        from keras_attention.training import MaskedAccuracy, MaskedCrossentropy, MaskedLoss

        model = self.network(**self.sizes)
        if self.has_our_loss:
            loss = MaskedCrossentropy(label_smoothing=LABEL_SMOOTHING[self.kind])
            metrics = [MaskedAccuracy(), MaskedLoss()]
        else:
            loss, metrics = _masked_loss, [_masked_accuracy, _masked_loss]
        model.compile(keras.optimizers.Adam(LEARNING_RATE), loss=loss, metrics=metrics)
        return model

    def network(self, vocabulary, units):
        """Return the RNN of the TensorFlow tutorial."""
        import keras
        from keras import layers

        context = keras.Input((None,), dtype="int32", name="context")
        target = keras.Input((None,), dtype="int32", name="target")
        memory = layers.Embedding(vocabulary, units, mask_zero=True)(context)
        memory = layers.Bidirectional(layers.GRU(units, return_sequences=True), merge_mode="sum")(
            memory
        )
        x = layers.Embedding(vocabulary, units, mask_zero=True)(target)
        x = layers.GRU(units, return_sequences=True)(x)
        read = layers.MultiHeadAttention(num_heads=1, key_dim=units)(query=x, value=memory)
        x = layers.LayerNormalization()(layers.Add()([x, read]))
        return keras.Model(
            {"context": context, "target": target}, layers.Dense(vocabulary, name="logits")(x)
        )

    def dataset(self, context_ids, target_ids, condition):
        """Return batches padded to their longest."""
        return _padded_to_longest(context_ids, target_ids, condition)


def _masked_loss(labels, logits):
    """Return the tutorial's `masked_loss`, a mean over tokens: labels (B, T), logits (B, T, V)."""
    import keras

    losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    return _mean_over_tokens(losses, labels)


def _masked_accuracy(labels, logits):
    """Return the tutorial's `masked_acc`, the fraction of tokens with the largest logit."""
    from keras import ops

    guesses = ops.cast(ops.argmax(logits, axis=-1), labels.dtype)
    hits = ops.cast(ops.equal(guesses, labels), "float32")
    return _mean_over_tokens(hits, labels)


def _mean_over_tokens(values, labels):
    from keras import ops

    is_token = ops.cast(ops.not_equal(labels, 0), "float32")
    return ops.sum(values * is_token) / ops.sum(is_token)


class PlainKerasWithOurLoss(PlainKeras):
    """Plain Keras, with the loss and the metrics of this package."""

    has_our_loss = True


class KerasHub(PlainKeras):
    """The Transformer of KerasHub's layers, compiled as Keras does by default."""

    has_our_loss = True

    def network(self, vocabulary, units, num_layers, num_heads, feed_forward_dim):
        """Return the Transformer, its logits tied to the target embedding."""
        import keras
        import keras_hub
        from keras import layers, ops

        options = {
            "intermediate_dim": feed_forward_dim,
            "num_heads": num_heads,
            "dropout": DROPOUT,
            "activation": "relu",
        }
        wide = {"embeddings_initializer": keras.initializers.RandomNormal(stddev=units**-0.5)}
        context = keras.Input((None,), dtype="int32", name="context")
        target = keras.Input((None,), dtype="int32", name="target")
        masks = ops.not_equal(context, 0), ops.not_equal(target, 0)
        embedding = layers.ReversibleEmbedding(vocabulary, units, tie_weights=True, **wide)

        def place(embedded):
            embedded = embedded * units**0.5
            positions = keras_hub.layers.SinePositionEncoding()(embedded)
            return layers.Dropout(DROPOUT)(layers.Add()([embedded, positions]))

        memory = place(layers.Embedding(vocabulary, units, **wide)(context))
        for _ in range(num_layers):
            encoder = keras_hub.layers.TransformerEncoder(**options)
            memory = encoder(memory, padding_mask=masks[0])
        x = place(embedding(target))
        for _ in range(num_layers):
            decoder = keras_hub.layers.TransformerDecoder(**options)
            x = decoder(x, memory, decoder_padding_mask=masks[1], encoder_padding_mask=masks[0])
        return keras.Model(
            {"context": context, "target": target}, embedding(x, reverse=True), name="keras_hub"
        )
