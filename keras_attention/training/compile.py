"""Prepare a model for `fit`: optimizer, loss, metrics."""

from typing import Any

import keras
import numpy as np

from keras_attention.training.losses import MaskedCrossentropy
from keras_attention.training.metrics import MaskedAccuracy, MaskedLoss
from keras_attention.training.optimizers import Adam, Muon
from keras_attention.training.schedules import WarmUp

OPTIMIZERS = {"adam": Adam, "muon": Muon}
MOST_STEPS = 5  # that follow each other without Python: progress bars still move


def compile_for_training(
    model: keras.Model,
    learning_rate: float = 1e-3,
    *,
    warm_up: int = 0,
    decay_steps: int | None = None,
    label_smoothing: float = 0.0,
    weight_decay: float = 0.0,
    optimizer: str = "adam",
    crossentropy: type[MaskedCrossentropy] = MaskedCrossentropy,
    jit_compile: bool | None = None,
    steps_per_execution: int = 1,
) -> None:
    """Compile a model with the masked loss and the masked metrics, and with XLA if possible.

    Args:
        model: a model of this package, compiled in place.
        learning_rate: learning rate; with `warm_up`, its peak.
        warm_up: steps of the schedule `WarmUp`, with Adam's β₂ = 0.98 and ε = 1e-9 as in Vaswani et
            al. (2017); 0: a constant learning rate, with Keras' β₂ and ε.
        decay_steps: argument of `WarmUp`.
        label_smoothing: argument of `MaskedCrossentropy`.
        weight_decay: fraction of each weight that a step removes, times the learning rate; `"muon"`
            spares biases and the scales of norms.
        optimizer: `"adam"` or `"muon"`, see `Muon`.
        crossentropy: class of the loss, `MaskedCrossentropy` or a subclass.
        jit_compile: whether XLA compiles the steps; None: as `uses_xla` says.
        steps_per_execution: as for `keras.Model.compile`; see `steps_at_once`.

    Raises:
        ValueError: there is no such optimizer, or a decay without a warm-up.
    """
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, got {optimizer!r}")
    if decay_steps is not None and not warm_up:
        raise ValueError(f"decay_steps={decay_steps} needs a warm_up of at least 1 step, got 0")
    if jit_compile is None:
        jit_compile = uses_xla()
    options: dict[str, Any] = {"weight_decay": weight_decay or None}
    if warm_up:
        options |= {"beta_2": 0.98, "epsilon": 1e-9}
        chosen = OPTIMIZERS[optimizer](WarmUp(learning_rate, warm_up, decay_steps), **options)
    else:
        chosen = OPTIMIZERS[optimizer](learning_rate, **options)
    model.compile(
        chosen,
        loss=crossentropy(label_smoothing=label_smoothing),
        metrics=[MaskedAccuracy(), MaskedLoss()],
        jit_compile=jit_compile,
        steps_per_execution=steps_per_execution,
    )
    _make_variables(model)


def uses_xla() -> bool:
    """Return whether XLA compiles the steps of training by default.

    JAX has no other way. TensorFlow needs it on a TPU, and Keras chooses it on a GPU. On a CPU
    TensorFlow's own kernels train the RNN and the Transformer of the default recipes about as fast,
    from the first step on and in less memory. PyTorch has no XLA under Keras.
    """
    if keras.backend.backend() == "tensorflow":
        return not keras.distribution.list_devices()[0].startswith("cpu")
    return keras.backend.backend() == "jax"


def steps_at_once(steps: int) -> int:
    """Return `steps_per_execution` for epochs of so many steps, at most `MOST_STEPS`.

    Between two calls of TensorFlow the device waits for Python, on a CPU for 2 ms. Keras makes
    whole calls, so their steps must divide an epoch; otherwise it has more steps than it should. On
    other backends it is 1.
    """
    if keras.backend.backend() != "tensorflow":
        return 1
    return max(count for count in range(1, MOST_STEPS + 1) if steps % count == 0)


def _make_variables(model):
    """Create the variables of a model's optimizer and metrics.

    TensorFlow traces a step a second time if the first trace creates variables.
    """
    model.optimizer.build(model.trainable_variables)
    model.compute_metrics(None, np.ones((1, 1), "int32"), np.ones((1, 1, 2), "float32"))
    model.reset_metrics()
