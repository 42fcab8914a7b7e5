"""Data parallelism on one CPU: training steps that compute a part of the batch on each core.

∇ loss(batch) = Σ_p w_p / w · ∇ loss(part p), where w_p is the weight of all labels of a part

TensorFlow without XLA divides each operation among the threads of a CPU, which wait for each other
hundreds of times a step. Where an operation has one thread, threads wait only for the sum of the
gradients: each computes one part, from the embeddings to the gradients of all weights.
"""

from typing import Any

import keras
import tensorflow as tf
from keras import ops, tree

from keras_attention.types import Array


class StepsInParts:
    """Do what the steps of `keras.Model` do on TensorFlow, part by part.

    Loss and new weights are those of the whole batch, up to rounding, but dropout drops other
    numbers. Metrics are, too, if they add up over the labels, as those of
    `keras_attention.training` do; a function that returns the mean of a batch would return that of
    a part.

    Args:
        model: a compiled model, whose loss is a mean over labels and has a method `weights`, as
            `keras_attention.training.MaskedCrossentropy`.
        count: number of parts.
    """

    def __init__(self, model: keras.Model, count: int):
        self.model, self.count = model, count

    def train(self, batch: Any) -> dict[str, Array]:
        """Change the weights by the gradients of a batch, and return the metrics."""
        parts, optimizer = self._divided(batch), self.model.optimizer
        with tf.GradientTape() as tape:
            loss, predictions = self._loss_of(parts, training=True)
            scaled = optimizer.scale_loss(loss)
        weights = self.model.trainable_weights
        optimizer.apply_gradients(zip(tape.gradient(scaled, weights), weights, strict=True))
        return self._reported(parts, loss, predictions)

    def test(self, batch: Any) -> dict[str, Array]:
        """Return the metrics after a batch of validation."""
        parts = self._divided(batch)
        return self._reported(parts, *self._loss_of(parts, training=False))

    def _divided(self, batch):
        """Return inputs, labels and weights of each part; with few rows, parts may be empty."""

        def part(first):
            def rows_of(each):
                return None if each is None else each[first :: self.count]

            return keras.utils.unpack_x_y_sample_weight(tree.map_structure(rows_of, batch))

        return [part(first) for first in range(self.count)]

    def _loss_of(self, parts, training):
        """Return the loss of a batch, and what the model predicts for each part."""
        model = self.model
        losses, weights, predictions = [], [], []
        for x, y, sample_weight in parts:
            predicted = model(x, training=training)
            losses.append(model.compute_loss(x, y, predicted, sample_weight, training=training))
            weights.append(ops.sum(model.loss.weights(y, predicted, sample_weight)))
            predictions.append(predicted)
        shares = ops.divide_no_nan(ops.stack(weights), sum(weights))
        return ops.sum(ops.multiply(shares, ops.stack(losses))), predictions

    def _reported(self, parts, loss, predictions):
        """Add a batch to the metrics, and return them."""
        tracker = next(metric for metric in self.model.metrics if metric.name == "loss")
        tracker.update_state(loss, sample_weight=sum(ops.shape(y)[0] for _, y, _ in parts))
        for (x, y, sample_weight), predicted in zip(parts, predictions, strict=True):
            report = self.model.compute_metrics(x, y, predicted, sample_weight)
        return report
