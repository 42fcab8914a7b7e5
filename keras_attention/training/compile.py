"""A model made ready for `fit`: optimizer, loss, metrics."""

import keras
import numpy as np

from keras_attention.training.losses import MaskedCrossentropy
from keras_attention.training.metrics import MaskedAccuracy, MaskedLoss
from keras_attention.training.schedules import WarmUp


def compile_for_training(
    model,
    learning_rate=1e-3,
    *,
    warm_up=0,
    decay_steps=None,
    label_smoothing=0.0,
    crossentropy=MaskedCrossentropy,
    jit_compile=None,
):
    """Compile with Adam, the masked loss and the masked metrics; with XLA where there is one.

    Args:
        model: of this package, compiled in place.
        learning_rate: of Adam; with `warm_up`, its peak.
        warm_up: steps of the schedule `WarmUp`, with the β₂ = 0.98 and ε = 1e-9 that Vaswani et al.
            (2017) use with it; 0: the learning rate stays as it is, with Keras' β₂ and ε.
        decay_steps: of `WarmUp`.
        label_smoothing: of `MaskedCrossentropy`.
        crossentropy: its class, or one that extends it.
        jit_compile: whether XLA compiles the steps; None: where the backend has it.
    """
    if jit_compile is None:
        jit_compile = keras.backend.backend() != "torch"
    if warm_up:
        schedule = WarmUp(learning_rate, warm_up, decay_steps)
        optimizer = keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9)
    else:
        optimizer = keras.optimizers.Adam(learning_rate)
    model.compile(
        optimizer,
        loss=crossentropy(label_smoothing=label_smoothing),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=jit_compile,
    )
    _make_variables(model)


def _make_variables(model):
    """Make the variables of the optimizer and the metrics of a model.

    TensorFlow traces a step a second time if the first time made any of them.
    """
    model.optimizer.build(model.trainable_variables)
    model.compute_metrics(None, np.ones((1, 1), "int32"), np.ones((1, 1, 2), "float32"))
    model.reset_metrics()
